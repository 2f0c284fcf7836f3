//! Conversations of a Messages client in which another vendor's servers searched or ran code: they
//! go on with Anthropic, which accepts what the client got, with the same vendor, which gets its
//! own items back, and with any other.

use prowess_wire::neutral::StreamEvent;
use prowess_wire::{ClientDialect, Dialect, has_signature_envelope};
use serde_json::{Value, json};

use crate::support::exchange::grown_blocks;
use crate::{dropped, read, sent, sse, whole, write_events};

const CLIENT: ClientDialect = ClientDialect::Messages;

fn thought() -> Value {
    json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"})
}

fn searches_and_code() -> Vec<Value> {
    vec![
        json!({"id": "ws_1", "type": "web_search_call", "status": "completed", "action":
            {"type": "search", "query": "tides", "sources":
                [{"type": "url", "url": "https://a.test"}]}}),
        json!({"id": "ws-Z2", "type": "web_search_call", "status": "failed", "action":
            {"type": "search", "query": "moons"}}),
        json!({"id": "ci_1", "type": "code_interpreter_call", "status": "completed",
            "container_id": "cntr_1", "code": "6*7", "outputs":
                [{"type": "logs", "logs": "forty-two"}]}),
    ]
}

fn file_search() -> Value {
    json!({"id": "fs_1", "type": "file_search_call", "status": "completed", "queries": ["moon"],
        "results": [{"file_id": "f", "filename": "a.md", "text": "cheese"}]})
}

fn code_with_picture() -> Value {
    json!({"id": "ci_2", "type": "code_interpreter_call", "status": "completed",
        "container_id": "cntr_1", "code": "plot()", "outputs":
            [{"type": "image", "url": "https://i.test/a.png"}]})
}

fn message() -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Done.", "annotations": []}]})
}

/// The blocks that a client has of a response of OpenAI's: whole, and streamed.
fn shown(items: &[Value]) -> [Vec<Value>; 2] {
    let answer = json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m",
        "output": items, "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}});
    let mut events =
        vec![json!({"type": "response.created", "response": {"id": "resp_1", "model": "m"}})];
    for (index, item) in items.iter().enumerate() {
        events.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    events.push(json!({"type": "response.completed", "response": answer}));
    let whole = whole(Dialect::Responses, &answer, CLIENT);
    assert_eq!(whole["usage"]["output_tokens"], 2);
    let streamed = streamed(&read(Dialect::Responses, &sse(&events)));
    [content(&whole), streamed]
}

fn content(message: &Value) -> Vec<Value> {
    message["content"].as_array().unwrap().clone()
}

/// The blocks of a stream, whose indexes have no gaps.
fn streamed(events: &[StreamEvent]) -> Vec<Value> {
    let events = write_events(events, CLIENT);
    let starts = events.iter().filter(|e| e["type"] == "content_block_start");
    for (place, start) in starts.enumerate() {
        assert_eq!(start["index"], place, "{start}");
    }
    let stops = events.iter().filter(|e| e["type"] == "content_block_stop");
    for (place, stop) in stops.enumerate() {
        assert_eq!(stop["index"], place, "{stop}");
    }
    grown_blocks(&events)
}

/// The next request of a client that got these blocks.
fn history(blocks: &[Value]) -> Value {
    json!({"model": "m", "max_tokens": 99, "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": "more"}]})
}

/// All blocks of a request to Anthropic, in order.
fn blocks_for_anthropic(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().unwrap();
    let blocks = messages.iter().filter_map(|m| m["content"].as_array());
    blocks.flatten().cloned().collect()
}

const TOOLS: [&str; 3] = ["web_search", "code_execution", "bash_code_execution"];

fn fields(block: &Value) -> Vec<&str> {
    let keys = block.as_object().unwrap().keys();
    keys.map(String::as_str).collect()
}

/// What Anthropic checks of the blocks of a conversation.
fn assert_accepted(blocks: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    for block in blocks {
        let fields = fields(block);
        let kind = block["type"].as_str().unwrap();
        match kind {
            "server_tool_use" => {
                assert_eq!(fields, ["type", "id", "name", "input"], "{block}");
                let id = block["id"].as_str().unwrap();
                let rest = id.strip_prefix("srvtoolu_").unwrap_or_default();
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                assert!(!rest.is_empty() && rest.chars().all(is_word), "{id}");
                assert!(TOOLS.contains(&block["name"].as_str().unwrap()), "{block}");
                assert!(block["input"].is_object(), "{block}");
                open.push(id);
            }
            "text" => assert_eq!(fields, ["type", "text"], "{block}"),
            "thinking" | "tool_use" | "tool_result" => {}
            _ => {
                assert_eq!(fields, ["type", "tool_use_id", "content"], "{block}");
                let called = open.iter().position(|id| block["tool_use_id"] == **id);
                open.remove(called.unwrap_or_else(|| panic!("no call: {block}")));
                assert_result(kind, &block["content"]);
            }
        }
    }
    assert_eq!(open, [""; 0], "calls without results");
}

fn assert_result(kind: &str, content: &Value) {
    let tool = kind.strip_suffix("_tool_result").unwrap();
    assert!(TOOLS.contains(&tool), "{kind}");
    if content["type"] == format!("{kind}_error") {
        assert_eq!(content["error_code"], "unavailable");
    } else if tool == "web_search" {
        assert_eq!(*content, json!([]));
    } else {
        let keys = ["type", "stdout", "stderr", "return_code", "content"];
        assert_eq!(fields(content), keys, "{content}");
        assert_eq!(content["type"], format!("{tool}_result"));
    }
}

#[test]
fn calls_that_openai_answered_have_ids_and_results_that_anthropic_accepts() {
    let mut items = searches_and_code();
    items.push(
        json!({"id": "sh_1", "type": "shell_call", "call_id": "call_sh",
        "status": "completed", "action": {"commands": ["ls"]}}),
    );
    items.push(message());
    let [whole, streamed] = shown(&items);
    assert_eq!(whole, streamed);
    assert_accepted(&whole);
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_responses_ws_1",
        "name": "web_search", "input": items[0]["action"]});
    assert_eq!(whole[0], search);
    assert_eq!(whole[3]["content"]["type"], "web_search_tool_result_error");
    assert_eq!(whole[5]["content"]["stdout"], "forty-two");
    // The shell gave no result.
    let last = whole.last().unwrap();
    assert_eq!(last["tool_use_id"], "srvtoolu_other_call_sh");
    assert_eq!(last["content"]["error_code"], "unavailable");
}

#[test]
fn what_openais_servers_did_goes_back_to_openai_as_its_own_items() {
    let mut items = vec![thought()];
    items.extend(searches_and_code());
    items.extend([file_search(), code_with_picture(), message()]);
    for blocks in shown(&items) {
        let outgoing = sent(CLIENT, &history(&blocks), Dialect::Responses);
        let input = outgoing.body["input"].as_array().unwrap();
        assert_eq!(input[1..items.len()], items[..items.len() - 1]);
        assert_eq!(dropped(&outgoing), Vec::<&str>::new());
    }
}

#[test]
fn openai_gets_ordinary_calls_where_the_client_has_left_out_the_thought_or_changed_a_result() {
    let mut items = vec![thought()];
    items.extend(searches_and_code());
    items.extend([file_search(), message()]);
    let [blocks, _] = shown(&items);
    let body = sent(CLIENT, &history(&blocks[1..]), Dialect::Responses).body;
    let input = body["input"].as_array().unwrap();
    let kinds: Vec<&str> = input
        .iter()
        .filter_map(|item| item["type"].as_str())
        .collect();
    let mut expected = vec!["message"];
    expected.extend(["function_call", "function_call_output"].repeat(4));
    expected.extend(["message", "message"]);
    assert_eq!(kinds, expected);
    assert_eq!(input[1]["call_id"], "ws_1");
    assert_eq!(input[2]["output"], "https://a.test");
    assert_eq!(input[8]["output"], "a.md: cheese");

    let mut changed = blocks;
    changed[2]["content"] = json!({"type": "web_search_tool_result_error",
        "error_code": "max_uses_exceeded"});
    let body = sent(CLIENT, &history(&changed), Dialect::Responses).body;
    assert!(body.to_string().contains("max_uses_exceeded"), "{body}");
}

#[test]
fn anthropic_is_sent_only_what_it_accepts_of_another_vendors_calls() {
    let mut items = vec![thought()];
    items.extend(searches_and_code());
    items.extend([file_search(), code_with_picture(), message()]);
    for blocks in shown(&items) {
        let body = history(&blocks);
        // Such a body does not pass unchanged, whatever else is in it.
        for block in &blocks {
            let alone = history(std::slice::from_ref(block)).to_string();
            let passes = !has_signature_envelope(CLIENT, alone.as_bytes());
            assert_eq!(passes, block["text"] == "Done.", "{block}");
        }
        let outgoing = sent(CLIENT, &body, Dialect::Messages);
        let sent_blocks = blocks_for_anthropic(&outgoing.body);
        assert_accepted(&sent_blocks);
        let text = outgoing.body.to_string();
        for word in [
            "tides",
            "https://a.test",
            "forty-two",
            "a.md: cheese",
            "plot()",
            "Done.",
        ] {
            assert!(text.contains(word), "{word}: {text}");
        }
        let calls = sent_blocks.iter().filter(|b| b["type"] == "tool_use");
        let names: Vec<&str> = calls.filter_map(|call| call["name"].as_str()).collect();
        assert_eq!(names, ["file_search"]);
        // The thought, and the picture that code made.
        let named = dropped(&outgoing);
        assert_eq!(named.len(), 2, "{named:?}");
        assert!(named.contains(&"messages[1].content[0]"), "{named:?}");
        assert!(named[1].ends_with(".outputs"), "{named:?}");
    }
}

#[test]
fn models_of_other_vendors_read_what_openais_servers_did() {
    let mut items = searches_and_code();
    items.extend([file_search(), message()]);
    for blocks in shown(&items) {
        for upstream in [Dialect::Chat, Dialect::Gemini, Dialect::Converse] {
            let outgoing = sent(CLIENT, &history(&blocks), upstream);
            let text = outgoing.body.to_string();
            for word in [
                "tides",
                "https://a.test",
                "moons",
                "6*7",
                "forty-two",
                "cheese",
            ] {
                assert!(text.contains(word), "{upstream:?} {word}: {text}");
            }
            assert_eq!(dropped(&outgoing), Vec::<&str>::new(), "{upstream:?}");
        }
    }
}

fn googles_parts() -> Value {
    json!([
        {"executableCode": {"language": "PYTHON", "code": "print(6 * 7)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42"}},
        {"executableCode": {"language": "PYTHON", "code": "1 / 0", "id": "c-2"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no", "id": "c-2"}},
        {"executableCode": {"language": "PYTHON", "code": "while 1: 0", "id": "c3"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_DEADLINE_EXCEEDED", "output": "late",
            "id": "c3"}},
        {"text": "It is 42."}
    ])
}

/// The blocks of a response of Google's: whole, and streamed.
fn googles_blocks(parts: &Value) -> [Vec<Value>; 2] {
    let answer = json!({"candidates": [
        {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]});
    let whole = whole(Dialect::Gemini, &answer, CLIENT);
    let streamed = streamed(&read(Dialect::Gemini, &sse(&[answer])));
    [content(&whole), streamed]
}

#[test]
fn code_that_google_ran_goes_on_with_any_vendor_and_back_to_google_as_it_was() {
    let parts = googles_parts();
    for blocks in googles_blocks(&parts) {
        assert_accepted(&blocks);
        let body = history(&blocks);
        let back = sent(CLIENT, &body, Dialect::Gemini);
        assert_eq!(back.body["contents"][1]["parts"], parts);
        assert_eq!(dropped(&back), Vec::<&str>::new());

        let anthropic = sent(CLIENT, &body, Dialect::Messages);
        assert_eq!(anthropic.body["messages"][1]["content"], json!(blocks));
        assert_eq!(dropped(&anthropic), Vec::<&str>::new());

        for upstream in [Dialect::Chat, Dialect::Responses, Dialect::Converse] {
            let text = sent(CLIENT, &body, upstream).body.to_string();
            for word in ["print(6 * 7)", "while 1: 0", "late", "It is 42."] {
                assert!(text.contains(word), "{upstream:?} {word}: {text}");
            }
        }
    }
}

#[test]
fn a_call_that_got_no_result_has_one_at_the_end_of_the_response() {
    let mut parts = googles_parts();
    parts.as_array_mut().unwrap().remove(3);
    let [whole, streamed] = googles_blocks(&parts);
    assert_eq!(whole, streamed);
    assert_accepted(&whole);
    let error = whole.last().unwrap();
    assert_eq!(error["tool_use_id"], whole[2]["id"]);
    assert_eq!(error["content"]["error_code"], "unavailable");
}

#[test]
fn a_tool_of_bedrock_that_anthropic_does_not_have_is_an_ordinary_call_for_it() {
    let call = json!({"toolUse": {"toolUseId": "tooluse_x-1", "name": "nova_weather",
        "type": "server_tool_use", "input": {"place": "Bern"}}});
    let result = json!({"toolResult": {"toolUseId": "tooluse_x-1", "type": "nova_weather_result",
        "status": "success", "content": [{"text": "rain"}]}});
    let cited = json!({"citationsContent": {"content": [{"text": "Rain."}],
        "citations": [{"title": "sky"}]}});
    let answer = json!({"stopReason": "end_turn", "output": {"message":
        {"role": "assistant", "content": [call, result, cited]}}});
    let blocks = content(&whole(Dialect::Converse, &answer, CLIENT));
    let body = history(&blocks);
    assert!(has_signature_envelope(CLIENT, body.to_string().as_bytes()));
    let outgoing = sent(CLIENT, &body, Dialect::Messages);
    let messages = &outgoing.body["messages"];
    let call = &messages[1]["content"][0];
    assert_eq!(
        (&call["type"], &call["name"]),
        (&json!("tool_use"), &json!("nova_weather"))
    );
    assert_eq!(messages[2]["content"][0]["tool_use_id"], call["id"]);
    assert!(messages[2].to_string().contains("rain"), "{messages}");
    assert_eq!(
        messages[3]["content"],
        json!([{"type": "text", "text": "Rain."}])
    );
    assert_eq!(
        dropped(&outgoing),
        ["messages[1].content[2].citationsContent"]
    );
}
