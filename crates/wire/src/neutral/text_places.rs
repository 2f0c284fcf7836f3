//! Places in the text of one turn, as places in the text of a run: clients of Chat and Gemini get
//! the texts of all turns as one text. Chat counts characters, Gemini counts bytes.

use serde_json::Value;

use super::{ANNOTATIONS, DIALECT_FIELDS, Map};

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextPlace {
    /// The characters before it.
    pub characters: usize,
    /// Their bytes, in UTF-8.
    pub bytes: usize,
}

impl TextPlace {
    /// Goes on behind more text.
    pub fn add(&mut self, text: &str) {
        self.characters = self.characters.saturating_add(text.chars().count());
        self.bytes = self.bytes.saturating_add(text.len());
    }
}

/// Moves the annotations among the fields of a text, which now begins later in its block.
pub fn move_annotations(rest: &mut Map, begins_at: TextPlace) {
    let annotations = rest.get_mut(ANNOTATIONS).and_then(Value::as_array_mut);
    for annotation in annotations.into_iter().flatten() {
        move_indexes(
            annotation,
            ["start_index", "end_index"],
            begins_at.characters,
        );
    }
}

/// Moves the places among the fields of a response that only its dialect has: its text begins
/// later in that of the run.
pub fn move_places(rest: &mut Map, begins_at: TextPlace) {
    let Some(own) = rest.get_mut(DIALECT_FIELDS) else {
        return;
    };
    let citations = list(own, &["message", ANNOTATIONS]);
    for citation in citations.filter_map(|one| one.get_mut("url_citation")) {
        move_indexes(citation, ["start_index", "end_index"], begins_at.characters);
    }
    for path in GEMINI_SOURCES {
        for source in list(own, path) {
            move_segment(source, begins_at.bytes);
        }
    }
    let supports = list(own, &["choice", "groundingMetadata", "groundingSupports"]);
    for segment in supports.filter_map(|one| one.get_mut("segment")) {
        move_segment(segment, begins_at.bytes);
    }
}

/// Where Gemini and Vertex list the sources that a text repeats.
const GEMINI_SOURCES: [&[&str]; 2] = [
    &["choice", "citationMetadata", "citationSources"],
    &["choice", "citationMetadata", "citations"],
];

/// A segment of Gemini's. It has no start where that is 0.
fn move_segment(segment: &mut Value, by: usize) {
    if let (true, Some(segment)) = (by > 0, segment.as_object_mut())
        && segment.contains_key("endIndex")
    {
        segment.entry("startIndex").or_insert_with(|| 0.into());
    }
    move_indexes(segment, ["startIndex", "endIndex"], by);
}

fn move_indexes(value: &mut Value, keys: [&str; 2], by: usize) {
    for key in keys {
        if let Some(index) = value.get_mut(key)
            && let Some(known) = index.as_u64()
            && let Ok(by) = u64::try_from(by)
        {
            *index = known.saturating_add(by).into();
        }
    }
}

/// The items of a list at a path; nothing where there is none.
fn list<'v>(value: &'v mut Value, path: &[&str]) -> impl Iterator<Item = &'v mut Value> + use<'v> {
    let found = path
        .iter()
        .try_fold(value, |value, key| value.get_mut(*key));
    let items = found.and_then(Value::as_array_mut);
    items.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place(text: &str) -> TextPlace {
        let mut place = TextPlace::default();
        place.add(text);
        place
    }

    fn moved(own: Value, begins_at: TextPlace) -> Value {
        let mut rest = Map::from_iter([(DIALECT_FIELDS.to_owned(), own)]);
        move_places(&mut rest, begins_at);
        rest.remove(DIALECT_FIELDS).unwrap_or_default()
    }

    #[test]
    fn chat_counts_characters_and_gemini_counts_bytes() {
        let begins_at = place("Grüße\n\n");
        let chat = |start: u64| {
            json!({"dialect": "chat", "message": {"annotations": [{"type": "url_citation",
                "url_citation": {"start_index": start, "end_index": start + 2, "url": "u"}}]}})
        };
        assert_eq!(moved(chat(1), begins_at), chat(8));
        let gemini = |segment: Value| {
            json!({"dialect": "gemini", "choice": {
                "groundingMetadata": {"groundingSupports": [
                    {"segment": segment, "groundingChunkIndices": [0]}]},
                "citationMetadata": {"citationSources": [segment], "citations": [segment]}}})
        };
        let given = json!({"endIndex": 2, "text": "Hi"});
        let there = json!({"endIndex": 11, "text": "Hi", "startIndex": 9});
        assert_eq!(moved(gemini(given.clone()), begins_at), gemini(there));
        assert_eq!(
            moved(gemini(given.clone()), TextPlace::default()),
            gemini(given)
        );
    }

    #[test]
    fn what_is_no_place_stays() {
        for own in [
            json!({"message": {"annotations": "none"}, "choice": []}),
            json!({"message": {"annotations": [{"url_citation": {"start_index": "1"}}, 3]}}),
            json!({"choice": {"groundingMetadata": {"groundingSupports": [{"segment": null}]}}}),
        ] {
            assert_eq!(moved(own.clone(), place("abc")), own);
        }
    }

    #[test]
    fn annotations_of_a_text_move_by_what_is_put_before_it() {
        let with = |start: u64| {
            let annotations = json!([{"type": "url_citation", "start_index": start,
                "end_index": start + 3, "url": "u"}, {"type": "file_path"}]);
            Map::from_iter([(ANNOTATIONS.to_owned(), annotations)])
        };
        let mut rest = with(0);
        move_annotations(&mut rest, place("\n\n"));
        assert_eq!(rest, with(2));
    }
}
