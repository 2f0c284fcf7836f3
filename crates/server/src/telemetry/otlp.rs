//! Spans in OTLP's JSON form.
//!
//! The names of attributes are those of the GenAI semantic conventions 1.38; where a
//! name has changed, the older one (`gen_ai.system`) is sent along.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::Span;

const KIND_CLIENT: u8 = 3;
const STATUS_ERROR: u8 = 2;

/// A request to a collector.
pub(super) fn request(spans: &[Span], service: &str) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": [
            text("service.name", service),
            text("service.version", version),
        ] },
        "scopeSpans": [{
            "scope": { "name": "prowess", "version": version },
            "spans": spans,
        }],
    }] })
}

fn span(span: &Span) -> Value {
    let began = nanos(span.began);
    let parent = span.parent.as_ref();
    let mut told = json!({
        "traceId": parent.map_or_else(|| id(16), |parent| parent.trace.clone()),
        "spanId": id(8),
        "parentSpanId": parent.map_or("", |parent| &parent.span),
        "name": format!("chat {}", span.asked),
        "kind": KIND_CLIENT,
        "startTimeUnixNano": began.to_string(),
        "endTimeUnixNano": began.saturating_add(span.took.as_nanos()).to_string(),
        "attributes": attributes(span),
    });
    if span.status >= 400
        && let Some(told) = told.as_object_mut()
    {
        let message = span.code.clone().unwrap_or_default();
        let status = json!({ "code": STATUS_ERROR, "message": message });
        told.insert("status".to_owned(), status);
    }
    told
}

fn attributes(span: &Span) -> Vec<Value> {
    let system = system(span.kind);
    let mut all = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.request.model", &span.asked),
        number("http.response.status_code", span.status.into()),
        text("prowess.dialect", span.dialect),
        text("prowess.tenant", &span.tenant),
        flag("prowess.streamed", span.streamed),
    ];
    if !span.provider.is_empty() {
        let usage = &span.usage;
        all.extend([
            text("gen_ai.system", system),
            text("gen_ai.provider.name", system),
            text("gen_ai.response.model", &span.answered),
            text("prowess.provider", &span.provider),
            number("gen_ai.usage.input_tokens", usage.total_input()),
            number("gen_ai.usage.output_tokens", usage.output_tokens),
            number(
                "gen_ai.usage.cache_read.input_tokens",
                usage.cache_read_input_tokens,
            ),
            number(
                "gen_ai.usage.cache_creation.input_tokens",
                usage.cache_creation_input_tokens,
            ),
        ]);
    }
    if let Some(key) = &span.key {
        all.push(text("prowess.key", key));
    }
    if let Some(code) = &span.code {
        all.push(text("error.type", code));
    }
    all
}

/// The conventions' word for a kind of provider.
fn system(kind: &str) -> &str {
    match kind {
        "azure" => "azure.ai.openai",
        "bedrock" => "aws.bedrock",
        "vertex" => "gcp.vertex_ai",
        "gemini" => "gcp.gemini",
        other => other,
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Numbers of 64 bits are strings in this form.
fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn flag(key: &str, value: bool) -> Value {
    json!({ "key": key, "value": { "boolValue": value } })
}

fn nanos(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos()
}

/// Random bytes in hexadecimal.
fn id(bytes: usize) -> String {
    let mut random = [0_u8; 16];
    // Ids of traces guard nothing.
    let _ = getrandom::fill(&mut random);
    let bytes = random.iter().take(bytes);
    bytes.fold(String::new(), |id, byte| format!("{id}{byte:02x}"))
}
