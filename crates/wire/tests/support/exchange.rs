//! Whole exchanges: a client's request, the upstream's request, a call in its response, and
//! the client's response.

use prowess_wire::{
    ClientDialect, Dialect, EncodedRequest, ReplyContext, StreamReader, StreamWriter, WriteOptions,
    read_request, read_response, write_request, write_response,
};
use serde_json::{Value, json};

/// The upstreams of other vendors than the client expects.
pub(crate) fn others(client: ClientDialect) -> impl Iterator<Item = Dialect> {
    let own = Dialect::from(client);
    let all = super::UPSTREAMS.into_iter().map(|(dialect, _)| dialect);
    all.filter(move |dialect| *dialect != own)
}

pub(crate) fn sent(client: ClientDialect, request: &Value, upstream: Dialect) -> EncodedRequest {
    let request = read_request(client, request.to_string().as_bytes()).unwrap();
    write_request(upstream, &request, &WriteOptions::default()).unwrap()
}

/// The names of the tools that an upstream is offered.
pub(crate) fn offered(upstream: Dialect, body: &Value) -> Vec<String> {
    let tools = match upstream {
        Dialect::Gemini => &body["tools"][0]["functionDeclarations"],
        Dialect::Converse => &body["toolConfig"]["tools"],
        _ => &body["tools"],
    };
    let tools = tools.as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| match upstream {
        Dialect::Chat => tool[tool["type"].as_str().unwrap()]["name"].clone(),
        Dialect::Converse => tool["toolSpec"]["name"].clone(),
        _ => tool["name"].clone(),
    };
    let names = tools.iter().filter(|tool| tool.get("cachePoint").is_none());
    names
        .map(|tool| name(tool).as_str().unwrap().to_owned())
        .collect()
}

/// An upstream's whole response that calls one tool.
pub(crate) fn call(upstream: Dialect, name: &str, input: &Value) -> Value {
    match upstream {
        Dialect::Messages => json!({"id": "msg_u", "model": "m", "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": "call_u", "name": name, "input": input}]}),
        Dialect::Chat => json!({"id": "chatcmpl-u", "model": "m", "choices": [{
            "finish_reason": "tool_calls", "message": {"content": null, "tool_calls": [
                {"id": "call_u", "type": "function",
                 "function": {"name": name, "arguments": input.to_string()}}]}}]}),
        Dialect::Responses => json!({"id": "resp_u", "model": "m", "status": "completed",
            "output": [{"type": "function_call", "id": "fc_u", "call_id": "call_u",
                "name": name, "arguments": input.to_string(), "status": "completed"}]}),
        Dialect::Gemini => json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [
            {"functionCall": {"id": "call_u", "name": name, "args": input}}]}}]}),
        Dialect::Converse => json!({"stopReason": "tool_use", "output": {"message": {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "call_u", "name": name, "input": input}}]}}}),
    }
}

/// The same as a stream, with its arguments in two deltas where the dialect has deltas.
pub(crate) fn call_stream(upstream: Dialect, name: &str, input: &Value) -> String {
    let text = input.to_string();
    let (first, second) = text.split_at(text.len() / 2);
    let events: Vec<Value> = match upstream {
        Dialect::Messages => vec![
            json!({"type": "message_start", "message": {"id": "msg_u", "model": "m"}}),
            json!({"type": "content_block_start", "index": 0, "content_block":
                {"type": "tool_use", "id": "call_u", "name": name, "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta":
                {"type": "input_json_delta", "partial_json": first}}),
            json!({"type": "content_block_delta", "index": 0, "delta":
                {"type": "input_json_delta", "partial_json": second}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ],
        Dialect::Chat => {
            let delta = |call: Value| json!({"id": "chatcmpl-u", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
            vec![
                delta(json!({"index": 0, "id": "call_u", "type": "function",
                    "function": {"name": name, "arguments": first}})),
                delta(json!({"index": 0, "function": {"arguments": second}})),
                json!({"id": "chatcmpl-u", "choices": [
                    {"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
            ]
        }
        Dialect::Gemini => vec![call(upstream, name, input)],
        Dialect::Responses | Dialect::Converse => panic!("no stream for {upstream:?}"),
    };
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

/// The response a client gets to an upstream's response.
pub(crate) fn whole(
    client: ClientDialect,
    request: &Value,
    upstream: Dialect,
    answer: &Value,
) -> Value {
    let context = sent(client, request, upstream).context.with_id("msg_1");
    let response = read_response(upstream, answer.to_string().as_bytes(), &context).unwrap();
    let request = read_request(client, request.to_string().as_bytes()).unwrap();
    write_response(client, &response, &ReplyContext::for_request(&request, 7)).0
}

/// The data of every event that a client gets to an upstream's stream.
pub(crate) fn streamed(
    client: ClientDialect,
    request: &Value,
    upstream: Dialect,
    answer: &str,
) -> Vec<Value> {
    let context = sent(client, request, upstream).context.with_id("msg_1");
    let request = read_request(client, request.to_string().as_bytes()).unwrap();
    let mut reader = StreamReader::new(upstream, context);
    let mut writer = StreamWriter::new(client, ReplyContext::for_request(&request, 7));
    let mut events = reader.push(answer.as_bytes());
    events.extend(reader.finish());
    let mut out = Vec::new();
    for event in events {
        writer.write(&event, &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    text.lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect()
}

/// The blocks that a Messages client has at the end of these events of a stream. The input of a
/// call begins empty, as clients that take it from deltas expect.
pub(crate) fn grown_blocks(events: &[Value]) -> Vec<Value> {
    let grow = |(at, start): (usize, &Value)| {
        let grown = |key: &str| -> String {
            let of_block = events.iter().filter(|event| event["index"] == at);
            let deltas = of_block.filter_map(|event| event["delta"][key].as_str());
            deltas.collect()
        };
        let mut block = start.clone();
        if block["type"] == "text" {
            block["text"] = grown("text").into();
        }
        if block["type"] == "thinking" {
            block["thinking"] = grown("thinking").into();
            block["signature"] = grown("signature").into();
        }
        if let Some(input) = block.get_mut("input") {
            assert_eq!(*input, json!({}), "{start}");
            let deltas = grown("partial_json");
            if !deltas.is_empty() {
                *input = serde_json::from_str(&deltas).unwrap();
            }
        }
        block
    };
    let starts = events.iter().filter_map(|event| event.get("content_block"));
    starts.enumerate().map(grow).collect()
}

/// The event of a type; the last if there are several.
pub(crate) fn event<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let found = events.iter().rfind(|event| event["type"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {events:#?}"))
}
