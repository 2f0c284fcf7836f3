//! A request contains only what models of this name support, with or without an entry,
//! and the entry's overrides win.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use common::{CHAT_RESPONSE, KEY, MESSAGES_RESPONSE, anthropic, forward, passed, quick, whole};
use prowess_provider::config::{
    AzureAiOptions, AzureOptions, BedrockOptions, ModelConfig, OpenAiOptions, OpenRouterOptions,
    ProviderConfig, ProviderKind, ProvidersConfig, VertexOptions, VllmOptions, WriteOverrides,
};
use prowess_provider::known_models::BaseModel;
use prowess_provider::{ClientCredentials, Env, ModelTask, Providers};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

/// The body that a model receives for a request with a temperature, and the dropped
/// fields.
async fn sent(providers: &Providers, upstream: &MockUpstream, model: &str) -> (Value, Vec<String>) {
    upstream.respond(MockResponse::json(200, MESSAGES_RESPONSE));
    let body = json!({"model": model, "temperature": 0.5,
        "messages": [{"role": "user", "content": "Hi"}]});
    let request =
        prowess_wire::read_request(ClientDialect::Chat, body.to_string().as_bytes()).unwrap();
    let route = providers.route(model).unwrap();
    let reply = route
        .call(&request, &ClientCredentials::default())
        .await
        .unwrap();
    let sent = upstream.next_request().await;
    let dropped = reply.dropped.into_iter().map(|dropped| dropped.field);
    (
        serde_json::from_str(sent.text()).unwrap(),
        dropped.collect(),
    )
}

fn at(upstream: &MockUpstream, name: &str, kind: ProviderKind) -> ProviderConfig {
    ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new(name, kind)
            .with_base_url(upstream.url())
            .with_api_key(KEY)
    }
}

#[tokio::test]
async fn a_name_is_known_with_an_entry_and_without() {
    let upstream = MockUpstream::start().await;
    let providers = Providers::new(ProvidersConfig {
        providers: vec![
            anthropic(upstream.url()),
            at(
                &upstream,
                "aws",
                ProviderKind::new(BedrockOptions {
                    region: Some("eu-central-2".to_owned()),
                    ..BedrockOptions::default()
                }),
            ),
            at(
                &upstream,
                "vertex",
                ProviderKind::new(VertexOptions {
                    project: Some("p".to_owned()),
                    ..VertexOptions::default()
                }),
            ),
        ],
        models: vec![
            ModelConfig::new("best", "ant").with_upstream_model("claude-opus-4-7"),
            ModelConfig::new("any-*", "ant").with_upstream_model("claude-*"),
            ModelConfig {
                write_overrides: WriteOverrides {
                    sampling: Some(true),
                    ..WriteOverrides::default()
                },
                ..ModelConfig::new("forced", "ant").with_upstream_model("claude-opus-4-7")
            },
            ModelConfig::new("plain", "ant").with_upstream_model("claude-sonnet-4"),
        ],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    for model in [
        "ant/claude-opus-4-7",
        "best",
        "any-opus-4-7",
        "aws/us.anthropic.claude-opus-4-7-v1:0",
        "vertex/claude-opus-4-7@20260416",
    ] {
        let (body, dropped) = sent(&providers, &upstream, model).await;
        assert_eq!(body.get("temperature"), None, "{model}");
        assert_eq!(dropped, ["temperature"], "{model}");
    }
    for model in ["forced", "plain", "ant/claude-sonnet-4", "ant/some-model"] {
        let (body, dropped) = sent(&providers, &upstream, model).await;
        assert_eq!(body["temperature"], 0.5, "{model}");
        assert!(dropped.is_empty(), "{model}");
    }
}

const RESPONSES_RESPONSE: &str = r#"{"id":"resp_1","object":"response","status":"completed","model":"m1","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","arguments":"{}","status":"completed"}],"usage":{"input_tokens":3,"output_tokens":1,"total_tokens":4}}"#;

/// A request with a tool, as a client sends it.
fn with_tool(client: ClientDialect) -> Value {
    let messages = json!([{"role": "user", "content": "Hi"}]);
    match client {
        ClientDialect::Messages => json!({"model": "m", "max_tokens": 9000, "messages": messages,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "tools": [{"name": "look", "input_schema": {"type": "object"}}]}),
        ClientDialect::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "tools": [{"functionDeclarations": [{"name": "look"}]}]}),
        _ => json!({"model": "m", "messages": messages, "tools": [
            {"type": "function", "function": {"name": "look", "parameters": {}}}]}),
    }
}

/// The path and body that a model receives for a translated request with a tool.
async fn sent_with_tool(
    providers: &Providers,
    upstream: &MockUpstream,
    model: &str,
    client: ClientDialect,
) -> (String, Value) {
    upstream.respond_with(|request| {
        let is_responses = request.path.contains("/responses");
        let body = if is_responses {
            RESPONSES_RESPONSE
        } else {
            CHAT_RESPONSE
        };
        MockResponse::json(200, body)
    });
    let body = with_tool(client).to_string();
    let request = prowess_wire::read_request(client, body.as_bytes()).unwrap();
    let route = providers.route(model).unwrap();
    let reply = route.call(&request, &ClientCredentials::default()).await;
    let response = whole(reply.unwrap());
    let sent = upstream.next_request().await;
    if sent.path.contains("/responses") {
        let kinds: Vec<_> = response.content.iter().map(|b| b.content.kind()).collect();
        assert_eq!(kinds, ["thinking", "tool_use"]);
    }
    (
        sent.path.clone(),
        serde_json::from_str(sent.text()).unwrap(),
    )
}

const OTHER_CLIENTS: [ClientDialect; 3] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Gemini,
];

#[tokio::test]
async fn models_that_need_responses_get_it_from_every_client() {
    let upstream = MockUpstream::start().await;
    let kind = |responses| {
        ProviderKind::new(OpenAiOptions {
            responses: Some(responses),
        })
    };
    let providers = common::providers([
        at(&upstream, "oai", kind(true)),
        at(&upstream, "chat-only", kind(false)),
        at(
            &upstream,
            "router",
            ProviderKind::new(OpenRouterOptions {
                responses: true,
                ..OpenRouterOptions::default()
            }),
        ),
        at(
            &upstream,
            "vllm",
            ProviderKind::new(VllmOptions { responses: true }),
        ),
    ]);
    for client in OTHER_CLIENTS {
        for model in ["oai/gpt-5.6", "oai/gpt-5.4-mini", "oai/gpt-5-codex"] {
            let (path, body) = sent_with_tool(&providers, &upstream, model, client).await;
            assert_eq!(path, "/responses", "{client:?} {model}");
            assert_eq!(body["store"], false, "{client:?} {model}");
            let include = json!(["reasoning.encrypted_content"]);
            assert_eq!(body["include"], include, "{client:?} {model}");
            let parameters = json!({"type": "object", "properties": {}});
            assert_eq!(body["tools"][0]["parameters"], parameters, "{client:?}");
        }
        for model in [
            "oai/gpt-5.2",
            "oai/some-model",
            "chat-only/gpt-5.6",
            "router/openai/gpt-5.6",
            "vllm/gpt-5.6",
        ] {
            let (path, _) = sent_with_tool(&providers, &upstream, model, client).await;
            assert_eq!(path, "/chat/completions", "{client:?} {model}");
        }
    }

    // What the provider takes unchanged is not translated.
    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    let route = providers.route("oai/gpt-5.6").unwrap();
    let body = r#"{"model":"gpt-5.6",  "messages":[], "tools": []}"#;
    let credentials = ClientCredentials::default();
    let chat = ClientDialect::Chat;
    let answer = forward(&route, chat, ModelTask::Generate, body, &credentials).await;
    passed(answer.unwrap());
    let sent = upstream.next_request().await;
    assert_eq!(
        (sent.path.as_str(), sent.text()),
        ("/chat/completions", body)
    );
}

#[tokio::test]
async fn azure_uses_responses_by_its_version_and_the_name_of_the_deployment() {
    let upstream = MockUpstream::start().await;
    let version = |version: Option<&str>| {
        ProviderKind::new(AzureOptions {
            api_version: version.map(str::to_owned),
            ..AzureOptions::default()
        })
    };
    let providers = common::providers([
        at(&upstream, "v1", version(None)),
        at(&upstream, "new", version(Some("2025-04-01-preview"))),
        at(&upstream, "old", version(Some("2024-10-21"))),
    ]);
    for (model, expected) in [
        ("v1/gpt-5.6", "/openai/v1/responses"),
        ("v1/team-gpt-5-6-eu", "/openai/v1/responses"),
        ("v1/my-deployment", "/openai/v1/chat/completions"),
        (
            "new/gpt-5.4",
            "/openai/responses?api-version=2025-04-01-preview",
        ),
        (
            "old/gpt-5.4",
            "/openai/deployments/gpt-5.4/chat/completions?api-version=2024-10-21",
        ),
        (
            "new/gpt-35-turbo",
            "/openai/deployments/gpt-35-turbo/chat/completions?api-version=2025-04-01-preview",
        ),
    ] {
        let client = ClientDialect::Messages;
        let (path, _) = sent_with_tool(&providers, &upstream, model, client).await;
        assert_eq!(path, expected, "{model}");
    }
}

#[tokio::test]
async fn a_deployment_of_any_name_supports_what_its_base_model_does() {
    let upstream = MockUpstream::start().await;
    let entry = |name: &str, provider: &str, model: &str, (kind, base): (&str, &str)| ModelConfig {
        base_model: Some(BaseModel::find(kind, provider, base).unwrap()),
        ..ModelConfig::new(name, provider).with_upstream_model(model)
    };
    let providers = Providers::new(ProvidersConfig {
        providers: vec![
            at(
                &upstream,
                "aws",
                ProviderKind::new(BedrockOptions {
                    region: Some("us-east-1".to_owned()),
                    ..BedrockOptions::default()
                }),
            ),
            at(
                &upstream,
                "foundry",
                ProviderKind::new(AzureAiOptions::default()),
            )
            .with_base_url(format!("{}/openai/v1", upstream.url())),
            at(
                &upstream,
                "azure",
                ProviderKind::new(AzureOptions::default()),
            ),
        ],
        models: vec![
            entry(
                "profile",
                "aws",
                "arn:aws:bedrock:us-east-1:1:application-inference-profile/x1",
                ("bedrock", "us.anthropic.claude-opus-4-7"),
            ),
            entry(
                "claude",
                "foundry",
                "prod-claude",
                ("azure_ai", "anthropic/claude-opus-4-7"),
            ),
            entry("gpt", "azure", "prod-chat", ("azure", "gpt-5.6")),
        ],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    })
    .unwrap();
    for model in ["profile", "claude"] {
        // Both are called in Anthropic's API: they get a response of it.
        let (body, dropped) = sent(&providers, &upstream, model).await;
        assert_eq!(body.get("temperature"), None, "{model}");
        assert_eq!(dropped, ["temperature"], "{model}");
        assert_eq!(body["max_tokens"], 128_000, "{model}");
    }
    let client = ClientDialect::Messages;
    let (path, body) = sent_with_tool(&providers, &upstream, "gpt", client).await;
    assert_eq!(path, "/openai/v1/responses");
    assert_eq!(body["model"], "prod-chat");
}

#[tokio::test]
async fn mistrals_rules_hold_for_its_kind_at_any_address_and_for_any_name() {
    let upstream = MockUpstream::start().await;
    let kind = ProviderKind::from_name("mistral").unwrap();
    let providers = common::providers([at(&upstream, "mistral", kind)]);
    upstream.respond(MockResponse::json(200, CHAT_RESPONSE));
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_01", "name": "look", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_01", "content": "3"},
            {"type": "text", "text": "A reminder."}]},
    ]});
    let request = prowess_wire::read_request(ClientDialect::Messages, body.to_string().as_bytes());
    let route = providers.route("mistral/my-own").unwrap();
    let credentials = ClientCredentials::default();
    route.call(&request.unwrap(), &credentials).await.unwrap();
    let sent: Value = serde_json::from_str(upstream.next_request().await.text()).unwrap();
    let roles: Vec<_> = sent["messages"].as_array().unwrap().iter().collect();
    let roles: Vec<_> = roles.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
    let id = sent["messages"][2]["tool_call_id"].as_str().unwrap();
    assert_eq!(sent["messages"][1]["tool_calls"][0]["id"], id);
    assert_eq!(id.len(), 9, "{id}");
}

#[tokio::test]
async fn azure_is_sent_the_fields_that_its_version_has() {
    let upstream = MockUpstream::start().await;
    let version = |version: &str| {
        ProviderKind::new(AzureOptions {
            api_version: Some(version.to_owned()),
            ..AzureOptions::default()
        })
    };
    let providers = common::providers([
        at(&upstream, "first", version("2024-06-01")),
        at(&upstream, "second", version("2024-10-21")),
        at(&upstream, "third", version("2024-12-01-preview")),
    ]);
    let limits = ["max_tokens", "max_completion_tokens"];
    for (provider, limit, has_effort) in [
        ("first", limits[0], false),
        ("second", limits[1], false),
        ("third", limits[1], true),
    ] {
        let model = format!("{provider}/my-deployment");
        let client = ClientDialect::Messages;
        let (_, body) = sent_with_tool(&providers, &upstream, &model, client).await;
        for key in limits {
            assert_eq!(body.get(key).is_some(), key == limit, "{model} {key}");
        }
        let effort = body.get("reasoning_effort");
        assert_eq!(effort.is_some(), has_effort, "{model}");
    }
}
