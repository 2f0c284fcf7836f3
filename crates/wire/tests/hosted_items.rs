//! Items of OpenAI's own servers, and the fields of messages, survive a run on
//! Responses: whole and streamed, in the response and in the next turn's input.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod support;

use prowess_wire::neutral::{Message, Response, ResponseCollector, Role, StreamEvent, replay};
use prowess_wire::{
    ClientDialect, Dialect, ReplyContext, StreamReader, StreamWriter, WriteOptions, read_request,
    read_response, write_request, write_response,
};
use serde_json::{Value, json};
use support::exchange::grown_blocks;
use support::{assert_well_formed, context};

fn message(id: &str, phase: &str, parts: Value) -> Value {
    json!({"id": id, "type": "message", "status": "completed", "role": "assistant",
        "phase": phase, "content": parts})
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// One item of every kind that OpenAI's servers give, and one of a kind to come.
fn items() -> Vec<Value> {
    let cited = json!({"type": "url_citation", "url": "https://a.test", "title": "A",
        "start_index": 0, "end_index": 3});
    let logprobs = json!([{"token": "Two", "logprob": -0.5, "bytes": [84], "top_logprobs": []}]);
    vec![
        json!({"id": "rs_1", "type": "reasoning", "summary": [
            {"type": "summary_text", "text": "Hm."}, {"type": "summary_text", "text": "So."}]}),
        json!({"id": "ws_1", "type": "web_search_call", "status": "completed",
            "action": {"type": "search", "query": "x", "sources": [{"type": "url", "url": "https://a.test"}]}}),
        message("msg_1", "commentary", json!([part("One.")])),
        json!({"id": "ci_1", "type": "code_interpreter_call", "status": "completed",
            "container_id": "cntr_1", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]}),
        json!({"id": "fs_1", "type": "file_search_call", "status": "completed",
            "queries": ["q"], "results": null}),
        json!({"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "s", "tools": []}),
        json!({"id": "mcp_1", "type": "mcp_call", "server_label": "s", "name": "roll",
            "arguments": "{}", "output": "4", "error": null, "status": "completed"}),
        json!({"id": "mcpr_1", "type": "mcp_approval_request", "server_label": "s",
            "name": "roll", "arguments": "{}"}),
        json!({"id": "ig_1", "type": "image_generation_call", "status": "completed",
            "result": "iVBORw0KGgo=", "revised_prompt": "a cat", "output_format": "png"}),
        json!({"id": "cu_1", "type": "computer_call", "call_id": "call_cu", "status": "completed",
            "action": {"type": "screenshot"}, "pending_safety_checks": []}),
        json!({"id": "sh_1", "type": "shell_call", "call_id": "call_sh", "status": "completed",
            "action": {"commands": ["ls"], "timeout_ms": null, "max_output_length": null},
            "environment": {"type": "container_reference", "container_id": "cntr_1"}}),
        json!({"id": "new_1", "type": "telepathy_call", "status": "completed", "thought": {"a": 1}}),
        json!({"id": "msg_2", "type": "message", "status": "completed", "role": "assistant",
            "phase": "final_answer", "content": [
                {"type": "output_text", "text": "Two.", "annotations": [cited], "logprobs": logprobs},
                part("Three.")]}),
        message("msg_3", "final_answer", json!([part("Four.")])),
    ]
}

fn answer(output: &[Value]) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
        "error": null, "incomplete_details": null, "model": "gpt-x", "output": output,
        "service_tier": "flex", "tools": [{"type": "function", "name": "load_skill"}],
        "instructions": "ours", "moderation": {"flagged": false},
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}})
}

fn read(output: &[Value]) -> Response {
    let body = answer(output).to_string();
    read_response(Dialect::Responses, body.as_bytes(), &context()).unwrap()
}

fn sample_request() -> prowess_wire::neutral::Request {
    let body = br#"{"model":"m","input":"x"}"#;
    read_request(ClientDialect::Responses, body).unwrap()
}

fn reply() -> ReplyContext {
    ReplyContext::for_request(&sample_request(), 7)
}

/// The data of every event that a Responses client gets.
fn written(events: &[StreamEvent]) -> Vec<Value> {
    let mut writer = StreamWriter::new(ClientDialect::Responses, reply());
    let mut out = Vec::new();
    for event in events {
        writer.write(event, &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn collected(events: Vec<StreamEvent>) -> Response {
    let mut collector = ResponseCollector::new(Dialect::Responses);
    for event in events {
        collector.push(event).unwrap();
    }
    collector.finish().unwrap()
}

/// What an upstream streams of items: their beginnings, their text and their ends.
fn stream(items: &[Value]) -> String {
    let mut events =
        vec![json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-x"}})];
    for (at, item) in items.iter().enumerate() {
        let mut started = item.clone();
        started["status"] = "in_progress".into();
        for late in ["content", "summary", "outputs", "result", "output"] {
            if started.get(late).is_some() {
                started[late] = if started[late].is_array() {
                    json!([])
                } else {
                    Value::Null
                };
            }
        }
        events.push(
            json!({"type": "response.output_item.added", "output_index": at, "item": started}),
        );
        match item["type"].as_str().unwrap() {
            "message" => {
                for (i, part) in item["content"].as_array().unwrap().iter().enumerate() {
                    let place = |kind: &str| {
                        json!({"type": kind, "output_index": at,
                        "content_index": i, "item_id": item["id"]})
                    };
                    let mut added = place("response.content_part.added");
                    added["part"] = json!({"type": "output_text", "text": ""});
                    let mut delta = place("response.output_text.delta");
                    delta["delta"] = part["text"].clone();
                    delta["logprobs"] = part["logprobs"].clone();
                    let mut done = place("response.content_part.done");
                    done["part"] = part.clone();
                    events.extend([added, delta, done]);
                }
            }
            "reasoning" => {
                for (i, part) in item["summary"].as_array().unwrap().iter().enumerate() {
                    let place =
                        json!({"output_index": at, "summary_index": i, "item_id": item["id"]});
                    let mut added = place.clone();
                    added["type"] = "response.reasoning_summary_part.added".into();
                    let mut delta = place;
                    delta["type"] = "response.reasoning_summary_text.delta".into();
                    delta["delta"] = part["text"].clone();
                    events.extend([added, delta]);
                }
            }
            kind => {
                let name = format!("response.{kind}.in_progress");
                events.push(
                    json!({"type": name, "output_index": at, "item_id": item["id"],
                    "sequence_number": 99}),
                );
            }
        }
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": answer(items)}));
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

fn read_stream(sse: &str) -> Vec<StreamEvent> {
    let mut reader = StreamReader::new(Dialect::Responses, context());
    let mut events = reader.push(sse.as_bytes());
    events.extend(reader.finish());
    assert_well_formed(&events);
    events
}

/// Items with the fields that every item of this server has.
fn completed(items: &[Value]) -> Vec<Value> {
    let mut items = items.to_vec();
    for item in &mut items {
        if item["type"] == "reasoning" {
            item["encrypted_content"] = Value::Null;
        }
    }
    items
}

/// Every item begins and ends once, in order, under a dense index; numbers go up.
fn assert_in_order(events: &[Value], items: &[Value]) {
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], at);
    }
    let of = |name: &str| -> Vec<Value> {
        let named = events.iter().filter(|event| event["type"] == name);
        named
            .map(|event| json!([event["output_index"], event["item"]["id"]]))
            .collect()
    };
    let expected: Vec<Value> = (0..items.len())
        .map(|i| json!([i, items[i]["id"]]))
        .collect();
    assert_eq!(of("response.output_item.added"), expected);
    assert_eq!(of("response.output_item.done"), expected);
    let done = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done");
    let done: Vec<Value> = done.map(|event| event["item"].clone()).collect();
    assert_eq!(done, completed(items));
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["output"], json!(completed(items)));
}

#[test]
fn a_whole_answer_keeps_every_item_as_it_came() {
    let items = items();
    let collected_response = collected(replay(read(&items)));
    let (body, dropped) = write_response(ClientDialect::Responses, &collected_response, &reply());
    assert_eq!(body["output"], json!(completed(&items)));
    assert_eq!(dropped, []);
    assert_eq!(body["service_tier"], "flex");
    assert_eq!(body["moderation"], json!({"flagged": false}));
    assert_eq!(
        (&body["tools"], &body["instructions"]),
        (&json!([]), &Value::Null)
    );
}

#[test]
fn a_whole_answer_is_streamed_with_every_item() {
    let items = items();
    assert_in_order(&written(&replay(read(&items))), &items);
}

#[test]
fn a_streamed_answer_keeps_every_item_and_its_progress_events() {
    let items = items();
    let events = read_stream(&stream(&items));
    let written_events = written(&events);
    assert_in_order(&written_events, &items);
    for (at, item) in items.iter().enumerate() {
        let name = format!("response.{}.in_progress", item["type"].as_str().unwrap());
        let progress: Vec<&Value> = written_events
            .iter()
            .filter(|event| event["type"] == name)
            .collect();
        if !["message", "reasoning"].contains(&item["type"].as_str().unwrap()) {
            assert_eq!(progress.len(), 1, "{name}");
            assert_eq!(progress[0]["output_index"], at, "{name}");
            assert_eq!(progress[0]["item_id"], item["id"], "{name}");
        }
    }
    let deltas = written_events
        .iter()
        .filter(|event| event["type"] == "response.output_text.delta");
    let deltas: Vec<Value> = deltas
        .map(|event| {
            json!([
                event["item_id"],
                event["content_index"],
                event["delta"],
                event["logprobs"].as_array().unwrap().len()
            ])
        })
        .collect();
    assert_eq!(
        deltas,
        [
            json!(["msg_1", 0, "One.", 0]),
            json!(["msg_2", 0, "Two.", 1]),
            json!(["msg_2", 1, "Three.", 0]),
            json!(["msg_3", 0, "Four.", 0])
        ]
    );
    let (body, _) = write_response(ClientDialect::Responses, &collected(events), &reply());
    assert_eq!(body["output"], json!(completed(&items)));
    assert_eq!(body["service_tier"], "flex");
}

/// What the next turn is sent of items. Where nothing is stored, as it is for clients of
/// other dialects, a thought without its encrypted content cannot be sent, and a message
/// has no id.
fn expected(items: &[Value], client: ClientDialect) -> Vec<Value> {
    let mut items = items.to_vec();
    if client != ClientDialect::Responses {
        items.retain(|item| item["type"] != "reasoning");
        for item in items.iter_mut().filter(|item| item["type"] == "message") {
            item.as_object_mut().unwrap().shift_remove("id");
            item.as_object_mut().unwrap().shift_remove("status");
        }
    }
    items
}

#[test]
fn the_next_turn_gets_the_items_back_as_they_came() {
    let items = items();
    let whole = read(&items);
    let streamed = collected(read_stream(&stream(&items)));
    for answer in [whole, streamed] {
        for client in [
            ClientDialect::Responses,
            ClientDialect::Chat,
            ClientDialect::Messages,
        ] {
            let body = match client {
                ClientDialect::Responses => json!({"model": "m", "input": "x"}),
                _ => json!({"model": "m", "messages": [{"role": "user", "content": "x"}]}),
            };
            let mut request = read_request(client, body.to_string().as_bytes()).unwrap();
            request
                .messages
                .push(Message::new(Role::Assistant, answer.content.clone()));
            let options = WriteOptions::default();
            let sent = write_request(Dialect::Responses, &request, &options).unwrap();
            let mut input = sent.body["input"].as_array().unwrap()[1..].to_vec();
            let items = expected(&items, client);
            for (item, expected) in input.iter_mut().zip(&items) {
                // Empty lists may be left out of a text.
                if let Some(Value::Array(parts)) = item.get_mut("content") {
                    for part in parts {
                        let map = part.as_object_mut().unwrap();
                        map.entry("annotations").or_insert_with(|| json!([]));
                        map.entry("logprobs").or_insert_with(|| json!([]));
                    }
                }
                assert_eq!(item, expected, "{client:?}");
            }
            assert_eq!(input.len(), items.len(), "{client:?}");
        }
    }
}

#[test]
fn anthropic_gets_what_openais_servers_did_earlier_in_a_run_as_ordinary_calls() {
    let body =
        json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]});
    let body = body.to_string();
    let mut request = read_request(ClientDialect::Messages, body.as_bytes()).unwrap();
    let content = read(&items()).content;
    request
        .messages
        .push(Message::new(Role::Assistant, content));
    request.messages.push(Message::user("more"));
    let sent = write_request(Dialect::Messages, &request, &WriteOptions::default()).unwrap();
    for message in sent.body["messages"].as_array().unwrap() {
        for block in message["content"].as_array().into_iter().flatten() {
            let fields: Vec<&str> = block
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            let expected: &[&str] = match block["type"].as_str() {
                Some("text") => &["type", "text"],
                Some("tool_use") => &["type", "id", "name", "input"],
                _ => &["type", "tool_use_id", "content"],
            };
            assert_eq!(fields, expected, "{block}");
        }
    }
    let text = sent.body.to_string();
    for word in ["https://a.test", "1+1", "Four."] {
        assert!(text.contains(word), "{word}: {text}");
    }
    // The client sent none of it, so there is nothing to name to it.
    assert_eq!(sent.dropped, []);
}

#[test]
fn phases_of_a_history_stay_with_their_messages() {
    let (one, two) = (
        message("msg_1", "commentary", json!([part("One.")])),
        message(
            "msg_2",
            "final_answer",
            json!([part("Two."), part("Three.")]),
        ),
    );
    let body = json!({"model": "m", "input": [{"role": "user", "content": "x"}, one, two,
        {"role": "user", "content": "y"}]});
    let request = read_request(ClientDialect::Responses, body.to_string().as_bytes()).unwrap();
    let sent = write_request(Dialect::Responses, &request, &WriteOptions::default()).unwrap();
    let input = &sent.body["input"];
    assert_eq!(input[1]["phase"], "commentary");
    assert_eq!(input[2]["phase"], "final_answer");
    assert_eq!(input[2]["content"].as_array().unwrap().len(), 2);
    assert_eq!(input.as_array().unwrap().len(), 4);
    // Elsewhere it has no place, and is named.
    let sent = write_request(Dialect::Chat, &request, &WriteOptions::default()).unwrap();
    let dropped: Vec<&str> = sent
        .dropped
        .iter()
        .map(|drop| drop.field.as_str())
        .collect();
    assert!(
        dropped.iter().any(|field| field.ends_with(".phase")),
        "{dropped:?}"
    );
    assert!(!sent.body.to_string().contains("prowess_own"));
}

#[test]
fn an_approval_goes_to_the_server_that_requested_it() {
    let body = json!({"model": "m", "input": [{"role": "user", "content": "x"},
        {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "roll",
            "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true}]});
    let request = read_request(ClientDialect::Responses, body.to_string().as_bytes()).unwrap();
    let sent = write_request(Dialect::Responses, &request, &WriteOptions::default()).unwrap();
    assert_eq!(sent.body["input"][1], body["input"][1]);
    assert_eq!(sent.body["input"][2], body["input"][2]);
}

#[test]
fn items_that_overlap_are_written_one_after_the_other() {
    let search = |id: &str| json!({"id": id, "type": "web_search_call", "status": "completed"});
    let event = |kind: &str, at: u64, item: Value| json!({"type": format!("response.{kind}"), "output_index": at, "item_id": item["id"], "item": item});
    let text = json!({"type": "response.output_text.delta", "output_index": 2, "content_index": 0,
        "delta": "Hi."});
    let answer_message = message("msg_1", "final_answer", json!([part("Hi.")]));
    let items = [search("ws_1"), search("ws_2"), answer_message.clone()];
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        event("output_item.added", 0, search("ws_1")),
        event("output_item.added", 1, search("ws_2")),
        event("web_search_call.searching", 1, search("ws_2")),
        event(
            "output_item.added",
            2,
            json!({"id": "msg_1", "type": "message", "role": "assistant", "content": []}),
        ),
        text,
        event("web_search_call.searching", 0, search("ws_1")),
        event("output_item.done", 1, search("ws_2")),
        event("output_item.done", 0, search("ws_1")),
        event("output_item.done", 2, answer_message),
        json!({"type": "response.completed", "response": answer(&items)}),
    ];
    let sse: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    assert_in_order(&written(&read_stream(&sse)), &items);
}

#[test]
fn other_clients_get_no_events_they_do_not_know() {
    let events = read_stream(&stream(&items()));
    for client in [
        ClientDialect::Messages,
        ClientDialect::Chat,
        ClientDialect::Gemini,
    ] {
        let mut writer = StreamWriter::new(client, ReplyContext::default());
        let mut out = Vec::new();
        for event in &events {
            writer.write(event, &mut out);
        }
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains("event: response."), "{text}");
        assert!(!text.contains("prowess_own"), "{text}");
    }
    for client in [
        ClientDialect::Messages,
        ClientDialect::Chat,
        ClientDialect::Gemini,
    ] {
        let (body, _) = write_response(client, &read(&items()), &ReplyContext::default());
        assert!(!body.to_string().contains("prowess_own"), "{body}");
    }
}

#[test]
fn a_messages_client_gets_a_picture_without_the_fields_of_its_item() {
    let picture = json!({"id": "ig_1", "type": "image_generation_call", "status": "completed",
        "result": "iVBORw0KGgo=", "revised_prompt": "a cat", "output_format": "png"});
    let (body, _) = write_response(
        ClientDialect::Messages,
        &read(std::slice::from_ref(&picture)),
        &ReplyContext::default(),
    );
    let block = &body["content"][0];
    assert_eq!(block["source"]["data"], "iVBORw0KGgo=");
    assert_eq!(block["revised_prompt"], "a cat");
    for field in ["prowess_own", "id", "status"] {
        assert_eq!(block.get(field), None, "{field}: {block}");
    }
    let mut writer = StreamWriter::new(ClientDialect::Messages, ReplyContext::default());
    let mut out = Vec::new();
    for event in read_stream(&stream(&[picture])) {
        writer.write(&event, &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("iVBORw0KGgo="), "{text}");
    assert!(!text.contains("prowess_own"), "{text}");
    assert!(!text.contains("ig_1"), "{text}");
}

/// A Gemini client whose first turn went to Responses, and whose next goes to Gemini.
#[test]
fn gemini_is_sent_nothing_that_only_an_item_of_responses_has() {
    let picture = json!({"id": "ig_1", "type": "image_generation_call", "status": "completed",
        "result": "iVBORw0KGgo=", "revised_prompt": "a cat", "output_format": "png"});
    let answer_message = message("msg_1", "final_answer", json!([part("A cat.")]));
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "Draw."}]}]});
    let mut request = read_request(ClientDialect::Gemini, body.to_string().as_bytes()).unwrap();
    let content = read(&[picture, answer_message]).content;
    request
        .messages
        .push(Message::new(Role::Assistant, content));
    let sent = write_request(Dialect::Gemini, &request, &WriteOptions::default()).unwrap();
    let inline = json!({"mimeType": "image/png", "data": "iVBORw0KGgo="});
    let expected = json!([{"inlineData": inline}, {"text": "A cat."}]);
    assert_eq!(sent.body["contents"][1]["parts"], expected);
    // The client did not send the item, so there is nothing to name to it.
    assert_eq!(sent.dropped, []);
}

#[test]
fn a_call_without_arguments_streams_an_empty_object() {
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}});
    let answer =
        json!({"id": "msg_1", "model": "c", "content": [block], "stop_reason": "tool_use"});
    let read = read_response(Dialect::Messages, answer.to_string().as_bytes(), &context()).unwrap();
    let start =
        json!({"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": {}}});
    let sse = [
        start,
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}),
        json!({"type": "message_stop"}),
    ];
    let sse: String = sse
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let mut reader = StreamReader::new(Dialect::Messages, context());
    let mut streamed = reader.push(sse.as_bytes());
    streamed.extend(reader.finish());
    for events in [replay(read), streamed] {
        let written_events = written(&events);
        let deltas = written_events
            .iter()
            .filter(|e| e["type"] == "response.function_call_arguments.delta");
        let deltas: String = deltas
            .map(|event| event["delta"].as_str().unwrap())
            .collect();
        assert_eq!(deltas, "{}");
        let mut done = written_events
            .iter()
            .filter(|e| e["type"] == "response.function_call_arguments.done");
        assert_eq!(done.next().unwrap()["arguments"], "{}");
    }
}

/// What a client of the vendor's SDK accepts, whole and streamed.
fn messages_blocks(items: &[Value]) -> [Vec<Value>; 2] {
    let reply = ReplyContext::default();
    let (body, _) = write_response(ClientDialect::Messages, &read(items), &reply);
    let mut writer = StreamWriter::new(ClientDialect::Messages, ReplyContext::default());
    let mut out = Vec::new();
    for event in read_stream(&stream(items)) {
        writer.write(&event, &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    [
        body["content"].as_array().unwrap().clone(),
        grown_blocks(&events),
    ]
}

#[test]
fn a_messages_client_gets_only_types_of_blocks_that_it_knows() {
    const KNOWN: [&str; 7] = [
        "text",
        "thinking",
        "server_tool_use",
        "web_search_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "tool_use",
    ];
    for blocks in messages_blocks(&items()) {
        for block in &blocks {
            let kind = block["type"].as_str().unwrap();
            assert!(KNOWN.contains(&kind), "{block}");
        }
        let find = |id: &str| blocks.iter().find(|block| block["id"] == id).unwrap();
        let search = find("srvtoolu_responses_ws_1");
        assert_eq!(search["name"], "web_search");
        assert_eq!(search["input"]["query"], "x");
        let code = json!({"type": "server_tool_use", "id": "srvtoolu_responses_ci_1",
            "name": "code_execution", "input": {"code": "1+1", "container_id": "cntr_1"}});
        assert_eq!(*find("srvtoolu_responses_ci_1"), code);
        let shell = json!({"type": "server_tool_use", "id": "srvtoolu_other_call_sh",
            "name": "bash_code_execution", "input": {"command": "ls"}});
        assert_eq!(*find("srvtoolu_other_call_sh"), shell);
    }
}

#[test]
fn a_messages_client_can_send_blocks_of_openais_servers_back_to_any_model() {
    let [blocks, _] = messages_blocks(&items());
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": "more"}]});
    let request = read_request(ClientDialect::Messages, body.to_string().as_bytes()).unwrap();
    for upstream in [
        Dialect::Messages,
        Dialect::Chat,
        Dialect::Responses,
        Dialect::Gemini,
        Dialect::Converse,
    ] {
        let sent = write_request(upstream, &request, &WriteOptions::default()).unwrap();
        assert!(sent.body.to_string().contains("Four."), "{upstream:?}");
    }
}
