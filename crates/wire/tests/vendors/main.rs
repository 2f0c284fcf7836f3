//! What vendors' servers and clients really send: each case is a whole request, response or
//! stream, and the expected result in the other dialects.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod answered_calls;
mod bedrock;
mod blank;
mod browser;
mod calls;
mod claude;
mod compaction;
mod compatible;
mod converted;
mod counts;
mod ends;
mod files;
mod images;
mod opening;
mod parts;
mod pieces;
mod programs;
mod refusals;
mod server_tools;
mod sources;
#[path = "../support/mod.rs"]
mod support;
mod thinking;
mod tools;

use prowess_wire::neutral::{ApiError, StreamEvent};
use prowess_wire::{
    ClientDialect, Dialect, EncodedRequest, ReplyContext, StreamReader, StreamWriter, WireError,
    WriteOptions, read_request, read_response, write_request, write_response,
};
use serde_json::{Value, json};

/// What an upstream is sent for a client's request.
fn sent(client: ClientDialect, body: &Value, upstream: Dialect) -> EncodedRequest {
    let request = read_request(client, body.to_string().as_bytes()).unwrap();
    write_request(upstream, &request, &WriteOptions::default()).unwrap()
}

/// What a model at a host is sent for a client's request.
fn sent_to(
    client: ClientDialect,
    body: &Value,
    upstream: Dialect,
    (model, host): (&str, &str),
) -> EncodedRequest {
    let request = read_request(client, body.to_string().as_bytes()).unwrap();
    let options = WriteOptions::default().for_model(model, Some(host));
    write_request(upstream, &request, &options).unwrap()
}

/// Why a client's request cannot be sent.
fn refused(client: ClientDialect, body: &Value, upstream: Dialect) -> WireError {
    let request = read_request(client, body.to_string().as_bytes()).unwrap();
    write_request(upstream, &request, &WriteOptions::default()).unwrap_err()
}

/// A Chat request of these messages.
fn chat(messages: Value) -> Value {
    json!({"model": "m", "messages": messages})
}

fn dropped(outgoing: &EncodedRequest) -> Vec<&str> {
    let fields = outgoing.dropped.iter();
    fields.map(|dropped| dropped.field.as_str()).collect()
}

/// The whole response for a client.
fn whole(upstream: Dialect, answer: &Value, client: ClientDialect) -> Value {
    let context = support::context();
    let response = read_response(upstream, answer.to_string().as_bytes(), &context).unwrap();
    let (body, _) = write_response(client, &response, &reply());
    body
}

/// Why a response is an error.
fn failed(upstream: Dialect, answer: &Value) -> ApiError {
    let context = support::context();
    let answer = answer.to_string();
    let error = read_response(upstream, answer.as_bytes(), &context).unwrap_err();
    error.to_upstream_error()
}

/// The events of a stream of server-sent events.
fn read(upstream: Dialect, sse: &str) -> Vec<StreamEvent> {
    let mut reader = StreamReader::new(upstream, support::context());
    let mut events = reader.push(sse.as_bytes());
    events.extend(reader.finish());
    support::assert_well_formed(&events);
    events
}

/// The data of every event for a client.
fn write_events(events: &[StreamEvent], client: ClientDialect) -> Vec<Value> {
    let mut writer = StreamWriter::new(client, reply());
    let mut out = Vec::new();
    for event in events {
        writer.write(event, &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

/// A stream of these events, each with nothing but its data.
fn sse(events: &[Value]) -> String {
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    lines.collect()
}

/// The error that ends a stream.
fn broken(upstream: Dialect, sse: &str) -> ApiError {
    match read(upstream, sse).pop() {
        Some(StreamEvent::Error(error)) => error,
        other => panic!("no error: {other:?}"),
    }
}

fn reply() -> ReplyContext {
    let mut reply = ReplyContext::default();
    reply.include_usage = true;
    reply
}
