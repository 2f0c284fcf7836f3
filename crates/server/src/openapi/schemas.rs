//! The objects of each dialect, and the messages of MCP.

use serde_json::{Value, json};

/// All of them, and more that others describe.
pub(super) fn all(more: Value) -> Value {
    let parts = [anthropic(), openai(), gemini(), mcp(), more].into_iter();
    let parts = parts.filter_map(|part| part.as_object().cloned());
    Value::Object(parts.flatten().collect())
}

fn anthropic() -> Value {
    let time = json!({ "type": "string", "format": "date-time" });
    let nullable = json!({ "type": ["string", "null"] });
    let source = object(&[("type", text())]);
    json!({
        "AnthropicSkill": object(&[
            ("id", text()), ("type", constant("skill")), ("display_name", text()),
            ("latest_version_id", nullable.clone()), ("source", source),
            ("created_at", time.clone()), ("updated_at", time.clone()),
        ]),
        "AnthropicVersion": object(&[
            ("id", text()), ("type", constant("skill_version")), ("skill_id", text()),
            ("name", text()), ("description", text()), ("created_at", time.clone()),
        ]),
        "AnthropicFile": object(&[
            ("id", text()), ("type", constant("file")), ("filename", text()),
            ("mime_type", text()), ("size_bytes", json!({ "type": "integer" })),
            ("created_at", time.clone()), ("downloadable", json!({ "type": "boolean" })),
            ("expires_at", nullable.clone()),
        ]),
        "AnthropicModel": object(&[
            ("id", text()), ("type", constant("model")), ("display_name", text()),
            ("created_at", time),
        ]),
        "AnthropicMessageBatch": object(&[
            ("id", text()), ("type", constant("message_batch")), ("processing_status", text()),
            ("request_counts", json!({ "type": "object" })), ("results_url", nullable.clone()),
            ("ended_at", nullable.clone()), ("cancel_initiated_at", nullable.clone()),
        ]),
        "AnthropicMessageBatchList": object(&[
            ("data", array("AnthropicMessageBatch")), ("has_more", json!({ "type": "boolean" })),
            ("first_id", nullable.clone()), ("last_id", nullable.clone()),
        ]),
        "AnthropicDeleted": object(&[("id", text()), ("type", text())]),
        "AnthropicSkillList": anthropic_list("AnthropicSkill"),
        "AnthropicVersionList": anthropic_list("AnthropicVersion"),
        "AnthropicFileList": anthropic_list("AnthropicFile"),
        "AnthropicModelList": object(&[
            ("data", array("AnthropicModel")), ("has_more", json!({ "type": "boolean" })),
            ("first_id", nullable.clone()), ("last_id", nullable),
        ]),
        "AnthropicError": object(&[
            ("type", constant("error")), ("request_id", text()),
            ("error", object(&[
                ("type", text()), ("message", text()), ("details", details()),
            ])),
        ]),
    })
}

fn openai() -> Value {
    let seconds = json!({ "type": "integer" });
    json!({
        "OpenAiSkill": object(&[
            ("id", text()), ("object", constant("skill")), ("name", text()),
            ("description", text()), ("default_version", text()), ("latest_version", text()),
            ("created_at", seconds.clone()),
        ]),
        "OpenAiVersion": object(&[
            ("id", text()), ("object", constant("skill.version")), ("skill_id", text()),
            ("version", text()), ("name", text()), ("description", text()),
            ("created_at", seconds.clone()),
        ]),
        "OpenAiFile": object(&[
            ("id", text()), ("object", constant("file")), ("bytes", seconds.clone()),
            ("created_at", seconds.clone()), ("filename", text()), ("purpose", text()),
            ("status", text()), ("expires_at", json!({ "type": ["integer", "null"] })),
        ]),
        "OpenAiContainer": object(&[
            ("id", text()), ("object", constant("container")), ("name", text()),
            ("status", text()), ("created_at", seconds.clone()),
            ("last_active_at", seconds.clone()), ("memory_limit", text()),
            ("expires_after", object(&[("anchor", text()), ("minutes", seconds.clone())])),
            ("network_policy", object(&[("type", text())])),
        ]),
        "OpenAiContainerFile": object(&[
            ("id", text()), ("object", constant("container.file")), ("container_id", text()),
            ("path", text()), ("bytes", seconds.clone()), ("source", text()),
            ("created_at", seconds.clone()),
        ]),
        "OpenAiContainerList": openai_list("OpenAiContainer"),
        "OpenAiContainerFileList": openai_list("OpenAiContainerFile"),
        "OpenAiConversation": object(&[
            ("id", text()), ("object", constant("conversation")), ("created_at", seconds.clone()),
            ("metadata", json!({ "type": "object" })),
        ]),
        "OpenAiBatch": object(&[
            ("id", text()), ("object", constant("batch")), ("endpoint", text()),
            ("input_file_id", text()), ("completion_window", text()), ("status", text()),
            ("created_at", seconds.clone()), ("request_counts", json!({ "type": "object" })),
        ]),
        "OpenAiBatchList": openai_list("OpenAiBatch"),
        "OpenAiModel": object(&[
            ("id", text()), ("object", constant("model")), ("created", seconds),
            ("owned_by", text()),
        ]),
        "OpenAiDeleted": object(&[
            ("id", text()), ("object", text()), ("deleted", json!({ "const": true })),
        ]),
        "OpenAiSkillList": openai_list("OpenAiSkill"),
        "OpenAiVersionList": openai_list("OpenAiVersion"),
        "OpenAiFileList": openai_list("OpenAiFile"),
        "OpenAiModelList": openai_list("OpenAiModel"),
        "OpenAiError": object(&[("error", object(&[
            ("message", text()), ("type", text()),
            ("param", json!({ "type": ["string", "null"] })), ("code", text()),
        ]))]),
    })
}

fn gemini() -> Value {
    let details = json!({ "type": "array", "items": { "type": "object" } });
    json!({
        "GeminiModel": object(&[
            ("name", text()), ("version", text()), ("displayName", text()),
            ("supportedGenerationMethods", json!({ "type": "array", "items": text() })),
        ]),
        "GeminiModelList": object(&[("models", array("GeminiModel"))]),
        "GeminiFile": object(&[
            ("name", text()), ("displayName", text()), ("mimeType", text()),
            ("sizeBytes", text()), ("createTime", text()), ("state", text()), ("uri", text()),
        ]),
        "GeminiError": object(&[("error", object(&[
            ("code", json!({ "type": "integer" })), ("message", text()), ("status", text()),
            ("details", details),
        ]))]),
    })
}

/// The content of messages is defined by MCP; this is JSON-RPC.
fn mcp() -> Value {
    let error = object(&[("code", json!({ "type": "integer" })), ("message", text())]);
    let message = json!({
        "type": "object",
        "required": ["jsonrpc"],
        "properties": {
            "jsonrpc": constant("2.0"),
            "id": { "type": ["string", "integer"] },
            "method": text(),
            "params": { "type": "object" },
            "result": { "type": "object" },
            "error": error,
        },
    });
    json!({
        "McpMessage": message,
        "McpError": object(&[("jsonrpc", constant("2.0")), ("error", error)]),
    })
}

/// An object with these properties, all of them required; there may be others.
pub(super) fn object(properties: &[(&str, Value)]) -> Value {
    let required: Vec<_> = properties.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<_, _> = properties
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

fn anthropic_list(item: &str) -> Value {
    let next = json!({ "type": ["string", "null"] });
    object(&[("data", array(item)), ("next_page", next)])
}

fn openai_list(item: &str) -> Value {
    object(&[
        ("object", constant("list")),
        ("data", array(item)),
        ("has_more", json!({ "type": "boolean" })),
    ])
}

/// Details for programs.
fn details() -> Value {
    object(&[("error_code", text())])
}

pub(super) fn array(item: &str) -> Value {
    json!({ "type": "array", "items": { "$ref": format!("#/components/schemas/{item}") } })
}

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

pub(super) fn constant(value: &str) -> Value {
    json!({ "const": value })
}
