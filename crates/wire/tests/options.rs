//! Differences between servers of one dialect: each option has its documented effect.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use prowess_wire::{
    ClientDialect, Dialect, EncodedRequest, ReasoningContent, WriteOptions, read_request,
    write_request,
};
use serde_json::{Value, json};
use support::file;

fn sent(
    client: ClientDialect,
    body: &Value,
    upstream: Dialect,
    options: &WriteOptions,
) -> EncodedRequest {
    let request = read_request(client, body.to_string().as_bytes()).unwrap();
    write_request(upstream, &request, options).unwrap()
}

fn fixture(path: &str) -> Value {
    serde_json::from_slice(&file(path)).unwrap()
}

#[test]
fn a_token_limit_is_sent_where_one_is_demanded() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    let options = WriteOptions {
        default_max_tokens: 77,
        ..WriteOptions::default()
    };
    let to = |dialect| sent(ClientDialect::Chat, &body, dialect, &options).body;
    assert_eq!(to(Dialect::Messages)["max_tokens"], 77);
    assert_eq!(to(Dialect::Chat).get("max_completion_tokens"), None);
    assert_eq!(to(Dialect::Converse).get("inferenceConfig"), None);
}

#[test]
fn sampling_parameters_are_left_out_and_named_when_the_model_takes_none() {
    let body = fixture("requests/messages/every_setting.json");
    let options = WriteOptions {
        sampling: false,
        ..WriteOptions::default()
    };
    for dialect in [
        Dialect::Messages,
        Dialect::Chat,
        Dialect::Responses,
        Dialect::Converse,
    ] {
        let sent = sent(ClientDialect::Messages, &body, dialect, &options);
        let text = sent.body.to_string();
        assert!(
            !text.contains("temperature") && !text.contains("\"top"),
            "{text}"
        );
        for field in ["temperature", "top_p", "top_k"] {
            assert!(sent.dropped.iter().any(|d| d.field == field), "{field}");
        }
    }
}

#[test]
fn effort_becomes_a_budget_for_models_without_levels() {
    let mut body = json!({"model": "m", "max_completion_tokens": 4000, "reasoning_effort": "low",
        "messages": [{"role": "user", "content": "Hi"}]});
    let options = WriteOptions {
        effort_levels: false,
        ..WriteOptions::default()
    };
    let anthropic = sent(ClientDialect::Chat, &body, Dialect::Messages, &options).body;
    let expected = json!({"type": "enabled", "budget_tokens": 2048});
    assert_eq!(anthropic["thinking"], expected);
    assert_eq!(anthropic.get("output_config"), None);
    let gemini = sent(ClientDialect::Chat, &body, Dialect::Gemini, &options).body;
    assert_eq!(
        gemini["generationConfig"]["thinkingConfig"],
        json!({"thinkingBudget": 2048})
    );

    body["reasoning_effort"] = json!("high");
    let capped = sent(ClientDialect::Chat, &body, Dialect::Messages, &options).body;
    assert_eq!(capped["thinking"]["budget_tokens"], 3999);
    body["reasoning_effort"] = json!("none");
    let off = sent(ClientDialect::Chat, &body, Dialect::Messages, &options).body;
    assert_eq!(off["thinking"], json!({"type": "disabled"}));
}

#[test]
fn thinking_does_not_start_in_the_middle_of_a_tool_loop() {
    let mut body = fixture("requests/chat/tool_loop.json");
    body["reasoning_effort"] = json!("low");
    body["messages"].as_array_mut().unwrap().truncate(4);
    let options = WriteOptions {
        effort_levels: false,
        ..WriteOptions::default()
    };
    let sent = sent(ClientDialect::Chat, &body, Dialect::Messages, &options).body;
    assert_eq!(sent.get("thinking"), None);
}

#[test]
fn a_system_message_in_the_middle_becomes_tagged_text_where_none_may_stand() {
    let body = fixture("requests/messages/system_in_the_middle.json");
    let options = WriteOptions {
        system_in_place: false,
        ..WriteOptions::default()
    };
    let tagged = "<system>\nThe user is now an admin.\n</system>";
    let messages = sent(ClientDialect::Messages, &body, Dialect::Messages, &options).body;
    assert_eq!(
        messages["messages"][2],
        json!({"role": "user", "content": tagged})
    );
    let converse = sent(ClientDialect::Messages, &body, Dialect::Converse, &options).body;
    let turn = json!({"role": "user", "content": [{"text": tagged}, {"text": "List users"}]});
    assert_eq!(converse["messages"][2], turn);
}

#[test]
fn chat_servers_get_the_limit_thoughts_and_cache_marks_they_take() {
    let options = WriteOptions {
        legacy_max_tokens: true,
        reasoning_content: ReasoningContent::Always,
        cache_breakpoints: true,
        ..WriteOptions::default()
    };
    let body = fixture("requests/messages/tool_loop.json");
    let chat = sent(ClientDialect::Messages, &body, Dialect::Chat, &options).body;
    assert_eq!(chat["max_tokens"], 1000);
    assert_eq!(chat["messages"][2]["reasoning_content"], "Two calls.");

    let body = fixture("requests/messages/every_setting.json");
    let chat = sent(ClientDialect::Messages, &body, Dialect::Chat, &options).body;
    let mark = json!({"mode": "explicit", "ttl": "30m"});
    assert_eq!(
        chat["messages"][0]["content"][0]["prompt_cache_breakpoint"],
        mark
    );
    let responses = sent(ClientDialect::Messages, &body, Dialect::Responses, &options).body;
    let mark = json!({"mode": "explicit", "ttl": "12h"});
    assert_eq!(
        responses["input"][0]["content"][4]["prompt_cache_breakpoint"],
        mark
    );
}

#[test]
fn calls_without_a_signature_are_excused_to_gemini_on_request() {
    let body = fixture("requests/messages/tool_loop.json");
    let options = WriteOptions {
        unsigned_calls: true,
        ..WriteOptions::default()
    };
    let sent = sent(ClientDialect::Messages, &body, Dialect::Gemini, &options).body;
    let parts = &sent["contents"][1]["parts"];
    assert_eq!(
        parts[1]["thoughtSignature"],
        "skip_thought_signature_validator"
    );
    assert_eq!(parts[2].get("thoughtSignature"), None);
}

#[test]
fn a_schema_is_strict_for_openai_only_if_openai_takes_it() {
    let mut body = json!({"model": "m", "max_tokens": 5,
        "messages": [{"role": "user", "content": "Hi"}],
        "output_config": {"format": {"type": "json_schema", "schema": {
            "type": "object", "additionalProperties": false, "required": ["a"],
            "properties": {"a": {"type": "string"}}}}}});
    let strict = |body: &Value| {
        let sent = sent(
            ClientDialect::Messages,
            body,
            Dialect::Chat,
            &WriteOptions::default(),
        );
        sent.body["response_format"]["json_schema"]["strict"].clone()
    };
    assert_eq!(strict(&body), true);
    body["output_config"]["format"]["schema"]["properties"]["b"] = json!({"type": "string"});
    assert_eq!(strict(&body), false);
}
