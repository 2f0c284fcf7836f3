//! What a road leaves behind, named: nothing is dropped without an entry here.

use serde_json::Map;
use serde_json::Value;

use crate::Client;
use crate::client_fields::ClientFields;
use crate::fields::Path;
use crate::items::{Field, Name};
use crate::neutral::Request;

/// A field that was left out because the target dialect cannot carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// JSON path of the field: of a request, in the body that the client sent; of an
    /// answer, see [`write_response`](crate::write_response). A request that was made
    /// here and not read has the neutral names.
    pub field: String,
    /// Why it was left out.
    pub why: &'static str,
}

/// Why an unknown field is left out.
pub(crate) const ONLY_THERE: &str = "only the API it came from has such a field";

/// Objects of which a reader takes some fields and leaves the others where they were.
const PARTLY_READ: [&str; 8] = [
    "custom",
    "file",
    "function",
    "generationConfig",
    "image_url",
    "output_config",
    "reasoning",
    "text",
];

/// Collects what a road leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    found: Vec<Dropped>,
    client: ClientFields,
}

impl Drops {
    /// For a request: what is found is named in its client's words.
    pub(crate) fn of(request: &Request) -> Self {
        Drops {
            found: request.left_out.clone(),
            client: request.client_fields,
        }
    }

    /// Notes a field. What the client did not send is not noted: it has no name for it.
    pub(crate) fn add(&mut self, field: impl Field, why: &'static str) {
        if let Some(field) = self.client.name(field.name()) {
            self.found.push(Dropped { field, why });
        }
    }

    /// Notes every field of an object the target dialect does not know.
    pub(crate) fn rest(&mut self, path: &Path<'_>, rest: &Map<String, Value>) {
        for (key, value) in rest {
            match value {
                Value::Object(inner) if self.is_partly_read(key) => {
                    self.rest(&path.key(key), inner);
                }
                // Says how our own stream to the client is told.
                _ if key == "stream_options" => {}
                // As good as absent, on every vendor's side.
                Value::Null => {}
                _ => self.unknown(&path.key(key)),
            }
        }
    }

    /// OpenAI's clients have a `metadata` too, which is read by nobody.
    fn is_partly_read(&self, key: &str) -> bool {
        PARTLY_READ.contains(&key) || (key == "metadata" && self.client.is_of(Client::Messages))
    }

    /// A field that is kept under the client's own name for it.
    fn unknown(&mut self, path: &Path<'_>) {
        let field = match path.name() {
            Name::Setting(field) => Some(field),
            name => self.client.name(name),
        };
        self.found.extend(field.map(|field| Dropped {
            field,
            why: ONLY_THERE,
        }));
    }

    pub(crate) fn into_vec(self) -> Vec<Dropped> {
        self.found
    }
}
