//! What a road leaves behind, named: nothing is dropped without an entry here.

use serde_json::Map;
use serde_json::Value;

use crate::ClientDialect;
use crate::client_fields::ClientFields;
use crate::field_names::{FieldName, ToFieldName};
use crate::fields::JsonPath;
use crate::neutral::{DIALECT_FIELDS, DIALECT_ONLY_FIELDS, Request};

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
pub(crate) const NO_SUCH_FIELD: &str = "only the API it came from has such a field";

/// Objects of which a reader takes some fields and leaves the others where they were.
const PARTLY_READ: [&str; 13] = [
    "custom",
    "file",
    "function",
    "functionCall",
    "functionCallingConfig",
    "functionResponse",
    "generationConfig",
    "image_url",
    "output_config",
    "reasoning",
    "text",
    "thinkingConfig",
    "toolConfig",
];

/// Collects what a road leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    found: Vec<Dropped>,
    client: ClientFields,
}

impl Drops {
    /// For a request: what is found is named in its client's words.
    pub(crate) fn for_request(request: &Request) -> Self {
        Drops {
            found: request.dropped.clone(),
            client: request.client_fields,
        }
    }

    /// For a request that is written later: what its reader left out is named then.
    pub(crate) fn for_later_writing(request: &Request) -> Self {
        Drops {
            found: Vec::new(),
            client: request.client_fields,
        }
    }

    /// Notes a field. What the client did not send is not noted: it has no name for it.
    pub(crate) fn add(&mut self, field: impl ToFieldName, why: &'static str) {
        if let Some(field) = self.client.name(field.field_name()) {
            self.found.push(Dropped { field, why });
        }
    }

    /// Notes every field of an object the target dialect does not know.
    pub(crate) fn rest(&mut self, path: &JsonPath<'_>, rest: &Map<String, Value>) {
        for (key, value) in rest {
            match value {
                Value::Object(own) if key == DIALECT_FIELDS => self.own(path, own),
                Value::Object(inner) if self.is_partly_read(key) => {
                    self.rest(&path.key(key), inner);
                }
                // Say how our own answer to the client is told.
                _ if key == "stream_options" || key == crate::gemini::INCLUDE_THOUGHTS => {}
                // As good as absent, on every vendor's side.
                Value::Null => {}
                _ => self.unknown(&path.key(key)),
            }
        }
    }

    /// OpenAI's clients have a `metadata` too, which is read by nobody.
    fn is_partly_read(&self, key: &str) -> bool {
        PARTLY_READ.contains(&key)
            || (key == "metadata" && self.client.is_from(ClientDialect::Messages))
    }

    /// A field that is kept under the client's own name for it.
    fn unknown(&mut self, path: &JsonPath<'_>) {
        let field = match path.field_name() {
            FieldName::Setting(field) => Some(field),
            name => self.client.name(name),
        };
        self.found.extend(field.map(|field| Dropped {
            field,
            why: NO_SUCH_FIELD,
        }));
    }

    /// What only the dialect of an object can carry stands inside it, one level down. Of
    /// the parts of a message, the first tells what the message says of itself.
    fn own(&mut self, path: &JsonPath<'_>, own: &Map<String, Value>) {
        let part = own.get("part").and_then(Value::as_u64);
        if part.is_some_and(|part| part > 0) {
            return;
        }
        let fields = own.values().filter_map(Value::as_object).flatten();
        for (key, value) in fields {
            if value.is_null() || DIALECT_ONLY_FIELDS.contains(&key.as_str()) {
                continue;
            }
            match path.field_name() {
                FieldName::Sent(sent) if part.is_some() => {
                    let message = sent
                        .rsplit_once(".content")
                        .map_or(sent.as_str(), |(m, _)| m);
                    self.found.push(Dropped {
                        field: format!("{message}.{key}"),
                        why: NO_SUCH_FIELD,
                    });
                }
                _ => self.unknown(&path.key(key)),
            }
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Dropped> {
        self.found
    }
}
