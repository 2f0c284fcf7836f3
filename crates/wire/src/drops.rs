//! Collects what could not be translated: nothing is dropped without an entry here.

use serde_json::Map;
use serde_json::Value;

use crate::ClientDialect;
use crate::client_fields::ClientFields;
use crate::dropped::{Dropped, NO_SUCH_FIELD};
use crate::field_name::{FieldName, ToFieldName};
use crate::json_path::JsonPath;
use crate::neutral::{DIALECT_FIELDS, DIALECT_ONLY_FIELDS, Request};

/// Objects of which a reader reads some fields and leaves the others in place.
const PARTLY_READ: [&str; 14] = [
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
    "thinking",
    "thinkingConfig",
    "toolConfig",
];

/// Collects what a codec drops.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    found: Vec<Dropped>,
    client: ClientFields,
}

impl Drops {
    /// For a request: fields get the names of its client's dialect.
    pub(crate) fn for_request(request: &Request) -> Self {
        Drops {
            found: request.dropped.clone(),
            client: request.client_fields,
        }
    }

    /// For a request that is written later: what its reader dropped is reported then.
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

    /// Records every field of an object that the target dialect does not have.
    pub(crate) fn rest(&mut self, path: &JsonPath<'_>, rest: &Map<String, Value>) {
        for (key, value) in rest {
            match value {
                Value::Object(own) if key == DIALECT_FIELDS => self.own(path, own),
                Value::Object(inner) if self.is_partly_read(key) => {
                    self.rest(&path.key(key), inner);
                }
                // Settings of our own response to the client.
                _ if key == "stream_options" || key == crate::gemini::INCLUDE_THOUGHTS => {}
                // As good as absent, on every vendor's side.
                Value::Null => {}
                _ => self.unknown(&path.key(key)),
            }
        }
    }

    /// OpenAI's clients have a `metadata` too, which no reader uses.
    fn is_partly_read(&self, key: &str) -> bool {
        PARTLY_READ.contains(&key)
            || (key == "metadata" && self.client.is_from(ClientDialect::Messages))
    }

    /// A field under the client's own name.
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

    /// Fields that only the object's dialect has are nested in it, one level down. The first
    /// part of a message also holds the fields of the message itself.
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
