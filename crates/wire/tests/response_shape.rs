//! Every Response object has all fields of the Open Responses schema.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use prowess_wire::neutral::replay;
use prowess_wire::{
    ClientDialect, Dialect, ReplyContext, StreamWriter, read_request, read_response, write_response,
};
use serde_json::{Value, json};
use support::context;

/// The documented defaults of settings that are not in the request.
fn defaults() -> Value {
    json!({"background": false, "frequency_penalty": 0, "instructions": null,
        "max_output_tokens": null, "max_tool_calls": null, "metadata": {},
        "parallel_tool_calls": true, "presence_penalty": 0, "previous_response_id": null,
        "prompt_cache_key": null, "reasoning": {"effort": null, "summary": null},
        "safety_identifier": null, "service_tier": "default", "store": true, "temperature": 1,
        "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [],
        "top_logprobs": 0, "top_p": 1, "truncation": "disabled", "user": null})
}

fn answer() -> prowess_wire::neutral::Response {
    let body = json!({"id": "chatcmpl-1", "model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]});
    read_response(Dialect::Chat, body.to_string().as_bytes(), &context()).unwrap()
}

/// Every Response object that a client gets for a request: whole, and in a stream.
fn objects(request: &Value) -> Vec<Value> {
    let request = read_request(ClientDialect::Responses, request.to_string().as_bytes()).unwrap();
    let mut reply = ReplyContext::for_request(&request, 7);
    reply.completed = Some(9);
    let (whole, _) = write_response(ClientDialect::Responses, &answer(), &reply);
    let mut reply = ReplyContext::for_request(&request, 7);
    reply.keep_response = true;
    let mut writer = StreamWriter::new(ClientDialect::Responses, reply);
    let mut out = Vec::new();
    for event in replay(answer()) {
        writer.set_completed(9);
        writer.write(&event, &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
    let mut objects: Vec<Value> = events
        .filter_map(|event| event.get("response").cloned())
        .collect();
    assert_eq!(objects.len(), 3, "created, in progress, completed");
    objects.push(whole);
    objects.extend(writer.take_response());
    objects
}

#[test]
fn a_response_has_defaults_for_what_nobody_named() {
    for object in objects(&json!({"model": "m", "input": "x"})) {
        for (key, value) in defaults().as_object().unwrap() {
            assert_eq!(object.get(key), Some(value), "{key}: {object}");
        }
        for key in [
            "id",
            "object",
            "created_at",
            "completed_at",
            "status",
            "incomplete_details",
            "model",
            "output",
            "error",
            "usage",
        ] {
            assert!(object.get(key).is_some(), "{key}: {object}");
        }
        let done = object["status"] == "completed";
        let at = if done { json!(9) } else { Value::Null };
        assert_eq!(object["completed_at"], at);
        assert_eq!(object["usage"].is_object(), done);
    }
}

#[test]
fn a_response_repeats_every_setting_of_its_request() {
    let settings = json!({"background": true, "frequency_penalty": 0.5, "instructions": "Be kind.",
        "max_output_tokens": 50, "max_tool_calls": 3, "metadata": {"a": "b"},
        "parallel_tool_calls": false, "presence_penalty": -0.5, "previous_response_id": "resp_0",
        "prompt_cache_key": "k", "reasoning": {"effort": "low", "summary": "auto"},
        "safety_identifier": "s", "service_tier": "flex", "store": false, "temperature": 0.25,
        "text": {"format": {"type": "json_object"}, "verbosity": "low"}, "tool_choice": "required",
        "top_logprobs": 2, "top_p": 0.75, "truncation": "auto", "user": "u"});
    let mut request = settings.clone();
    request["model"] = "m".into();
    request["input"] = "x".into();
    request["tools"] = json!([{"type": "function", "name": "f", "parameters": {"type": "object"}}]);
    for object in objects(&request) {
        for (key, value) in settings.as_object().unwrap() {
            assert_eq!(object.get(key), Some(value), "{key}: {object}");
        }
        let tool = json!([{"type": "function", "name": "f", "description": null,
            "parameters": {"type": "object"}, "strict": true}]);
        assert_eq!(object["tools"], tool);
    }
}

#[test]
fn messages_of_the_developer_are_no_instructions() {
    let input = json!([{"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "x"}]);
    for instructions in [Value::Null, "Be kind.".into()] {
        let request = json!({"model": "m", "input": input, "instructions": instructions});
        for object in objects(&request) {
            assert_eq!(object["instructions"], instructions, "{object}");
        }
    }
}

#[test]
fn a_response_without_a_request_has_the_shape_too() {
    let (body, _) = write_response(
        ClientDialect::Responses,
        &answer(),
        &ReplyContext::default(),
    );
    for (key, value) in defaults().as_object().unwrap() {
        assert_eq!(body.get(key), Some(value), "{key}");
    }
}
