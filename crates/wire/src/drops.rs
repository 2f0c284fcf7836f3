//! What a road leaves behind, named: nothing is dropped without an entry here.

use serde_json::Map;
use serde_json::Value;

use crate::fields::Path;

/// A field that was left out because the target dialect cannot carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// JSON path of the field, in the neutral conversation.
    pub field: String,
    /// Why it was left out.
    pub why: &'static str,
}

/// Objects of which a reader takes some fields and leaves the others where they were.
const PARTLY_READ: [&str; 11] = [
    "custom",
    "function",
    "functionCall",
    "functionCallingConfig",
    "functionResponse",
    "generationConfig",
    "output_config",
    "reasoning",
    "text",
    "thinkingConfig",
    "toolConfig",
];

/// Collects what a road leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Drops(Vec<Dropped>);

impl Drops {
    pub(crate) fn add(&mut self, field: impl ToString, why: &'static str) {
        self.0.push(Dropped {
            field: field.to_string(),
            why,
        });
    }

    /// Notes every field of an object the target dialect does not know.
    pub(crate) fn rest(&mut self, path: &Path<'_>, rest: &Map<String, Value>) {
        for (key, value) in rest {
            match value {
                Value::Object(inner) if PARTLY_READ.contains(&key.as_str()) => {
                    self.rest(&path.key(key), inner);
                }
                // Say how our own answer to the client is told.
                _ if key == "stream_options" || key == crate::gemini::INCLUDE_THOUGHTS => {}
                _ => self.add(path.key(key), "the target dialect has no such field"),
            }
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Dropped> {
        self.0
    }
}
