//! Citations of documents. Messages clients get them as Anthropic's; those of another kind, such
//! as citations of web pages, stay under their own name.

use serde_json::{Value, json};

use crate::neutral::Map;

/// The sources of a text, as Bedrock has them.
pub(super) const CITATIONS_CONTENT: &str = "citationsContent";

/// The list of citations: of Bedrock's sources, and of Anthropic's text.
pub(super) const CITATIONS: &str = "citations";

/// A place in a document: its name, and Anthropic's for it, its beginning and its end.
const PLACES: [[&str; 4]; 3] = [
    [
        "documentChar",
        "char_location",
        "start_char_index",
        "end_char_index",
    ],
    [
        "documentPage",
        "page_location",
        "start_page_number",
        "end_page_number",
    ],
    [
        "documentChunk",
        "content_block_location",
        "start_block_index",
        "end_block_index",
    ],
];

/// A citation in Anthropic's form, if it has one.
pub(super) fn read_citation(citation: &Value) -> Option<Value> {
    let location = citation.get("location")?;
    let mut places = PLACES.into_iter();
    let (place, kind, start, end) = places
        .find_map(|[place, kind, start, end]| Some((location.get(place)?, kind, start, end)))?;
    let number = |key: &str| place.get(key).and_then(Value::as_u64);
    let parts = citation.get("sourceContent").and_then(Value::as_array);
    let parts = parts.into_iter().flatten();
    let texts = parts.filter_map(|part| part.get("text")?.as_str());
    let cited_text: String = texts.collect();
    let title = citation.get("title").and_then(Value::as_str);
    Some(json!({
        "type": kind,
        "cited_text": cited_text,
        "document_index": number("documentIndex")?,
        "document_title": title,
        start: number("start")?,
        end: number("end")?,
    }))
}

/// Takes the citations that have Anthropic's form out of Bedrock's sources of a text.
pub(super) fn take_citations(sources: &mut Map) -> Vec<Value> {
    let Some(Value::Array(citations)) = sources.get_mut(CITATIONS) else {
        return Vec::new();
    };
    let mut taken = Vec::new();
    citations.retain(|citation| match read_citation(citation) {
        Some(citation) => {
            taken.push(citation);
            false
        }
        None => true,
    });
    if citations.is_empty() {
        sources.shift_remove(CITATIONS);
    }
    taken
}
