//! Tools without arguments, which every vendor describes differently.

use prowess_wire::neutral::Tool;
use prowess_wire::{ClientDialect, Dialect, WriteOptions, read_request, write_request};
use serde_json::{Value, json};

use crate::sent;

/// The schema of the only tool.
fn schema(upstream: Dialect, body: &Value) -> Value {
    let place = match upstream {
        Dialect::Messages => "/tools/0/input_schema",
        Dialect::Chat => "/tools/0/function/parameters",
        Dialect::Responses => "/tools/0/parameters",
        Dialect::Gemini => "/tools/0/functionDeclarations/0/parametersJsonSchema",
        Dialect::Converse => "/toolConfig/tools/0/toolSpec/inputSchema/json",
    };
    body.pointer(place).unwrap().clone()
}

/// A request with one tool of this schema.
fn request(client: ClientDialect, schema: &Value) -> Value {
    let message = json!([{"role": "user", "content": "Go."}]);
    match client {
        ClientDialect::Messages => json!({"model": "m", "max_tokens": 9, "messages": message,
            "tools": [{"name": "look", "input_schema": schema}]}),
        ClientDialect::Chat => json!({"model": "m", "messages": message, "tools": [
            {"type": "function", "function": {"name": "look", "parameters": schema}}]}),
        ClientDialect::Responses => json!({"model": "m", "input": "Go.", "tools": [
            {"type": "function", "name": "look", "parameters": schema}]}),
        ClientDialect::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": "Go."}]}],
            "tools": [{"functionDeclarations": [
                {"name": "look", "parametersJsonSchema": schema}]}]}),
    }
}

const CLIENTS: [ClientDialect; 4] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
    ClientDialect::Gemini,
];
const UPSTREAMS: [Dialect; 5] = [
    Dialect::Messages,
    Dialect::Chat,
    Dialect::Responses,
    Dialect::Gemini,
    Dialect::Converse,
];

#[test]
fn a_tool_without_arguments_is_an_object_without_properties_for_another_vendor() {
    let empty = json!({"type": "object", "properties": {}});
    for written in [
        json!({}),
        json!({"type": "object"}),
        json!({"properties": {}}),
    ] {
        for client in CLIENTS {
            let body = request(client, &written);
            for upstream in UPSTREAMS {
                let outgoing = sent(client, &body, upstream).body;
                let schema = schema(upstream, &outgoing);
                if Dialect::from(client) == upstream {
                    assert_eq!(schema, written, "{client:?}");
                } else {
                    assert_eq!(schema, empty, "{client:?} to {upstream:?}");
                }
            }
        }
    }
}

#[test]
fn a_schema_with_arguments_stays_as_it_is() {
    let written = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let body = request(ClientDialect::Chat, &written);
    for upstream in UPSTREAMS {
        let outgoing = sent(ClientDialect::Chat, &body, upstream).body;
        let schema = schema(upstream, &outgoing);
        assert_eq!(schema.to_string(), written.to_string(), "{upstream:?}");
    }
}

#[test]
fn a_schema_without_a_type_keeps_its_fields_and_becomes_an_object() {
    let written = json!({"additionalProperties": {"type": "string"}});
    let body = request(ClientDialect::Chat, &written);
    let outgoing = sent(ClientDialect::Chat, &body, Dialect::Messages).body;
    assert_eq!(
        schema(Dialect::Messages, &outgoing),
        json!({"additionalProperties": {"type": "string"}, "type": "object", "properties": {}})
    );
    let nullable = request(ClientDialect::Chat, &json!({"type": ["object", "null"]}));
    let outgoing = sent(ClientDialect::Chat, &nullable, Dialect::Messages).body;
    assert_eq!(schema(Dialect::Messages, &outgoing)["type"], "object");
}

/// OpenAI takes a function of its own clients for strict, and requires all its arguments then.
#[test]
fn a_function_of_a_run_is_not_strict_by_default() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let body = request(ClientDialect::Responses, &schema);
    let mut request = read_request(ClientDialect::Responses, body.to_string().as_bytes()).unwrap();
    request.tools.push(Tool::function("load", "Loads.", schema));
    let outgoing = write_request(Dialect::Responses, &request, &WriteOptions::default()).unwrap();
    assert_eq!(outgoing.body["tools"][0], body["tools"][0]);
    assert_eq!(outgoing.body["tools"][1]["name"], "load");
    assert_eq!(outgoing.body["tools"][1]["strict"], false);
}
