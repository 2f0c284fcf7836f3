//! What a road leaves behind, named: nothing is dropped without an entry here.

use serde_json::Map;
use serde_json::Value;

use crate::fields::Path;
use crate::neutral::{MEANINGLESS_ELSEWHERE, OWN};

/// A field that was left out because the target dialect cannot carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// JSON path of the field, in the neutral conversation.
    pub field: String,
    /// Why it was left out.
    pub why: &'static str,
}

/// Objects of which a reader takes some fields and leaves the others where they were.
const PARTLY_READ: [&str; 5] = ["custom", "function", "output_config", "reasoning", "text"];

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
                Value::Object(own) if key == OWN => self.own(path, own),
                Value::Object(inner) if PARTLY_READ.contains(&key.as_str()) => {
                    self.rest(&path.key(key), inner);
                }
                // Says how our own stream to the client is told.
                _ if key == "stream_options" => {}
                _ => self.add(path.key(key), "the target dialect has no such field"),
            }
        }
    }

    /// What only the dialect of an object can carry stands inside it, one level down.
    fn own(&mut self, path: &Path<'_>, own: &Map<String, Value>) {
        let fields = own.values().filter_map(Value::as_object).flatten();
        for (key, value) in fields {
            let said = !value.is_null() && !MEANINGLESS_ELSEWHERE.contains(&key.as_str());
            if said {
                self.add(path.key(key), "the target dialect has no such field");
            }
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Dropped> {
        self.0
    }
}
