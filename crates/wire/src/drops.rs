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
        for key in rest.keys() {
            self.add(path.key(key), "the target dialect has no such field");
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Dropped> {
        self.0
    }
}
