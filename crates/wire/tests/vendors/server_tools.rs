//! Tools that Bedrock and Google run themselves: their calls are none for the client.

use prowess_wire::event_stream::{Frame, write_frame};
use prowess_wire::neutral::StreamEvent;
use prowess_wire::{ClientDialect, Dialect, StreamReader};
use serde_json::{Value, json};

use crate::support::exchange::grown_blocks;
use crate::{read, sent, sse, support, whole, write_events};

fn content() -> Value {
    json!([
        {"toolUse": {"toolUseId": "tooluse_1", "name": "nova_grounding",
            "type": "server_tool_use", "input": {"query": "Bern"}}},
        {"toolResult": {"toolUseId": "tooluse_1", "type": "nova_grounding_result",
            "status": "success", "content": [{"text": "[HIDDEN]"}]}},
        {"toolUse": {"toolUseId": "tooluse_2", "name": "nova_code_interpreter",
            "type": "server_tool_use", "input": {"snippet": "6 * 7"}}},
        {"toolResult": {"toolUseId": "tooluse_2", "type": "nova_code_interpreter_result",
            "status": "success", "content": [{"json": {"stdOut": "42", "stdErr": "",
            "exitCode": 0, "isError": false}}]}},
        {"text": "It is 42."}
    ])
}

fn answer() -> Value {
    json!({"output": {"message": {"role": "assistant", "content": content()}},
        "stopReason": "end_turn", "usage": {"inputTokens": 1, "outputTokens": 2}})
}

/// The same content as the frames of a stream.
fn stream() -> Vec<StreamEvent> {
    stream_of(&content(), true)
}

/// Content as the frames of a stream; the last block may have no end of its own.
fn stream_of(content: &Value, ends: bool) -> Vec<StreamEvent> {
    let mut frames = vec![("messageStart", json!({"role": "assistant"}))];
    for (index, block) in content.as_array().unwrap().iter().enumerate() {
        let mut start = block.clone();
        let deltas = if let Some(text) = block.get("text") {
            start = Value::Null;
            vec![json!({"text": text})]
        } else if block.get("toolUse").is_some() {
            let input = start["toolUse"]["input"].take().to_string();
            let (first, last) = input.split_at(5);
            let delta = |json: &str| json!({"toolUse": {"input": json}});
            vec![delta(first), delta(last)]
        } else {
            vec![json!({"toolResult": start["toolResult"]["content"].take()})]
        };
        if !start.is_null() {
            let data = json!({"contentBlockIndex": index, "start": start});
            frames.push(("contentBlockStart", data));
        }
        for delta in deltas {
            let data = json!({"contentBlockIndex": index, "delta": delta});
            frames.push(("contentBlockDelta", data));
        }
        frames.push(("contentBlockStop", json!({"contentBlockIndex": index})));
    }
    if !ends {
        frames.pop();
    }
    frames.push(("messageStop", json!({"stopReason": "end_turn"})));
    let usage = json!({"usage": {"inputTokens": 1, "outputTokens": 2}});
    frames.push(("metadata", usage));
    let mut bytes = Vec::new();
    for (name, payload) in frames {
        let headers = [(":message-type", "event"), (":event-type", name)];
        let frame = Frame {
            headers: headers
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            payload: payload.to_string().into_bytes(),
        };
        write_frame(&frame, &mut bytes).unwrap();
    }
    let mut reader = StreamReader::new(Dialect::Converse, support::context());
    let mut events = reader.push(&bytes);
    events.extend(reader.finish());
    support::assert_well_formed(&events);
    events
}

fn blocks() -> Value {
    let (search, code) = ("srvtoolu_other_tooluse_1", "srvtoolu_other_tooluse_2");
    json!([
        {"type": "server_tool_use", "id": search, "name": "web_search",
            "input": {"query": "Bern"}},
        {"type": "web_search_tool_result", "tool_use_id": search, "content": []},
        {"type": "server_tool_use", "id": code, "name": "code_execution",
            "input": {"code": "6 * 7"}},
        {"type": "code_execution_tool_result", "tool_use_id": code, "content": {
            "type": "code_execution_result", "stdout": "42", "stderr": "", "return_code": 0,
            "content": []}},
        {"type": "text", "text": "It is 42."}
    ])
}

#[test]
fn calls_that_bedrock_answered_are_server_tools_of_a_messages_client() {
    let whole = whole(Dialect::Converse, &answer(), ClientDialect::Messages);
    assert_eq!(whole["content"], blocks());
    assert_eq!(whole["stop_reason"], "end_turn");
    let events = write_events(&stream(), ClientDialect::Messages);
    assert_eq!(Value::from(grown_blocks(&events)), blocks());
}

#[test]
fn a_stream_that_ends_inside_a_server_tools_block_loses_nothing_of_it() {
    let mut content = content();
    content.as_array_mut().unwrap().truncate(3);
    let events = write_events(&stream_of(&content, false), ClientDialect::Messages);
    let starts = events.iter().filter_map(|event| event.get("content_block"));
    let kinds: Vec<&str> = starts.filter_map(|block| block["type"].as_str()).collect();
    let call = "server_tool_use";
    let results = ["web_search_tool_result", "code_execution_tool_result"];
    assert_eq!(kinds, [call, results[0], call, results[1]]);
    let input = events.iter().filter(|event| event["index"] == 2);
    let input: String = input
        .filter_map(|event| event["delta"]["partial_json"].as_str())
        .collect();
    assert_eq!(input, r#"{"code":"6 * 7"}"#);
}

#[test]
fn calls_that_bedrock_answered_are_no_calls_of_a_chat_client() {
    let whole = whole(Dialect::Converse, &answer(), ClientDialect::Chat);
    let choice = &whole["choices"][0];
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(choice["message"]["content"], "It is 42.");
    assert!(choice["message"].get("tool_calls").is_none());
    let events = write_events(&stream(), ClientDialect::Chat);
    let called = |event: &Value| {
        event
            .pointer("/choices/0/delta/tool_calls")
            .is_some_and(Value::is_array)
    };
    assert!(!events.iter().any(called));
    let text: String = events
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta/content")?.as_str())
        .collect();
    assert_eq!(text, "It is 42.");
}

#[test]
fn code_that_google_ran_is_code_execution_of_a_messages_client() {
    let parts = json!([
        {"executableCode": {"language": "PYTHON", "code": "print(6 * 7)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42"}},
        {"executableCode": {"language": "PYTHON", "code": "1 / 0", "id": "c2"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no", "id": "c2"}},
        {"executableCode": {"language": "PYTHON", "code": "2 + 2"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "4"}},
        {"text": "It is 42."}
    ]);
    let answer = json!({"candidates": [
        {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]});
    let own = whole(Dialect::Gemini, &answer, ClientDialect::Gemini);
    assert_eq!(own.pointer("/candidates/0/content/parts"), Some(&parts));
    let whole = whole(Dialect::Gemini, &answer, ClientDialect::Messages);
    let events = read(Dialect::Gemini, &sse(&[answer]));
    let streamed = grown_blocks(&write_events(&events, ClientDialect::Messages));
    let content = whole["content"].as_array().unwrap();
    assert_eq!(*content, streamed);
    assert_eq!(content[0]["name"], "code_execution");
    assert_eq!(content[0]["input"]["code"], "print(6 * 7)");
    assert_eq!(content[1]["type"], "code_execution_tool_result");
    assert_eq!(content[1]["tool_use_id"], content[0]["id"]);
    assert_eq!(content[1]["content"]["stdout"], "42");
    assert_eq!(content[3]["tool_use_id"], "srvtoolu_gemini_c2");
    assert_eq!(content[3]["content"]["return_code"], 1);
    assert_eq!(content[5]["tool_use_id"], content[4]["id"]);
    let ids: Vec<&str> = [0, 2, 4]
        .into_iter()
        .filter_map(|place| content[place]["id"].as_str())
        .collect();
    assert!(ids.iter().all(|id| id.starts_with("srvtoolu_")), "{ids:?}");
    assert!(ids[0] != ids[2] && ids[0].len() > 20, "{ids:?}");

    // Any other model sees what was done.
    let history = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "more"}]});
    for upstream in [Dialect::Chat, Dialect::Gemini, Dialect::Converse] {
        let body = sent(ClientDialect::Messages, &history, upstream).body;
        assert!(body.to_string().contains("print(6 * 7)"), "{body}");
    }
}
