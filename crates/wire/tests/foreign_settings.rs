//! Settings of one vendor's clients for models of another that would refuse them as they
//! are.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod support;

use prowess_wire::{
    ClientDialect, Dialect, EncodedRequest, WriteOptions, read_request, write_request,
};
use serde_json::{Value, json};

fn sent(client: ClientDialect, body: &Value, upstream: Dialect, model: &str) -> EncodedRequest {
    let request = read_request(client, body.to_string().as_bytes()).unwrap();
    let options = WriteOptions::default().for_model(model, None);
    write_request(upstream, &request, &options).unwrap()
}

fn dropped_fields(outgoing: &EncodedRequest) -> Vec<&str> {
    let dropped = outgoing.dropped.iter();
    dropped.map(|dropped| dropped.field.as_str()).collect()
}

/// The thinking settings of a Claude model, in both of its dialects.
fn thinking(outgoing: &EncodedRequest) -> &Value {
    match outgoing.body.get("additionalModelRequestFields") {
        Some(fields) => &fields["thinking"],
        None => &outgoing.body["thinking"],
    }
}

const CLAUDES: [Dialect; 2] = [Dialect::Messages, Dialect::Converse];
const BUDGET: &str = "claude-sonnet-4-5";
const ADAPTIVE: &str = "claude-opus-4-7";

fn gemini(config: Value) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generationConfig": config,
        "tools": [{"functionDeclarations": [{"name": "look"}]}]})
}

#[test]
fn a_gemini_clients_budget_is_one_that_claude_takes() {
    for (config, budget) in [
        (json!({"thinkingConfig": {"thinkingBudget": 8192}}), 8191),
        (json!({"thinkingConfig": {"thinkingBudget": 512}}), 1024),
        (
            json!({"maxOutputTokens": 3000, "thinkingConfig": {"thinkingBudget": 2048}}),
            2048,
        ),
    ] {
        for upstream in CLAUDES {
            let outgoing = sent(
                ClientDialect::Gemini,
                &gemini(config.clone()),
                upstream,
                BUDGET,
            );
            let expected = json!({"type": "enabled", "budget_tokens": budget});
            assert_eq!(thinking(&outgoing), &expected, "{upstream:?} {config}");
        }
    }
    let tight = json!({"maxOutputTokens": 900, "thinkingConfig": {"thinkingBudget": 600}});
    let outgoing = sent(
        ClientDialect::Gemini,
        &gemini(tight),
        Dialect::Messages,
        BUDGET,
    );
    assert_eq!(outgoing.body.get("thinking"), None);
    assert_eq!(
        dropped_fields(&outgoing),
        ["generationConfig.thinkingConfig"]
    );
}

#[test]
fn a_gemini_client_that_forces_a_tool_learns_that_claude_will_not_think() {
    for config in [
        json!({"thinkingBudget": 2048}),
        json!({"includeThoughts": true}),
    ] {
        let mut body = gemini(json!({"thinkingConfig": config}));
        body["toolConfig"] = json!({"functionCallingConfig": {"mode": "ANY"}});
        for (upstream, model) in [
            (Dialect::Messages, BUDGET),
            (Dialect::Converse, BUDGET),
            (Dialect::Messages, ADAPTIVE),
            (Dialect::Messages, "claude-opus-4-6"),
        ] {
            let outgoing = sent(ClientDialect::Gemini, &body, upstream, model);
            assert_eq!(thinking(&outgoing), &Value::Null, "{model} {config}");
            let named = dropped_fields(&outgoing);
            assert!(
                named.contains(&"generationConfig.thinkingConfig"),
                "{named:?}"
            );
        }
    }
}

#[test]
fn a_budget_does_not_begin_in_a_loop_whose_calls_have_no_thought() {
    let mut body = gemini(json!({"thinkingConfig": {"thinkingBudget": 2048}}));
    body["contents"] = json!([
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {}}}]},
    ]);
    for upstream in CLAUDES {
        let outgoing = sent(ClientDialect::Gemini, &body, upstream, BUDGET);
        assert_eq!(thinking(&outgoing), &Value::Null, "{upstream:?}");
        assert_eq!(
            dropped_fields(&outgoing),
            ["generationConfig.thinkingConfig"]
        );
    }
    // Thinking that the model begins as it sees fit needs no earlier thoughts.
    let outgoing = sent(ClientDialect::Gemini, &body, Dialect::Messages, ADAPTIVE);
    assert_eq!(thinking(&outgoing), &json!({"type": "adaptive"}));
}

#[test]
fn thinking_settings_of_anthropics_own_clients_are_left_to_anthropic() {
    let body = json!({"model": "m", "max_tokens": 500, "temperature": 1.5,
        "thinking": {"type": "enabled", "budget_tokens": 512},
        "messages": [{"role": "user", "content": "Hi"}]});
    let outgoing = sent(ClientDialect::Messages, &body, Dialect::Messages, BUDGET);
    assert_eq!(outgoing.body["thinking"], body["thinking"]);
    assert_eq!(outgoing.body["temperature"], 1.5);
    assert_eq!(dropped_fields(&outgoing), [""; 0]);
}

#[test]
fn claude_gets_no_temperature_above_one() {
    let chat = |temperature: f64| {
        json!({"model": "m", "temperature": temperature,
            "messages": [{"role": "user", "content": "Hi"}]})
    };
    let temperature = |outgoing: &EncodedRequest| match outgoing.body.get("inferenceConfig") {
        Some(config) => config["temperature"].clone(),
        None => outgoing.body["temperature"].clone(),
    };
    for upstream in CLAUDES {
        let outgoing = sent(ClientDialect::Chat, &chat(1.4), upstream, BUDGET);
        assert_eq!(temperature(&outgoing), 1, "{upstream:?}");
        assert_eq!(dropped_fields(&outgoing), ["temperature"]);
        let outgoing = sent(ClientDialect::Chat, &chat(0.4), upstream, BUDGET);
        assert_eq!(temperature(&outgoing), 0.4, "{upstream:?}");
        assert_eq!(dropped_fields(&outgoing), [""; 0]);
        let outgoing = sent(ClientDialect::Chat, &chat(1.4), upstream, ADAPTIVE);
        assert_eq!(temperature(&outgoing), Value::Null, "{upstream:?}");
        assert_eq!(dropped_fields(&outgoing), ["temperature"]);
    }
    let config = json!({"temperature": 2.0, "thinkingConfig": {"thinkingBudget": 2048}});
    let outgoing = sent(
        ClientDialect::Gemini,
        &gemini(config),
        Dialect::Messages,
        BUDGET,
    );
    assert_eq!(outgoing.body["temperature"], 1);
    assert_eq!(dropped_fields(&outgoing), ["generationConfig.temperature"]);
    let outgoing = sent(
        ClientDialect::Chat,
        &chat(1.4),
        Dialect::Responses,
        "gpt-4.1",
    );
    assert_eq!(outgoing.body["temperature"], 1.4);
}

#[test]
fn a_model_that_does_not_reason_gets_no_reasoning_settings() {
    for thinking in [
        json!({"type": "adaptive"}),
        json!({"type": "enabled", "budget_tokens": 2048}),
    ] {
        let body = json!({"model": "m", "max_tokens": 5000, "thinking": thinking,
            "messages": [{"role": "user", "content": "Hi"}]});
        let outgoing = sent(
            ClientDialect::Messages,
            &body,
            Dialect::Responses,
            "gpt-4.1",
        );
        assert_eq!(outgoing.body.get("reasoning"), None);
        assert_eq!(outgoing.body.get("include"), None);
        assert_eq!(dropped_fields(&outgoing), ["thinking"]);
        for model in ["gpt-5", "o1-mini", "grok-4", "some-model"] {
            let outgoing = sent(ClientDialect::Messages, &body, Dialect::Responses, model);
            assert_eq!(outgoing.body["reasoning"]["summary"], "auto", "{model}");
            let include = json!(["reasoning.encrypted_content"]);
            assert_eq!(outgoing.body["include"], include, "{model}");
        }
    }
}
