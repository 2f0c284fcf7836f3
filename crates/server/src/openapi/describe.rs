//! Writes the operations of a route as OpenAPI.

use serde_json::{Map, Value, json};

use super::admin;
use super::operation::{ApiMount, Operation, OperationBody, OperationResponse};
use super::parameters::VERSION;
use super::releases;
use crate::batches::openai::{COMPLETION_WINDOW, ENDPOINTS};

/// A verb at a path of one API.
pub(super) struct DescribedRoute<'a> {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) mount: ApiMount,
    /// All mounts below which it is served.
    pub(super) mounts: Vec<&'static str>,
    pub(super) operation: &'a Operation,
}

const ERRORS: [(&str, &str); 13] = [
    ("400", "Invalid request"),
    ("401", "Missing or unknown API key"),
    ("403", "The key lacks a required scope"),
    ("404", "Not found, or not the tenant's"),
    ("405", "Method not allowed"),
    ("408", "Request body timed out"),
    ("409", "Conflict with an existing object"),
    ("413", "Too large"),
    ("429", "Rate limit exceeded, or budget spent"),
    ("501", "Not implemented"),
    ("502", "Upstream unreachable, or invalid upstream response"),
    ("503", "Store or upstream unavailable; try again"),
    ("504", "Upstream timed out"),
];

const MCP_ERRORS: [(&str, &str); 2] = [
    (
        "406",
        "The client must accept JSON and events: `Accept: application/json, text/event-stream`",
    ),
    ("415", "The content type is not JSON"),
];

/// Names of labels.
const LABEL: &str = "^[a-z][a-z0-9.-]{0,39}$";
/// Any text except NUL, which the store does not accept.
const ID: &str = r"^[^\u0000]+$";

impl ApiMount {
    /// A schema in this dialect. Routes outside of the mounts use OpenAI's error format unless
    /// a header selects another.
    fn schema(self, name: &str) -> Value {
        let dialect = match self {
            ApiMount::Anthropic => "Anthropic",
            ApiMount::OpenAi | ApiMount::Plain => "OpenAi",
            ApiMount::Gemini => "Gemini",
            ApiMount::Mcp => "Mcp",
        };
        json!({ "$ref": format!("#/components/schemas/{dialect}{name}") })
    }
}

impl DescribedRoute<'_> {
    pub(super) fn describe(&self) -> Value {
        let mut described = json!({
            "summary": self.operation.summary,
            "operationId": self.id(),
            "parameters": self.parameters(),
            "responses": self.responses(),
            "x-mounts": self.mounts,
        });
        if let (Some(body), Some(map)) = (self.operation.body.describe(), described.as_object_mut())
        {
            map.insert("requestBody".to_owned(), body);
        }
        described
    }

    fn id(&self) -> String {
        let path = self
            .path
            .replace(['{', '}'], "")
            .replace(['/', '.', '-', ':'], "_");
        format!("{}{path}", self.method)
    }

    fn parameters(&self) -> Vec<Value> {
        let names = self.path.split('/').filter_map(|part| {
            // In Google's paths the method follows the name.
            let (name, _) = part.strip_prefix('{')?.split_once('}')?;
            let pattern = match name {
                "version" => VERSION,
                "label" => LABEL,
                _ => ID,
            };
            let schema = json!({ "type": "string", "pattern": pattern });
            Some(json!({ "name": name, "in": "path", "required": true, "schema": schema }))
        });
        let place = match self.mount {
            ApiMount::Mcp => "header",
            _ => "query",
        };
        let declared = self
            .operation
            .parameters
            .iter()
            .map(|(name, kind, meaning)| {
                json!({
                    "name": name, "in": place, "required": kind.is_required(),
                    "description": meaning, "schema": kind.schema(),
                })
            });
        names.chain(declared).collect()
    }

    fn responses(&self) -> Value {
        let mut responses = self.operation.response.describe(self.mount);
        let more: &[(&str, &str)] = match self.mount {
            ApiMount::Mcp => &MCP_ERRORS,
            _ => &[],
        };
        for (status, meaning) in ERRORS.iter().chain(more) {
            let content = json!({ "application/json": { "schema": self.mount.schema("Error") } });
            let response = json!({ "description": meaning, "content": content });
            responses.insert((*status).to_owned(), response);
        }
        Value::Object(responses)
    }
}

impl OperationResponse {
    /// The success responses, by status.
    fn describe(self, mount: ApiMount) -> Map<String, Value> {
        let json = |schema: Value| ("application/json", schema);
        let events = ("text/event-stream", json!({ "type": "string" }));
        let any = json!({ "type": "object" });
        let contents = match self {
            OperationResponse::Object(name) => vec![json(mount.schema(name))],
            OperationResponse::Lines(name) => {
                let lines = json!({ "type": "string" });
                vec![json(mount.schema(name)), ("application/x-ndjson", lines)]
            }
            OperationResponse::Json => vec![json(any)],
            OperationResponse::Text => vec![json(json!({ "type": "string" }))],
            OperationResponse::Stream => vec![json(any), events],
            OperationResponse::Chunks => {
                vec![json(json!({ "type": "array", "items": any })), events]
            }
            OperationResponse::Bytes(kind) => {
                vec![(kind, json!({ "type": "string", "format": "binary" }))]
            }
            OperationResponse::Message => vec![json(mount.schema("Message")), events],
            OperationResponse::Messages => vec![events],
            OperationResponse::WebSocket => {
                let switched = json!({ "description": "Switching protocols" });
                return Map::from_iter([("101".to_owned(), switched)]);
            }
            OperationResponse::Nothing => {
                return Map::from_iter([("204".to_owned(), json!({ "description": "Done" }))]);
            }
        };
        let content: Map<String, Value> = contents
            .into_iter()
            .map(|(kind, schema)| (kind.to_owned(), json!({ "schema": schema })))
            .collect();
        let done = json!({ "description": "Done", "content": content });
        let mut answers = Map::from_iter([("200".to_owned(), done)]);
        if let OperationResponse::Message = self {
            let taken = json!({ "description": "Accepted; notifications have no response" });
            answers.insert("202".to_owned(), taken);
        }
        answers
    }
}

impl OperationBody {
    fn describe(self) -> Option<Value> {
        let binary = json!({ "type": "string", "format": "binary" });
        let seconds = json!({ "type": "integer", "minimum": 3600, "maximum": 7_776_000 });
        let version = json!({ "type": "string", "pattern": VERSION });
        let (kind, required, properties) = match self {
            OperationBody::None => return None,
            OperationBody::NewKey => return Some(admin::new_key_body()),
            OperationBody::KeyChange => return Some(admin::key_change_body()),
            OperationBody::KeyRotation => return Some(admin::key_rotation_body()),
            OperationBody::LabelTarget => return Some(releases::label_target_body()),
            OperationBody::VersionNotes => return Some(releases::version_notes_body()),
            OperationBody::Revocation => return Some(releases::revocation_body()),
            OperationBody::SkillImport => return Some(releases::import_body()),
            OperationBody::Message => {
                let content = json!({ "schema": ApiMount::Mcp.schema("Message") });
                let content = json!({ "application/json": content });
                return Some(json!({ "required": true, "content": content }));
            }
            OperationBody::Skill => {
                let content = json!({ "multipart/form-data": { "schema": skill_form() } });
                return Some(json!({ "required": true, "content": content }));
            }
            OperationBody::File => {
                let all = json!({ "file": binary, "expires_in_seconds": seconds });
                ("multipart/form-data", json!(["file"]), all)
            }
            OperationBody::FileWithPurpose(purposes) => {
                let purpose = json!({ "type": "string", "enum": purposes });
                let all = json!({ "file": binary, "purpose": purpose });
                ("multipart/form-data", json!(["file", "purpose"]), all)
            }
            OperationBody::Model(required) => {
                let name = json!({ "type": "string", "minLength": 1 });
                let all = json!({ "model": name, "stream": { "type": "boolean" } });
                ("application/json", json!(required), all)
            }
            OperationBody::Endpoint(required) => {
                let name = json!({ "type": "string", "minLength": 1 });
                (
                    "application/json",
                    json!(required),
                    json!({ "model": name }),
                )
            }
            OperationBody::EndpointForm(file) => {
                let name = json!({ "type": "string", "minLength": 1, "maxLength": 512 });
                let all = json!({ "model": name, file: binary });
                ("multipart/form-data", json!(["model", file]), all)
            }
            OperationBody::Contents => {
                let list = json!({ "type": "array", "items": { "type": "object" } });
                let any = json!({ "type": "object" });
                let all = json!({ "contents": list, "generationConfig": any, "container": any });
                ("application/json", json!(["contents"]), all)
            }
            OperationBody::Container => {
                let name = json!({ "type": "string", "minLength": 1, "maxLength": 200 });
                let list = ["array", "null"];
                let ids = json!({ "type": list, "items": { "type": "string" } });
                let skills = json!({ "type": list, "items": { "type": "object" }, "maxItems": 20 });
                let all = json!({ "name": name, "file_ids": ids, "skills": skills });
                ("application/json", json!(["name"]), all)
            }
            OperationBody::Conversation => {
                let none = json!({ "type": "null" });
                let all = json!({ "metadata": metadata_schema(), "items": { "anyOf": [items_schema(), none] } });
                ("application/json", json!([]), all)
            }
            OperationBody::Items => {
                let all = json!({ "items": items_schema() });
                ("application/json", json!(["items"]), all)
            }
            OperationBody::Metadata => {
                let all = json!({ "metadata": metadata_schema() });
                ("application/json", json!(["metadata"]), all)
            }
            OperationBody::MessageBatch => {
                let request = json!({
                    "type": "object",
                    "required": ["custom_id", "params"],
                    "properties": {
                        "custom_id": { "type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$" },
                        "params": { "type": "object" },
                    },
                });
                let list = json!({ "type": "array", "items": request, "minItems": 1 });
                (
                    "application/json",
                    json!(["requests"]),
                    json!({ "requests": list }),
                )
            }
            OperationBody::Batch => {
                let id = json!({ "type": "string", "minLength": 1 });
                let endpoints = json!({ "enum": ENDPOINTS.map(|(endpoint, _)| endpoint) });
                let all = json!({
                    "input_file_id": id,
                    "endpoint": endpoints,
                    "completion_window": { "const": COMPLETION_WINDOW },
                    "metadata": metadata_schema(),
                });
                let required = json!(["input_file_id", "endpoint", "completion_window"]);
                ("application/json", required, all)
            }
            OperationBody::ContainerFile => {
                let all = json!({ "file": binary });
                ("multipart/form-data", json!(["file"]), all)
            }
            OperationBody::DefaultVersion => {
                let all = json!({ "default_version": version });
                ("application/json", json!(["default_version"]), all)
            }
        };
        let schema = json!({ "type": "object", "required": required, "properties": properties });
        let mut body = json!({ "required": true, "content": { kind: { "schema": schema } } });
        let is_model_call = matches!(self, OperationBody::Model(_) | OperationBody::Contents);
        if let (true, Some(body)) = (is_model_call, body.as_object_mut()) {
            body.insert("description".to_owned(), SKILLS_OF_A_REQUEST.into());
        }
        Some(body)
    }
}

/// How a call to a model names skills.
const SKILLS_OF_A_REQUEST: &str = "The request as the vendor's API has it. Skills are in \
    `container.skills`, in Responses in `environment.skills` of the tool `shell`: at most 20 by \
    their ids. The `skill_id` `auto` opens all skills that the tenant has stored: those that fit \
    what the user wrote are offered to the model, which can load them and search for others. \
    Its `filter` selects some by `names`, where `*` stands for anything, and `tags`; a label as \
    its `version` selects those that have it, in the versions that it points to. A key, or the \
    configuration, can open all skills without it.";

const NOTES: &str = "Notes on the version, without control characters";

/// A skill as its files, or as the fields of a SKILL.md.
fn skill_form() -> Value {
    let binary = json!({ "type": "string", "format": "binary" });
    let text = |meaning: &str| json!({ "type": "string", "description": meaning });
    let title = json!({ "type": "string", "maxLength": 255 });
    let without_files = "For a skill without files; with files, it must match their SKILL.md";
    json!({
        "type": "object",
        "properties": {
            "files[]": { "type": "array", "items": binary, "minItems": 1 },
            "display_name": title,
            "display_title": title,
            "description": text(without_files),
            "instructions": text(without_files),
            "metadata": text("A JSON object, for a skill without files"),
            "default": { "type": "boolean" },
            "notes": { "type": "string", "maxLength": 4000, "description": NOTES },
            "custom_llm_provider": { "type": "string", "enum": ["litellm_proxy", "anthropic"] },
        },
        "anyOf": [
            { "required": ["files[]"] },
            { "required": ["description", "instructions"] },
        ],
        "additionalProperties": false,
    })
}

fn metadata_schema() -> Value {
    let note = json!({ "type": "string", "maxLength": 512 });
    json!({ "type": ["object", "null"], "additionalProperties": note, "maxProperties": 16 })
}

fn items_schema() -> Value {
    json!({ "type": "array", "items": { "type": "object" }, "maxItems": 20 })
}
