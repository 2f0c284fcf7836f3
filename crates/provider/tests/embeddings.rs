//! Embeddings of each kind of provider: what it is sent, and what comes back.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use common::*;
use prowess_provider::config::{
    AnthropicOptions, AwsKeys, AzureOptions, BedrockOptions, GeminiOptions, ModelConfig,
    OpenAiOptions, ProviderConfig, ProviderKind, ProvidersConfig, VertexOptions,
};
use prowess_provider::{
    CallError, ClientCredentials, Env, ForwardOutcome, KeySource, ModelTask, Providers, Route,
};
use prowess_testkit::embedding_vendors::{self, vector};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;
use prowess_wire::embeddings::{EmbeddingPurpose, EmbeddingRequest};

const TEXTS: [&str; 2] = ["a small text", "another"];

fn request() -> EmbeddingRequest {
    let texts = TEXTS.map(str::to_owned);
    EmbeddingRequest::new(texts.to_vec(), EmbeddingPurpose::Unspecified)
}

fn route(upstream: &MockUpstream, kind: ProviderKind, model: &str) -> Route {
    let config = ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("p", kind)
            .with_base_url(upstream.url())
            .with_api_key(KEY)
    };
    providers([config]).route(&format!("p/{model}")).unwrap()
}

fn vertex() -> ProviderKind {
    ProviderKind::new(VertexOptions {
        project: Some("proj".to_owned()),
        location: Some("europe-west1".to_owned()),
        ..VertexOptions::default()
    })
}

fn bedrock() -> ProviderKind {
    ProviderKind::new(BedrockOptions {
        region: Some("eu-central-1".to_owned()),
        ..BedrockOptions::default()
    })
}

async fn start() -> MockUpstream {
    let upstream = MockUpstream::start().await;
    upstream.respond_with(embedding_vendors::respond);
    upstream
}

#[tokio::test]
async fn each_kind_is_called_at_its_own_path() {
    let azure = |api_version: Option<&str>| {
        ProviderKind::new(AzureOptions {
            api_version: api_version.map(str::to_owned),
            ..AzureOptions::default()
        })
    };
    let google = "/v1/projects/proj/locations/europe-west1/publishers/google/models";
    let cases = [
        (
            ProviderKind::new(OpenAiOptions::default()),
            "m1",
            "/embeddings".to_owned(),
            ("authorization", "Bearer sk-test-0123456789"),
            (1, Some(5)),
        ),
        (
            azure(None),
            "m1",
            "/openai/v1/embeddings".to_owned(),
            ("api-key", KEY),
            (1, Some(5)),
        ),
        (
            azure(Some("2024-10-21")),
            "m1",
            "/openai/deployments/m1/embeddings?api-version=2024-10-21".to_owned(),
            ("api-key", KEY),
            (1, Some(5)),
        ),
        (
            ProviderKind::new(GeminiOptions::default()),
            "gemini-embedding-001",
            "/v1beta/models/gemini-embedding-001:batchEmbedContents".to_owned(),
            ("x-goog-api-key", KEY),
            // It counts nothing: an estimate.
            (1, None),
        ),
        (
            vertex(),
            "text-embedding-005",
            format!("{google}/text-embedding-005:predict"),
            ("authorization", "Bearer sk-test-0123456789"),
            (1, Some(10)),
        ),
        (
            bedrock(),
            "amazon.titan-embed-text-v2:0",
            "/model/amazon.titan-embed-text-v2:0/invoke".to_owned(),
            ("authorization", "Bearer sk-test-0123456789"),
            (2, Some(10)),
        ),
        (
            bedrock(),
            "cohere.embed-multilingual-v3",
            "/model/cohere.embed-multilingual-v3/invoke".to_owned(),
            ("authorization", "Bearer sk-test-0123456789"),
            (1, Some(7)),
        ),
    ];
    for (kind, model, path, (header, value), (calls, tokens)) in cases {
        let upstream = start().await;
        let route = route(&upstream, kind, model);
        let credentials = ClientCredentials::default();
        let reply = route.embed(&request(), &credentials).await.unwrap();
        assert_eq!(reply.response.vectors, TEXTS.map(vector), "{model}");
        assert_eq!(reply.model, model);
        assert_eq!(reply.estimated, tokens.is_none(), "{model}");
        assert_eq!(reply.response.input_tokens, tokens.or(Some(5)), "{model}");
        let sent = upstream.requests().await;
        assert_eq!(sent.len(), calls, "{model}");
        for request in &sent {
            assert_eq!(request.path.replace("%3A", ":"), path);
            assert_eq!(request.header(header), Some(value), "{model}");
        }
    }
}

#[tokio::test]
async fn bedrock_is_sent_a_signature_without_a_bearer_token() {
    let upstream = start().await;
    let kind = ProviderKind::new(BedrockOptions {
        region: Some("eu-central-1".to_owned()),
        keys: Some(AwsKeys {
            access_key_id: KeySource::parse("AKIDEXAMPLE"),
            secret_access_key: KeySource::parse("secret"),
            session_token: None,
        }),
        ..BedrockOptions::default()
    });
    let config = ProviderConfig::new("p", kind).with_base_url(upstream.url());
    let providers = providers([config]);
    let route = providers.route("p/amazon.titan-embed-text-v2:0").unwrap();
    let credentials = ClientCredentials::default();
    route.embed(&request(), &credentials).await.unwrap();
    let sent = upstream.next_request().await;
    let signature = sent.header("authorization").unwrap();
    assert!(signature.starts_with("AWS4-HMAC-SHA256"), "{signature}");
}

#[tokio::test]
async fn a_client_of_openais_api_passes_byte_for_byte() {
    let upstream = start().await;
    let kind = ProviderKind::new(OpenAiOptions::default());
    let route = route(&upstream, kind, "m1");
    // Spaces and an unknown field stay; only the model's name changes.
    let body = r#"{"model": "p/m1",  "input": [[1, 2], [3]], "new_field": {"a": 1}}"#;
    let credentials = ClientCredentials::default();
    let outcome = forward(
        &route,
        ClientDialect::Chat,
        ModelTask::Embed,
        body,
        &credentials,
    );
    let passed = passed(outcome.await.unwrap());
    assert_eq!(
        passed.usage.as_ref().map(|usage| usage.input_tokens),
        Some(5)
    );
    let sent = upstream.next_request().await;
    assert_eq!(sent.text(), body.replace("p/m1", "m1"));
    let (bytes, error) = drain(passed.body).await;
    assert_eq!(error, None);
    let answer: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(answer["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn models_without_embeddings_refuse_and_leave_it_to_a_fallback() {
    let upstream = start().await;
    let anthropic = ProviderKind::new(AnthropicOptions::default());
    let credentials = ClientCredentials::default();
    for (kind, model) in [
        (anthropic.clone(), "claude-x"),
        (vertex(), "claude-x"),
        (bedrock(), "amazon.nova-pro-v1:0"),
    ] {
        let route = route(&upstream, kind, model);
        let error = route.embed(&request(), &credentials).await.unwrap_err();
        assert_eq!(error.to_api_error().status, 400, "{model}");
        assert_eq!(error.code(), "unsupported-by-provider");
    }
    assert_eq!(upstream.requests().await, []);
    let at = |name: &str, kind| {
        ProviderConfig::new(name, kind)
            .with_base_url(upstream.url())
            .with_api_key(KEY)
    };
    let gemini = ProviderKind::new(GeminiOptions::default());
    let providers = Providers::new(ProvidersConfig {
        providers: vec![at("ant", anthropic), at("gem", gemini)],
        models: vec![ModelConfig::new("both", "ant").with_fallbacks(["gem/m1"])],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    });
    let route = providers.unwrap().route("both").unwrap();
    let reply = route.embed(&request(), &credentials).await.unwrap();
    assert_eq!(reply.provider, "gem");
    let alone = route.without_fallbacks();
    assert!(alone.embed(&request(), &credentials).await.is_err());
}

#[tokio::test]
async fn failures_are_retried_and_then_reported() {
    let upstream = start().await;
    let kind = ProviderKind::new(GeminiOptions::default());
    let overloaded = r#"{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}"#;
    upstream.respond(MockResponse::json(503, overloaded));
    let credentials = ClientCredentials::default();
    let route = route(&upstream, kind, "m1");
    let reply = route.embed(&request(), &credentials).await;
    assert_eq!(reply.unwrap().response.vectors.len(), 2);
    assert_eq!(upstream.requests().await.len(), 2);
    upstream.respond_always(MockResponse::json(
        200,
        r#"{"embeddings":[{"values":[1]}]}"#,
    ));
    let reply = route.embed(&request(), &credentials).await;
    let error = reply.unwrap_err();
    assert!(
        matches!(error, CallError::MalformedResponse { .. }),
        "{error}"
    );
    let wrong = r#"{"error":{"code":400,"message":"too long","status":"INVALID_ARGUMENT"}}"#;
    upstream.respond_always(MockResponse::json(400, wrong));
    let reply = route.embed(&request(), &credentials).await;
    assert_eq!(reply.unwrap_err().to_string(), "too long");
}

#[tokio::test]
async fn a_scripted_model_has_similar_vectors_for_similar_texts() {
    let script = "[embeddings]\ndimensions = 64\nsynonyms = [[\"car\", \"automobile\"]]\n";
    let providers = providers([scripted(script)]);
    let route = providers.route("stage/m1").unwrap();
    let texts = ["Wash the car", "wash the automobile!", "Bake a cake"].map(str::to_owned);
    let request = EmbeddingRequest::new(texts.to_vec(), EmbeddingPurpose::Unspecified);
    let credentials = ClientCredentials::default();
    let reply = route.embed(&request, &credentials).await.unwrap();
    let [first, same, other] = reply.response.vectors.as_slice() else {
        panic!("{reply:?}");
    };
    assert_eq!(first.len(), 64);
    assert_eq!(first, same);
    let dot: f32 = first.iter().zip(other).map(|(a, b)| a * b).sum();
    assert!(dot.abs() < 0.5, "{dot}");
    let body = r#"{"model": "stage/m1", "input": "a"}"#;
    let (chat, task) = (ClientDialect::Chat, ModelTask::Embed);
    let outcome = forward(&route, chat, task, body, &credentials).await;
    assert!(matches!(outcome.unwrap(), ForwardOutcome::Embedded { .. }));
    let failing = "[embeddings]\nerror = { status = 503, message = \"down\" }\n";
    let providers = common::providers([scripted(failing)]);
    let route = providers.route("stage/m1").unwrap();
    let failed = forward(&route, chat, task, body, &credentials).await;
    assert_eq!(failed.unwrap_err().to_string(), "down");
}
