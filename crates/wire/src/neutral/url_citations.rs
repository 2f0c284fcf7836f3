//! Citations of web pages. In the neutral form a text holds them as Responses does: flat objects
//! in the list `annotations` of its block. Chat nests their fields, and has them in its message:
//! those of a Chat server remain there, for clients of that dialect, and no history contains
//! them. Writers of Responses get them besides: of a whole response with [`cited_content`], of a
//! stream as events.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{Block, Content, Map, Response, StreamEvent, merge};
use crate::Dialect;

/// The list of a text, and of Chat's message.
pub(crate) const ANNOTATIONS: &str = "annotations";

/// The name of an event with an annotation of the open text.
pub(crate) const ANNOTATION_ADDED: &str = "response.output_text.annotation.added";

/// The type of a citation, and in Chat the object of its fields.
const URL_CITATION: &str = "url_citation";

/// The citations among the annotations of a Chat message. Those without a place in the text
/// have no equivalent.
pub(crate) fn citations_from_chat(annotations: Option<&Value>) -> Vec<Value> {
    let annotations = annotations.and_then(Value::as_array);
    annotations.into_iter().flatten().filter_map(flat).collect()
}

/// The event that announces an annotation of the open text.
pub(crate) fn annotation_event(annotation: Value) -> StreamEvent {
    StreamEvent::Other {
        name: ANNOTATION_ADDED.to_owned(),
        data: Map::from_iter([("annotation".to_owned(), annotation)]),
    }
}

/// Appends annotations to those of a text.
pub(crate) fn add_annotations(rest: &mut Map, more: Vec<Value>) {
    if !more.is_empty() {
        merge(
            rest,
            Map::from_iter([(ANNOTATIONS.to_owned(), more.into())]),
        );
    }
}

/// Takes the citations out of a text's fields, for a Chat message with this many characters
/// before the text. Annotations of another kind stay.
pub(crate) fn take_citations_for_chat(rest: &mut Map, before: usize) -> Vec<Value> {
    let Some(Value::Array(annotations)) = rest.get_mut(ANNOTATIONS) else {
        return Vec::new();
    };
    let mut citations = Vec::new();
    annotations.retain(|annotation| match nested(annotation, before) {
        Some(citation) => {
            citations.push(citation);
            false
        }
        None => true,
    });
    if annotations.is_empty() {
        rest.shift_remove(ANNOTATIONS);
    }
    citations
}

/// The citations of a whole Chat response, and the index of the text that they are in. Chat
/// counts characters of the whole message, so there must be one text.
pub(crate) fn citations_of_only_text(response: &Response) -> Option<(usize, Vec<Value>)> {
    if response.origin != Dialect::Chat {
        return None;
    }
    let citations = citations_from_chat(response.message_rest.get(ANNOTATIONS));
    let texts = response.content.iter().enumerate();
    let mut texts = texts.filter(|(_, block)| is_text(block));
    match (texts.next(), texts.next()) {
        (Some((index, _)), None) if !citations.is_empty() => Some((index, citations)),
        _ => None,
    }
}

/// The content of a response, with the citations of a Chat server in their text.
pub(crate) fn cited_content(response: &Response) -> Cow<'_, [Block]> {
    let Some((index, citations)) = citations_of_only_text(response) else {
        return Cow::Borrowed(&response.content);
    };
    let mut content = response.content.clone();
    if let Some(block) = content.get_mut(index) {
        add_annotations(&mut block.rest, citations);
    }
    Cow::Owned(content)
}

/// How many citations these blocks contain.
pub(crate) fn count_citations(content: &[Block]) -> usize {
    let lists = content.iter().filter(|block| is_text(block));
    let lists = lists.filter_map(|block| block.rest.get(ANNOTATIONS)?.as_array());
    lists.flatten().filter(|one| is_citation(one)).count()
}

fn is_text(block: &Block) -> bool {
    matches!(block.content, Content::Text(_))
}

fn is_citation(annotation: &Value) -> bool {
    annotation.get("type").and_then(Value::as_str) == Some(URL_CITATION)
}

/// Chat's citation as Responses has it.
fn flat(annotation: &Value) -> Option<Value> {
    let fields = annotation.get(URL_CITATION);
    let mut citation = Map::from_iter([("type".to_owned(), URL_CITATION.into())]);
    citation.extend(read_fields(fields.filter(|_| is_citation(annotation))?, 0)?);
    Some(Value::Object(citation))
}

/// Responses' citation as Chat has it.
fn nested(annotation: &Value, before: usize) -> Option<Value> {
    let fields = read_fields(Some(annotation).filter(|one| is_citation(one))?, before)?;
    Some(json!({"type": URL_CITATION, "url_citation": fields}))
}

/// The fields that both dialects have. All are required: clients expect an address and a place.
fn read_fields(citation: &Value, before: usize) -> Option<Map> {
    let before = u64::try_from(before).ok()?;
    let index = |key: &str| citation.get(key)?.as_u64()?.checked_add(before);
    let text = |key: &str| citation.get(key).and_then(Value::as_str);
    Some(Map::from_iter([
        ("start_index".to_owned(), index("start_index")?.into()),
        ("end_index".to_owned(), index("end_index")?.into()),
        ("title".to_owned(), text("title").unwrap_or_default().into()),
        ("url".to_owned(), text("url")?.into()),
    ]))
}
