//! vLLM: no key, an address from a variable, a token counter of its own, and its own fields.

use prowess_provider::config::{ProviderConfig, ProviderKind, ProvidersConfig, VllmOptions};
use prowess_provider::{ClientCredentials, Env, ModelTask, Providers};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;

use crate::common::*;

fn well_known(variable: &str, address: &str) -> Providers {
    Providers::new(ProvidersConfig {
        env: Env::from_pairs([(variable, address)]),
        ..ProvidersConfig::default()
    })
    .unwrap()
}

#[tokio::test]
async fn the_variable_of_its_address_is_enough() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    let providers = well_known("VLLM_API_BASE", &format!("{}/v1", upstream.url()));
    assert_eq!(providers.names(), ["vllm"]);
    let route = providers.route("vllm/Qwen/Qwen3-8B").unwrap();
    whole(call(&route, &hello(false)).await.unwrap());
    insta::assert_snapshot!(upstream.next_request().await.render());

    let without = well_known("OTHER", "x").route("vllm/m").unwrap_err();
    insta::assert_snapshot!(without, @"vllm/m: provider `vllm` has no address; set VLLM_API_BASE or HOSTED_VLLM_API_BASE");
}

#[tokio::test]
async fn tokens_are_counted_by_its_tokenizer() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(
        200,
        r#"{"count":7,"max_model_len":4096,"tokens":[1,2,3,4,5,6,7]}"#,
    ));
    let config = ProviderConfig::new("v", VllmOptions::default())
        .with_base_url(format!("{}/v1/", upstream.url()))
        .with_api_key(KEY);
    let route = route_to(config);
    let credentials = ClientCredentials::default();
    let count = route.count(&hello(false), &credentials).await.unwrap();
    assert_eq!((count.input_tokens, count.estimated), (7, false));
    insta::assert_snapshot!(upstream.next_request().await.render());
}

#[tokio::test]
async fn its_own_fields_pass_unchanged() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    let kind = ProviderKind::from_name("hosted_vllm").unwrap();
    let config = ProviderConfig::new("v", kind).with_base_url(upstream.url());
    let route = route_to(config);
    let body = r#"{"model":"m1", "guided_json": {"type":"object"}, "top_k": 5, "messages":[]}"#;
    let chat = ClientDialect::Chat;
    let credentials = ClientCredentials::default();
    let answer = forward(&route, chat, ModelTask::Generate, body, &credentials).await;
    passed(answer.unwrap());
    let received = upstream.next_request().await;
    assert_eq!(received.text(), body);
    assert_eq!(received.header("authorization"), None);
}

#[tokio::test]
async fn responses_are_used_by_option() {
    for responses in [false, true] {
        let options = VllmOptions { responses };
        let config = ProviderConfig::new("v", options).with_base_url("http://127.0.0.1:1/v1");
        let route = route_to(config);
        let client = ClientDialect::Responses;
        let target = &route.targets()[0];
        assert_eq!(
            target.supports_pass_through(client, ModelTask::Generate),
            responses
        );
        // Its counter is another one.
        assert!(!target.supports_pass_through(client, ModelTask::CountTokens));
    }
}
