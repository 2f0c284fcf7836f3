//! Parts and fields that only some vendors write: structured content, thoughts as parts,
//! tools without a type, text with sources.

use prowess_wire::{ClientDialect, Dialect, read_request};
use serde_json::{Value, json};

use crate::{chat, read, sent, sse, support, whole, write_events};

fn answer(content: &Value) -> Value {
    let message = json!({"role": "assistant", "content": content});
    json!({"id": "c1", "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
}

#[test]
fn structured_content_is_written_as_its_json() {
    for structured in [
        json!({"name": "Ann", "tags": ["a"]}),
        json!([{"name": "Ann"}, {"name": "Bob"}]),
        json!(["a", "b"]),
        json!(3),
        json!(true),
    ] {
        for (client, path) in [
            (ClientDialect::Messages, "/content/0/text"),
            (ClientDialect::Chat, "/choices/0/message/content"),
            (ClientDialect::Responses, "/output/0/content/0/text"),
        ] {
            let body = whole(Dialect::Chat, &answer(&structured), client);
            let text = body.pointer(path).and_then(Value::as_str).unwrap();
            let again: Value = serde_json::from_str(text).unwrap();
            assert_eq!(again, structured, "{client:?}");
        }
        let chunk = json!({"id": "c1", "choices": [{"index": 0, "delta": {"content": structured},
            "finish_reason": "stop"}]});
        let events_out = write_events(
            &read(Dialect::Chat, &sse(&[chunk])),
            ClientDialect::Messages,
        );
        let text = events_out
            .iter()
            .find_map(|event| event["delta"]["text"].as_str());
        let again: Value = serde_json::from_str(text.unwrap()).unwrap();
        assert_eq!(again, structured);
    }
}

#[test]
fn mistrals_thoughts_are_thoughts_in_answers_and_histories() {
    let thought = json!({"type": "thinking", "closed": true,
        "thinking": [{"type": "text", "text": "Hm, "}, {"type": "text", "text": "so."}]});
    let content = json!([thought, {"type": "text", "text": "Yes."}]);
    let body = whole(Dialect::Chat, &answer(&content), ClientDialect::Responses);
    assert_eq!(body["output"][0]["type"], "reasoning");
    let body = whole(Dialect::Chat, &answer(&content), ClientDialect::Messages);
    assert_eq!(
        body["content"].as_array().unwrap().last().unwrap()["text"],
        "Yes."
    );
    assert_eq!(body["content"][0]["type"], "thinking");

    let history = chat(json!([
        {"role": "user", "content": "Well?"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "Sure?"},
    ]));
    for (upstream, pointer) in [
        (Dialect::Messages, "/messages/1/content/0/text"),
        (Dialect::Chat, "/messages/1/content"),
        (Dialect::Responses, "/input/1/content/0/text"),
        (Dialect::Gemini, "/contents/1/parts/0/text"),
        (Dialect::Converse, "/messages/1/content/0/text"),
    ] {
        let body = sent(ClientDialect::Chat, &history, upstream).body;
        assert_eq!(body.pointer(pointer), Some(&json!("Yes.")), "{body}");
    }
}

#[test]
fn parts_with_reasoning_are_thoughts_in_answers_and_histories() {
    for thought in [
        json!({"type": "reasoning", "summary":
            [{"type": "summary_text", "text": "Hm, so.", "signature": "c2ln"}]}),
        json!({"type": "reasoning", "text": "Hm, so."}),
    ] {
        let content = json!([thought, {"type": "text", "text": "Yes."}]);
        let body = whole(Dialect::Chat, &answer(&content), ClientDialect::Messages);
        assert_eq!(body["content"][0]["thinking"], "Hm, so.", "{thought}");
        assert_eq!(body["content"][1]["text"], "Yes.", "{thought}");
        let chunk = json!({"id": "c1", "choices": [{"index": 0, "delta": {"content": content},
            "finish_reason": "stop"}]});
        let events = write_events(&read(Dialect::Chat, &sse(&[chunk])), ClientDialect::Chat);
        let thoughts = events
            .iter()
            .filter_map(|event| event["choices"][0]["delta"]["reasoning_content"].as_str());
        assert_eq!(thoughts.collect::<String>(), "Hm, so.", "{thought}");

        let history = chat(json!([
            {"role": "user", "content": "Well?"},
            {"role": "assistant", "content": content},
            {"role": "user", "content": "Sure?"},
        ]));
        for (upstream, pointer) in [
            (Dialect::Messages, "/messages/1/content/0/text"),
            (Dialect::Chat, "/messages/1/content"),
            (Dialect::Responses, "/input/1/content/0/text"),
            (Dialect::Gemini, "/contents/1/parts/0/text"),
        ] {
            let body = sent(ClientDialect::Chat, &history, upstream).body;
            assert_eq!(body.pointer(pointer), Some(&json!("Yes.")), "{body}");
        }
    }
}

#[test]
fn googles_thoughts_in_the_content_are_thoughts() {
    let marked = json!({"google": {"thought": true}});
    let mut whole_answer = answer(&json!("<thought>Hm, so.</thought>Yes."));
    whole_answer["choices"][0]["message"]["extra_content"] = marked.clone();
    let body = whole(Dialect::Chat, &whole_answer, ClientDialect::Messages);
    assert_eq!(body["content"][0]["thinking"], "Hm, so.");
    assert_eq!(body["content"][1]["text"], "Yes.");
    let body = whole(Dialect::Chat, &whole_answer, ClientDialect::Chat);
    let message = &body["choices"][0]["message"];
    assert_eq!(message["content"], "Yes.");
    assert_eq!(message["reasoning_content"], "Hm, so.");
    assert_eq!(message["extra_content"], Value::Null);

    let chunk = |delta: Value| json!({"id": "c1", "choices": [{"index": 0, "delta": delta}]});
    let thought = |text: &str| chunk(json!({"content": text, "extra_content": marked}));
    let mut last = chunk(json!({"content": "Yes."}));
    last["choices"][0]["finish_reason"] = "stop".into();
    for chunks in [
        vec![
            thought("<thought>Hm, "),
            thought("so."),
            chunk(json!({"content": ""})),
            chunk(json!({"content": "</thought>Oh: "})),
            last.clone(),
        ],
        vec![
            thought("<thought>Hm, so.</thought>"),
            chunk(json!({"content": "Oh: "})),
            last.clone(),
        ],
    ] {
        let events = read(Dialect::Chat, &sse(&chunks));
        let events_out = write_events(&events, ClientDialect::Messages);
        let texts = |key: &str| -> String {
            let texts = events_out.iter();
            texts
                .filter_map(|event| event["delta"][key].as_str())
                .collect()
        };
        assert_eq!(texts("thinking"), "Hm, so.");
        assert_eq!(texts("text"), "Oh: Yes.");
    }
    // Without the statement, the marks are the model's text.
    let body = whole(
        Dialect::Chat,
        &answer(&json!("<thought>A</thought>")),
        ClientDialect::Messages,
    );
    assert_eq!(body["content"][0]["text"], "<thought>A</thought>");
}

#[test]
fn a_tool_without_a_type_is_a_function() {
    let mut body = chat(json!([{"role": "user", "content": "Go."}]));
    body["tools"] = json!([{"function": {"name": "look", "description": "d",
        "parameters": {"type": "object"}}}]);
    body["tool_choice"] = json!({"function": {"name": "look"}});
    for (upstream, name) in [
        (Dialect::Messages, "/tools/0/name"),
        (Dialect::Chat, "/tools/0/function/name"),
        (Dialect::Responses, "/tools/0/name"),
        (Dialect::Gemini, "/tools/0/functionDeclarations/0/name"),
        (Dialect::Converse, "/toolConfig/tools/0/toolSpec/name"),
    ] {
        let body = sent(ClientDialect::Chat, &body, upstream).body;
        assert_eq!(body.pointer(name), Some(&json!("look")), "{body}");
    }
    let chosen = sent(ClientDialect::Chat, &body, Dialect::Messages).body;
    assert_eq!(
        chosen["tool_choice"],
        json!({"type": "tool", "name": "look"})
    );
    body["tool_choice"] = json!("any");
    let chosen = sent(ClientDialect::Chat, &body, Dialect::Messages).body;
    assert_eq!(chosen["tool_choice"]["type"], "any");

    let body = json!({"model": "m", "input": "Go.", "tools": [{"name": "look", "parameters": {}}]});
    let sent = sent(ClientDialect::Responses, &body, Dialect::Chat).body;
    assert_eq!(sent["tools"][0]["function"]["name"], "look");
    let nothing = json!({"model": "m", "messages": [], "tools": [{"parameters": {}}]});
    let error = read_request(ClientDialect::Chat, nothing.to_string().as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "tools[0].type: Field required");
}

#[test]
fn the_text_of_converses_citations_is_the_answer() {
    let cited = json!({"citationsContent": {
        "content": [{"text": "It is "}, {"text": "blue."}],
        "citations": [{"title": "sky", "location": {"documentChar": {"documentIndex": 0}}}],
    }});
    let answer = json!({"output": {"message": {"role": "assistant",
        "content": [{"text": "So: "}, cited]}}, "stopReason": "end_turn"});
    let body = whole(Dialect::Converse, &answer, ClientDialect::Chat);
    assert_eq!(body["choices"][0]["message"]["content"], "So: It is blue.");
    let body = whole(Dialect::Converse, &answer, ClientDialect::Messages);
    let block = &body["content"][1];
    assert_eq!(
        (&block["type"], &block["text"]),
        (&json!("text"), &json!("It is blue."))
    );
    assert_eq!(block.get("citations"), None);
    assert_eq!(block["citationsContent"]["citations"][0]["title"], "sky");
    let context = support::context();
    let answer = answer.to_string();
    let read = prowess_wire::read_response(Dialect::Converse, answer.as_bytes(), &context).unwrap();
    let (_, dropped) = prowess_wire::write_response(ClientDialect::Chat, &read, &crate::reply());
    let fields: Vec<_> = dropped.iter().map(|d| d.field.as_str()).collect();
    assert_eq!(fields, ["content[1].citationsContent"]);
}

#[test]
fn googles_answer_after_a_thought_is_no_thought() {
    let mut answered = answer(&json!("Yes."));
    answered["choices"][0]["message"]["extra_content"] =
        json!({"google": {"thought": true, "thought_signature": "c2ln"}});
    let body = whole(Dialect::Chat, &answered, ClientDialect::Messages);
    let texts = body["content"].as_array().unwrap().iter();
    let texts: Vec<&str> = texts.filter_map(|block| block["text"].as_str()).collect();
    assert_eq!(texts, ["Yes."]);
}

#[test]
fn only_the_first_of_several_choices_is_the_answer() {
    let choice = |index: u64, delta: Value, reason: Option<&str>| {
        json!({"id": "c1", "choices": [
            {"index": index, "delta": delta, "finish_reason": reason}]})
    };
    let chunks = [
        choice(0, json!({"content": "On"}), None),
        choice(1, json!({"content": "Tw"}), None),
        choice(0, json!({"content": "e."}), Some("stop")),
        choice(1, json!({"content": "o."}), Some("length")),
    ];
    let candidate = |index: u64, text: &str| {
        let content = json!({"role": "model", "parts": [{"text": text}]});
        json!({"candidates": [{"index": index, "content": content, "finishReason": "STOP"}]})
    };
    let fragments = [candidate(0, "On"), candidate(1, "Two."), candidate(0, "e.")];
    for (upstream, stream) in [
        (Dialect::Chat, sse(&chunks)),
        (Dialect::Gemini, sse(&fragments)),
    ] {
        let out = write_events(&read(upstream, &stream), ClientDialect::Messages);
        let texts = out
            .iter()
            .filter_map(|event| event["delta"]["text"].as_str());
        assert_eq!(texts.collect::<String>(), "One.", "{upstream:?}");
        let reasons = out
            .iter()
            .filter_map(|event| event["delta"]["stop_reason"].as_str());
        assert_eq!(reasons.collect::<Vec<_>>(), ["end_turn"], "{upstream:?}");
    }
}
