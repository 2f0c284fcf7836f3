//! Settings of a Gemini client's that Chat Completions has under other names.

use serde_json::Value;

use crate::neutral::Map;

const SETTINGS: &str = "generationConfig";
const SHARED: [(&str, &str); 3] = [
    ("seed", "seed"),
    ("presencePenalty", "presence_penalty"),
    ("frequencyPenalty", "frequency_penalty"),
];

/// Moves shared settings into a body; returns the rest.
pub(super) fn take_shared(rest: &Map, body: &mut Map) -> Map {
    let mut rest = rest.clone();
    if let Some(Value::Object(settings)) = rest.get_mut(SETTINGS) {
        for (from, to) in SHARED {
            if let Some(value) = settings.shift_remove(from) {
                body.insert(to.to_owned(), value);
            }
        }
        if settings.is_empty() {
            rest.shift_remove(SETTINGS);
        }
    }
    rest
}
