//! State of one vendor's model is not sent to another vendor unchanged, even where the
//! client's bytes could be passed on.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod common;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use common::*;
use prowess_provider::config::{GeminiOptions, OpenAiOptions, ProviderConfig, ProviderKind};
use prowess_provider::{ClientCredentials, ForwardOutcome, ModelTask};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

const GEMINI_RESPONSE: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}"#;
const RESPONSES_RESPONSE: &str = r#"{"id":"resp_1","object":"response","model":"m1","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]}]}"#;

fn gemini(url: &str) -> ProviderConfig {
    let kind = ProviderKind::new(GeminiOptions::default());
    ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("gem", kind)
            .with_base_url(url)
            .with_api_key(KEY)
    }
}

/// A server with OpenAI's Responses API.
fn with_responses(url: &str) -> ProviderConfig {
    let kind = ProviderKind::new(OpenAiOptions {
        responses: Some(true),
    });
    ProviderConfig {
        kind,
        ..openai(url)
    }
}

/// What an upstream of the client's dialect receives for a body.
async fn received(client: ClientDialect, body: &Value) -> (ForwardOutcome, String) {
    let upstream = MockUpstream::start().await;
    let (provider, answer) = match client {
        ClientDialect::Messages => (anthropic(upstream.url()), MESSAGES_RESPONSE),
        ClientDialect::Chat => (openai(upstream.url()), CHAT_RESPONSE),
        ClientDialect::Responses => (with_responses(upstream.url()), RESPONSES_RESPONSE),
        ClientDialect::Gemini => (gemini(upstream.url()), GEMINI_RESPONSE),
    };
    upstream.respond(MockResponse::json(200, answer));
    let body = body.to_string();
    let credentials = ClientCredentials::default();
    let forwarded = forward(
        &route_to(provider),
        client,
        ModelTask::Generate,
        &body,
        &credentials,
    )
    .await;
    let request = upstream.next_request().await;
    (forwarded.unwrap(), request.text().to_owned())
}

fn messages(signature: &str) -> Value {
    json!({"model": "m1", "max_tokens": 5, "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": signature},
            {"type": "text", "text": "Hello."}]},
        {"role": "user", "content": "So."}]})
}

fn responses(encrypted: &str) -> Value {
    json!({"model": "m1", "input": [
        {"role": "user", "content": "Hi"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypted},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "So."}]})
}

fn contents(part: &Value) -> Value {
    json!({"contents": [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [part]},
        {"role": "user", "parts": [{"text": "So."}]}]})
}

/// Asserts that a body was translated, and that only what the vendor understands was
/// sent.
async fn assert_translated(client: ClientDialect, body: &Value, foreign: &str) {
    let (forwarded, sent) = received(client, body).await;
    let ForwardOutcome::Translated { .. } = forwarded else {
        panic!("it was passed on: {sent}");
    };
    assert!(!sent.contains(foreign), "{sent}");
    for kept in ["Hi", "Hello.", "So."] {
        assert!(sent.contains(kept), "{kept} is not in {sent}");
    }
}

#[tokio::test]
async fn anthropic_gets_no_thoughts_of_other_vendors() {
    let chat = STANDARD.encode("{}");
    let openai = STANDARD.encode(r#"["rs_1","gAAA"]"#);
    for signature in [
        format!("v1.chat.{chat}"),
        format!("v1.openai.{openai}"),
        "v1.gemini.c2ln".to_owned(),
    ] {
        assert_translated(ClientDialect::Messages, &messages(&signature), "v1.").await;
    }
}

#[tokio::test]
async fn anthropic_gets_no_fields_of_what_other_vendors_servers_did() {
    let url = "https://i.test/a.png";
    let code = json!([
        {"type": "server_tool_use", "id": "srvtoolu_responses_ci_1", "name": "code_execution",
            "input": {"code": "plot()"}, "outputs": [{"type": "image", "url": url}]},
        {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_responses_ci_1",
            "content": {"type": "code_execution_result", "stdout": "", "stderr": "",
                "return_code": 0, "content": []}}]);
    let picture = json!([{"type": "text", "text": "[image: image/png, 9 bytes]",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]);
    for (blocks, foreign) in [(code, "i.test"), (picture, "iVBORw0KGgo=")] {
        let mut body = messages("EqQBCg==");
        let content = body.pointer_mut("/messages/1/content").unwrap();
        let list = content.as_array_mut().unwrap();
        list.extend(blocks.as_array().unwrap().iter().cloned());
        assert_translated(ClientDialect::Messages, &body, foreign).await;
    }
}

#[tokio::test]
async fn openai_gets_no_thoughts_of_other_vendors() {
    for encrypted in ["pw1.EqQBCg==", "pw1.v1.gemini.c2ln", "pw1r.EqQBCg=="] {
        assert_translated(ClientDialect::Responses, &responses(encrypted), "pw1").await;
    }
}

#[tokio::test]
async fn google_gets_no_thoughts_of_other_vendors() {
    let thoughts =
        r#"prowess.thoughts.1:[{"type":"thinking","thinking":"hm ?>~","signature":"EqQB"}]"#;
    for signature in [STANDARD.encode(thoughts), URL_SAFE_NO_PAD.encode(thoughts)] {
        for key in ["thoughtSignature", "thought_signature"] {
            let part = json!({"text": "Hello.", key: signature});
            let body = contents(&part);
            assert_translated(ClientDialect::Gemini, &body, "cHJvd2Vzcy50aG91Z2h0cy4x").await;
        }
    }
}

#[tokio::test]
async fn google_gets_no_code_that_another_vendors_server_ran_as_its_own() {
    let mut body = contents(&json!({"text": "Hello."}));
    let parts = json!([
        {"executableCode": {"id": "srvtoolu_01", "language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"id": "srvtoolu_01", "outcome": "OUTCOME_OK", "output": "1"}},
        {"text": "Hello."},
    ]);
    *body.pointer_mut("/contents/1/parts").unwrap() = parts;
    assert_translated(ClientDialect::Gemini, &body, "executableCode").await;
}

#[tokio::test]
async fn a_vendors_own_state_passes_byte_for_byte() {
    let quoted = r#"{"signature":"v1.chat.e30="} "encrypted_content":"pw1.x""#;
    let code = json!({"executableCode": {"id": "c1", "language": "PYTHON", "code": "1"}});
    for (client, body) in [
        (ClientDialect::Messages, messages("EqQBCg==")),
        (ClientDialect::Responses, responses("gAAA")),
        (
            ClientDialect::Gemini,
            contents(&json!({"text": quoted, "thoughtSignature": "c2ln"})),
        ),
        (ClientDialect::Gemini, contents(&code)),
        (
            ClientDialect::Messages,
            json!({"model": "m1", "max_tokens": 5, "messages": [{"role": "user", "content": quoted}]}),
        ),
        (
            ClientDialect::Responses,
            json!({"model": "m1", "input": quoted}),
        ),
    ] {
        let (forwarded, sent) = received(client, &body).await;
        assert_eq!(passed(forwarded).status, 200);
        assert_eq!(sent, body.to_string());
    }
}
