//! Vertex AI: models of vendors besides Google and Anthropic have OpenAI's Chat API, at paths of
//! their own or at a common one.

use prowess_provider::config::{ProviderConfig, ProviderKind, VertexOptions};
use prowess_provider::{ClientCredentials, ModelTask, Route};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;

use crate::common::*;

const PLACE: &str = "/v1/projects/p1/locations/us-east5";

fn route(upstream: &MockUpstream, model: &str) -> Route {
    let kind = ProviderKind::new(VertexOptions {
        project: Some("p1".to_owned()),
        location: Some("us-east5".to_owned()),
        ..VertexOptions::default()
    });
    let config = ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("v", kind)
            .with_base_url(upstream.url())
            .with_api_key(KEY)
    };
    providers([config]).route(&format!("v/{model}")).unwrap()
}

#[tokio::test]
async fn models_of_other_vendors_are_called_where_they_are() {
    let upstream = MockUpstream::start().await;
    for (model, path, stream_path, named) in [
        (
            "meta/llama-3.3-70b-instruct-maas",
            "endpoints/openapi/chat/completions",
            "endpoints/openapi/chat/completions",
            "meta/llama-3.3-70b-instruct-maas",
        ),
        (
            "mistral-small-2503@001",
            "publishers/mistralai/models/mistral-small-2503@001:rawPredict",
            "publishers/mistralai/models/mistral-small-2503@001:streamRawPredict",
            "mistral-small-2503",
        ),
        (
            "mistralai/codestral-2@001",
            "publishers/mistralai/models/codestral-2@001:rawPredict",
            "publishers/mistralai/models/codestral-2@001:streamRawPredict",
            "codestral-2",
        ),
        (
            "ai21/jamba-1.5-large",
            "publishers/ai21/models/jamba-1.5-large:rawPredict",
            "publishers/ai21/models/jamba-1.5-large:streamRawPredict",
            "jamba-1.5-large",
        ),
    ] {
        upstream
            .respond(MockResponse::json(200, CHAT_RESPONSE))
            .respond(MockResponse::sse(CHAT_STREAM));
        let route = route(&upstream, model);
        whole(call(&route, &hello(false)).await.unwrap());
        let sent = upstream.next_request().await;
        assert_eq!(sent.path, format!("{PLACE}/{path}"));
        let body: serde_json::Value = serde_json::from_str(sent.text()).unwrap();
        assert_eq!(body["model"], named);
        assert_eq!(body["max_tokens"], 5, "{body}");
        let key = format!("Bearer {KEY}");
        assert_eq!(sent.header("authorization"), Some(key.as_str()));
        let reply = call(&route, &hello(true)).await.unwrap();
        assert_eq!(collect_text(&rest(stream(reply)).await).0, "Hi");
        let sent = upstream.next_request().await;
        assert_eq!(sent.path, format!("{PLACE}/{stream_path}"));
    }
}

#[tokio::test]
async fn a_chat_client_is_passed_through_to_them_and_tokens_are_estimated() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    let route = route(&upstream, "meta/llama-3.3-70b-instruct-maas");
    let body = r#"{"model":"meta/llama-3.3-70b-instruct-maas", "messages":[], "top_k": 5}"#;
    let (client, task) = (ClientDialect::Chat, ModelTask::Generate);
    let credentials = ClientCredentials::default();
    let answer = forward(&route, client, task, body, &credentials).await;
    drain(passed(answer.unwrap()).body).await;
    assert_eq!(upstream.next_request().await.text(), body);
    let count = route.count(&hello(false), &credentials).await.unwrap();
    assert!(count.estimated);
    assert!(upstream.requests().await.is_empty());
}

#[tokio::test]
async fn claude_is_found_by_the_name_with_its_vendor() {
    let upstream = MockUpstream::start().await;
    let route = route(&upstream, "anthropic/claude-opus-4-5");
    upstream.respond(MockResponse::json(200, MESSAGES_RESPONSE));
    whole(call(&route, &hello(false)).await.unwrap());
    let sent = upstream.next_request().await;
    let model = "publishers/anthropic/models/claude-opus-4-5:rawPredict";
    assert_eq!(sent.path, format!("{PLACE}/{model}"));
    upstream.respond(MockResponse::json(200, r#"{"input_tokens":7}"#));
    let credentials = ClientCredentials::default();
    let count = route.count(&hello(false), &credentials).await.unwrap();
    assert!(!count.estimated);
    let sent = upstream.next_request().await;
    let body: serde_json::Value = serde_json::from_str(sent.text()).unwrap();
    assert_eq!(body["model"], "claude-opus-4-5", "{body}");
}
