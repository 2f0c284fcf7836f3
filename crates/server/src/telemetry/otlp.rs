//! Spans in OTLP's JSON format.
//!
//! Attribute names are those of the GenAI semantic conventions 1.38; where a name has changed,
//! the older one (`gen_ai.system`) is sent as well. `gen_ai.skill.*` is a proposal of them.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{RequestSpan, ToolSpan};

const KIND_INTERNAL: u8 = 1;
const KIND_CLIENT: u8 = 3;
const STATUS_ERROR: u8 = 2;

/// An export request to a collector.
pub(super) fn export_request(spans: &[RequestSpan], service: &str) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let spans: Vec<Value> = spans.iter().flat_map(spans_json).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": [
            text_attribute("service.name", service),
            text_attribute("service.version", version),
        ] },
        "scopeSpans": [{
            "scope": { "name": "prowess", "version": version },
            "spans": spans,
        }],
    }] })
}

/// The span of a request, then those of its tool calls.
fn spans_json(span: &RequestSpan) -> Vec<Value> {
    let parent = span.parent.as_ref();
    let trace = parent.map_or_else(|| random_hex(16), |parent| parent.trace.clone());
    let id = random_hex(8);
    let tools = span.tools.iter().map(|tool| tool_json(tool, &trace, &id));
    let tools: Vec<Value> = tools.collect();
    let request = request_json(span, &trace, &id);
    std::iter::once(request).chain(tools).collect()
}

fn tool_json(span: &ToolSpan, trace: &str, parent: &str) -> Value {
    let started_at = unix_nanos(span.started_at);
    let mut attributes = vec![
        text_attribute("gen_ai.operation.name", "execute_tool"),
        text_attribute("gen_ai.tool.name", &span.tool),
        text_attribute("gen_ai.tool.call.id", &span.call),
        text_attribute("gen_ai.tool.type", "function"),
    ];
    if let Some(skill) = &span.skill {
        attributes.push(text_attribute("gen_ai.skill.name", &skill.name));
        let id = skill.id.iter();
        attributes.extend(id.map(|id| text_attribute("gen_ai.skill.id", id)));
        let version = skill.version.iter();
        attributes.extend(version.map(|id| text_attribute("gen_ai.skill.version", id)));
    }
    let mut rendered = json!({
        "traceId": trace,
        "spanId": random_hex(8),
        "parentSpanId": parent,
        "name": format!("execute_tool {}", span.tool),
        "kind": KIND_INTERNAL,
        "startTimeUnixNano": started_at.to_string(),
        "endTimeUnixNano": started_at.saturating_add(span.duration.as_nanos()).to_string(),
        "attributes": attributes,
    });
    if span.is_error
        && let Some(fields) = rendered.as_object_mut()
    {
        fields.insert("status".to_owned(), json!({ "code": STATUS_ERROR }));
    }
    rendered
}

fn request_json(span: &RequestSpan, trace: &str, id: &str) -> Value {
    let started_at = unix_nanos(span.started_at);
    let parent = span.parent.as_ref();
    let mut rendered = json!({
        "traceId": trace,
        "spanId": id,
        "parentSpanId": parent.map_or("", |parent| &parent.span),
        "name": format!("chat {}", span.requested_model),
        "kind": KIND_CLIENT,
        "startTimeUnixNano": started_at.to_string(),
        "endTimeUnixNano": started_at.saturating_add(span.duration.as_nanos()).to_string(),
        "attributes": attributes(span),
    });
    if span.status >= 400
        && let Some(fields) = rendered.as_object_mut()
    {
        let message = span.error_code.clone().unwrap_or_default();
        let status = json!({ "code": STATUS_ERROR, "message": message });
        fields.insert("status".to_owned(), status);
    }
    rendered
}

fn attributes(span: &RequestSpan) -> Vec<Value> {
    let system = system_name(span.provider_kind);
    let mut all = vec![
        text_attribute("gen_ai.operation.name", "chat"),
        text_attribute("gen_ai.request.model", &span.requested_model),
        number_attribute("http.response.status_code", span.status.into()),
        text_attribute("prowess.dialect", span.dialect),
        text_attribute("prowess.tenant", &span.tenant),
        flag_attribute("prowess.streamed", span.streamed),
    ];
    if !span.provider.is_empty() {
        let usage = &span.usage;
        all.extend([
            text_attribute("gen_ai.system", system),
            text_attribute("gen_ai.provider.name", system),
            text_attribute("gen_ai.response.model", &span.response_model),
            text_attribute("prowess.provider", &span.provider),
            number_attribute("gen_ai.usage.input_tokens", usage.total_input()),
            number_attribute("gen_ai.usage.output_tokens", usage.output_tokens),
            number_attribute(
                "gen_ai.usage.cache_read.input_tokens",
                usage.cache_read_input_tokens,
            ),
            number_attribute(
                "gen_ai.usage.cache_creation.input_tokens",
                usage.cache_creation_input_tokens,
            ),
        ]);
    }
    if let Some(key) = &span.key {
        all.push(text_attribute("prowess.key", key));
    }
    if let Some(code) = &span.error_code {
        all.push(text_attribute("error.type", code));
    }
    all
}

/// The conventions' name for a kind of provider.
fn system_name(kind: &str) -> &str {
    match kind {
        "azure" => "azure.ai.openai",
        "bedrock" => "aws.bedrock",
        "vertex" => "gcp.vertex_ai",
        "gemini" => "gcp.gemini",
        other => other,
    }
}

fn text_attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// 64-bit numbers are strings in this format.
fn number_attribute(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn flag_attribute(key: &str, value: bool) -> Value {
    json!({ "key": key, "value": { "boolValue": value } })
}

fn unix_nanos(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos()
}

/// Random bytes in hexadecimal.
fn random_hex(bytes: usize) -> String {
    let mut random = [0_u8; 16];
    // Trace ids are not secret.
    let _ = getrandom::fill(&mut random);
    let bytes = random.iter().take(bytes);
    bytes.fold(String::new(), |id, byte| format!("{id}{byte:02x}"))
}
