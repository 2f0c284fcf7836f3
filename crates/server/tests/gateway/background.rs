//! Responses in the background at an upstream that has them itself: what it is sent, and what the
//! response that is stored here repeats.

use prowess_testkit::upstream::MockResponse;
use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::runs::sent;

const PATH: &str = "/v1/responses";
const MODEL: &str = "rsp/m1";

const ANSWER: &str = r#"{"id":"resp_up","object":"response","created_at":1,"status":"completed","model":"m1","output":[{"type":"message","id":"msg_up","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]}],"usage":{"input_tokens":3,"output_tokens":1,"total_tokens":4}}"#;

/// Creates a response in the background, and reads it once it is complete.
async fn complete(gateway: &Gateway, mut request: Value) -> Value {
    gateway.upstream.respond(MockResponse::json(200, ANSWER));
    request["model"] = MODEL.into();
    request["background"] = true.into();
    let created = gateway.post(PATH, request.to_string()).await;
    let text = created.text();
    let at = text.find("\"resp_").unwrap() + 1;
    let id = text[at..].split('"').next().unwrap();
    let path = format!("{PATH}/{id}");
    // To its end.
    gateway.get(&format!("{path}?stream=true"), &[]).await;
    gateway.get(&path, &[]).await.json()
}

#[tokio::test]
async fn settings_reach_the_upstream_and_the_stored_response_repeats_them() {
    let settings = json!({
        "instructions": "Be kind.",
        "max_output_tokens": 50,
        "max_tool_calls": 3,
        "metadata": {"a": "b"},
        "prompt_cache_key": "k",
        "reasoning": {"effort": "low", "summary": "auto"},
        "safety_identifier": "s",
        "service_tier": "flex",
        "store": true,
        "temperature": 0.25,
        "text": {"format": {"type": "json_object"}, "verbosity": "low"},
        "top_logprobs": 2,
        "top_p": 0.75,
        "truncation": "auto",
        "user": "u",
    });
    let include = json!(["reasoning.encrypted_content"]);
    for stream in [false, true] {
        let gateway = Gateway::start().await;
        let mut request = settings.clone();
        request["input"] = "Hello".into();
        request["include"] = include.clone();
        request["stream"] = stream.into();
        let stored = complete(&gateway, request).await;
        let body = sent(&gateway).await;
        for (key, value) in settings.as_object().unwrap() {
            assert_eq!(body.get(key), Some(value), "{key}: {body}");
            assert_eq!(stored.get(key), Some(value), "{key}: {stored}");
        }
        assert_eq!(body["include"], include);
        assert_eq!(body["stream"].as_bool().unwrap_or(false), stream);
        assert_eq!(body.get("background"), None);
        assert_eq!(stored["background"], true);
        assert_eq!(stored["status"], "completed");
        assert_eq!(stored["output"][0]["content"][0]["text"], "Hi");
    }
}

#[tokio::test]
async fn only_what_is_stored_here_is_continued() {
    let gateway = Gateway::start().await;
    let first = complete(&gateway, json!({"input": "Hello"})).await;
    assert_eq!(first["store"], true);
    // As its client left it out.
    assert_eq!(sent(&gateway).await.get("store"), None);

    let previous = &first["id"];
    let request = json!({"input": "And?", "previous_response_id": previous});
    let second = complete(&gateway, request).await;
    let body = sent(&gateway).await;
    assert_eq!(body.get("previous_response_id"), None);
    assert_eq!(body["input"].as_array().unwrap().len(), 3, "{body}");
    assert_eq!(&second["previous_response_id"], previous);

    let made = gateway.post("/v1/conversations", "{}").await.json();
    let conversation = &made["id"];
    let request = json!({"input": "Hello", "conversation": conversation});
    let third = complete(&gateway, request).await;
    assert_eq!(sent(&gateway).await.get("conversation"), None);
    assert_eq!(third["conversation"], json!({"id": conversation}));

    for (field, id, status) in [
        ("previous_response_id", "resp_theirs", 400),
        ("conversation", "conv_theirs", 404),
    ] {
        let mut request = json!({"model": MODEL, "input": "Hi", "background": true});
        request[field] = id.into();
        let refused = gateway.post(PATH, request.to_string()).await;
        assert_eq!(refused.status, status, "{}", refused.text());
        let error = &refused.json()["error"];
        assert_eq!(error["param"], field);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.ends_with("continues only what is stored by Prowess."),
            "{message}"
        );
    }
    assert!(gateway.upstream.requests().await.is_empty());
}
