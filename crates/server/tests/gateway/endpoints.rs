//! Endpoints besides conversations: images, audio, moderations, reranking, completions, and
//! paths of providers.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use prowess_provider::config::{
    ModelConfig, OpenAiOptions, Price, ProviderConfig, ProviderKind, ProvidersConfig,
};
use prowess_provider::{Env, Providers};
use prowess_server::ServerSettings;
use prowess_store::{BudgetPeriod, KeyBudget, KeyLimits, KeyScope};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use serde_json::{Value, json};

use crate::gateway::{ClientResponse, Gateway, KEY};

const BOUNDARY: &str = "pWb0undary";

fn field(name: &str, value: &str) -> String {
    format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
}

fn file(content: &str) -> String {
    format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.mp3\"\r\n\
         Content-Type: audio/mpeg\r\n\r\n{content}\r\n"
    )
}

fn form(parts: &[String]) -> String {
    format!("{}--{BOUNDARY}--\r\n", parts.concat())
}

async fn send_form(gateway: &Gateway, path: &str, body: impl Into<Body>) -> ClientResponse {
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let headers = [("content-type", kind.as_str())];
    gateway.request("POST", path, &headers, body).await
}

/// Sums of usage by model.
async fn usage(gateway: &Gateway) -> Vec<Value> {
    gateway.app.flush().await;
    let usage = gateway.get("/v1/usage?by=model", &[]).await.json();
    usage["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn json_passes_with_the_providers_name_for_the_model_and_its_key() {
    let gateway = Gateway::start().await;
    for (path, upstream) in [
        ("/v1/images/generations", "/v1/images/generations"),
        ("/openai/v1/audio/speech", "/v1/audio/speech"),
        ("/v1/v1/moderations", "/v1/moderations"),
        ("/openai/v1/decisions", "/v1/decisions"),
        ("/rerank", "/v1/rerank"),
        ("/v2/rerank", "/v2/rerank"),
        ("/v1/completions", "/v1/completions"),
    ] {
        let answer = r#"{ "id" : "x",  "data": [1.0] }"#;
        gateway.upstream.respond(MockResponse::json(200, answer));
        let body = r#"{ "x" : 1.50, "model":"oai/m1" , "y": "ü" }"#;
        let headers = [("x-title", "mine"), ("openai-beta", "a")];
        let got = gateway.send(path, &headers, body).await;
        assert_eq!((got.status.as_u16(), got.text()), (200, answer), "{path}");
        let sent = gateway.upstream.next_request().await;
        assert_eq!(
            (sent.method.as_str(), sent.path.as_str()),
            ("POST", upstream)
        );
        assert_eq!(sent.text(), body.replace("oai/m1", "m1"));
        assert_eq!(
            sent.header("authorization"),
            Some(format!("Bearer {KEY}").as_str())
        );
        assert_eq!(sent.header("openai-beta"), Some("a"));
    }
}

#[tokio::test]
async fn decisions_are_metered_by_their_token_counts() {
    let gateway = Gateway::start().await;
    let answer = r#"{"answers":[{"type":"predicate","probability":0.9,"name":null}],"model":"m1","usage":{"input_tokens":14,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":18}}"#;
    gateway.upstream.respond(MockResponse::json(200, answer));
    let body = r#"{"model":"oai/m1","input":"It rains.","questions":[{"type":"predicate"}]}"#;
    let got = gateway.send("/v1/decisions", &[], body).await;
    assert_eq!((got.status.as_u16(), got.text()), (200, answer));
    let sums = usage(&gateway).await;
    let counts = (&sums[0]["input_tokens"], &sums[0]["output_tokens"]);
    assert_eq!(counts, (&json!(14), &json!(4)));
}

#[tokio::test]
async fn a_form_passes_whether_the_model_precedes_the_file_or_follows_it() {
    let gateway = Gateway::start().await;
    let (before, after) = (field("model", "oai/m1"), field("language", "de"));
    for parts in [
        [before.clone(), file("sound"), after.clone()],
        [file("sound"), after.clone(), before.clone()],
        // More than is read before it is sent on.
        [before.clone(), file(&"x".repeat(3 << 20)), after.clone()],
        [file(&"x".repeat(3 << 20)), before.clone(), after.clone()],
    ] {
        let answer =
            r#"{"text":"hi","usage":{"type":"tokens","input_tokens":14,"output_tokens":4}}"#;
        gateway.upstream.respond(MockResponse::json(200, answer));
        let body = form(&parts);
        let chunks: Vec<_> = body
            .as_bytes()
            .chunks(100_000)
            .map(Bytes::copy_from_slice)
            .collect();
        let chunks = stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>));
        let got = send_form(
            &gateway,
            "/v1/audio/transcriptions",
            Body::from_stream(chunks),
        )
        .await;
        assert_eq!((got.status.as_u16(), got.text()), (200, answer));
        let sent = gateway.upstream.next_request().await;
        assert_eq!(sent.path, "/v1/audio/transcriptions");
        assert_eq!(sent.text(), body.replace("oai/m1", "m1"));
        let kind = sent.header("content-type").unwrap();
        assert_eq!(kind, format!("multipart/form-data; boundary={BOUNDARY}"));
    }
    let sums = usage(&gateway).await;
    assert_eq!(sums[0]["model"], "oai/m1");
    assert_eq!(
        (
            &sums[0]["requests"],
            &sums[0]["input_tokens"],
            &sums[0]["output_tokens"]
        ),
        (&json!(4), &json!(56), &json!(16)),
    );
}

#[tokio::test]
async fn a_form_with_two_models_reaches_no_upstream_whole() {
    let gateway = Gateway::start().await;
    let model = |name: &str| field("model", name);
    let small = form(&[model("oai/m1"), file("a"), model("oai/m2")]);
    let got = send_form(&gateway, "/v1/audio/transcriptions", small).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (400, "form-invalid")
    );
    assert!(gateway.upstream.requests().await.is_empty());
    // The second one is found after the first bytes were sent.
    gateway
        .upstream
        .respond_always(MockResponse::json(200, "{}"));
    let large = form(&[model("oai/m1"), file(&"x".repeat(3 << 20)), model("oai/m2")]);
    let got = send_form(&gateway, "/v1/audio/transcriptions", large).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (400, "form-invalid"),
        "{}",
        got.text()
    );
    for (body, code) in [
        (form(&[file("a")]), "missing-field"),
        (form(&[model("nobody/m")]), "model-not-found"),
        (form(&[model("ant/m1")]), "unsupported-by-provider"),
        ("not a form".to_owned(), "form-invalid"),
    ] {
        let got = send_form(&gateway, "/v1/images/edits", body.clone()).await;
        assert!(got.status.is_client_error(), "{body}");
        assert_eq!(got.code(), code, "{body}");
    }
}

#[tokio::test]
async fn a_form_that_names_its_model_too_late_is_refused() {
    let gateway = Gateway::with(ServerSettings {
        request_bytes: 1 << 20,
        ..ServerSettings::default()
    })
    .await;
    let late = form(&[file(&"x".repeat(2 << 20)), field("model", "oai/m1")]);
    let got = send_form(&gateway, "/v1/audio/transcriptions", late).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (413, "body-too-large")
    );
    assert!(got.text().contains("before the file"), "{}", got.text());
}

#[tokio::test]
async fn what_has_no_token_counts_is_counted_as_a_request_without_a_price() {
    let gateway = Gateway::start().await;
    let sound = vec![0_u8, 255, 1, 2];
    let speech = MockResponse::bytes(200, "audio/mpeg", sound.clone());
    gateway.upstream.respond(speech);
    let body = json!({"model": "wild-tts", "input": "hi", "voice": "a"}).to_string();
    let got = gateway.send("/v1/audio/speech", &[], body).await;
    assert_eq!(
        (got.status.as_u16(), got.header("content-type")),
        (200, Some("audio/mpeg"))
    );
    assert_eq!(got.body, sound);
    // A stream of text without counts is estimated.
    let events = "data: {\"choices\":[{\"text\":\"one\"}]}\n\ndata: [DONE]\n\n";
    gateway
        .upstream
        .respond(MockResponse::sse(events).in_chunks(7));
    let body = json!({"model": "wild-text", "prompt": "hi", "stream": true}).to_string();
    let got = gateway.send("/v1/completions", &[], body).await;
    assert_eq!(got.text(), events);
    let sums = usage(&gateway).await;
    let of = |model: &str| sums.iter().find(|sum| sum["model"] == model).unwrap();
    assert_eq!(of("wild-tts")["requests_without_price"], 1);
    assert_eq!(of("wild-text")["requests_estimated"], 1);
}

#[tokio::test]
async fn what_is_counted_otherwise_is_not_counted_as_nothing() {
    let upstream = MockUpstream::start().await;
    let oai = ProviderConfig::new("oai", ProviderKind::new(OpenAiOptions::default()))
        .with_base_url(format!("{}/v1", upstream.url()))
        .with_api_key(KEY);
    let priced = ModelConfig {
        price: Some(Price {
            input: 3.0,
            output: 15.0,
            ..Price::default()
        }),
        ..ModelConfig::new("priced", "oai")
    };
    let providers = Providers::new(ProvidersConfig {
        providers: vec![oai],
        models: vec![priced],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    });
    let gateway = Gateway::with(ServerSettings {
        providers: Some(providers.unwrap()),
        ..ServerSettings::default()
    })
    .await;
    for (path, model, answer) in [
        (
            "/v1/audio/transcriptions",
            "priced",
            r#"{"text":"a","usage":{"type":"tokens","input_tokens":10,"output_tokens":5}}"#,
        ),
        // Seconds are no tokens.
        (
            "/v1/audio/transcriptions",
            "priced",
            r#"{"text":"a","usage":{"type":"duration","seconds":9}}"#,
        ),
        // A total alone is input.
        (
            "/v1/rerank",
            "oai/m1",
            r#"{"results":[],"usage":{"total_tokens":56}}"#,
        ),
        (
            "/v1/embeddings",
            "oai/m2",
            r#"{"object":"list","data":[],"model":"m2","usage":{"total_tokens":7}}"#,
        ),
    ] {
        upstream.respond(MockResponse::json(200, answer));
        let body = json!({"model": model, "input": "a"}).to_string();
        let got = gateway.send(path, &[], body).await;
        assert_eq!((got.status.as_u16(), got.text()), (200, answer), "{path}");
    }
    let sums = usage(&gateway).await;
    let of = |model: &str| sums.iter().find(|sum| sum["model"] == model).unwrap();
    assert!(of("priced")["cost"].as_f64().unwrap() > 0.0);
    assert_eq!(of("priced")["requests_without_price"], 1);
    assert_eq!(of("oai/m1")["input_tokens"], 56);
    assert_eq!(of("oai/m2")["input_tokens"], 7);
}

#[tokio::test]
async fn errors_pass_and_are_in_openais_format() {
    let gateway = Gateway::start().await;
    let refusal = r#"{"error":{"message":"no such voice","type":"invalid_request_error","param":"voice","code":null}}"#;
    gateway.upstream.respond(MockResponse::json(400, refusal));
    let body = json!({"model": "oai/m1", "input": "a"}).to_string();
    let version = [("anthropic-version", "2023-06-01")];
    let got = gateway
        .send("/v1/audio/speech", &version, body.clone())
        .await;
    assert_eq!((got.status.as_u16(), got.text()), (400, refusal));
    // It is tried again where that may help.
    gateway
        .upstream
        .respond(MockResponse::json(503, r#"{"error":{"message":"busy"}}"#));
    gateway.upstream.respond(MockResponse::json(200, "{}"));
    let got = gateway.send("/v1/audio/speech", &version, body).await;
    assert_eq!(got.status, 200);
    for (body, status, code) in [
        ("{}", 400, "missing-field"),
        ("[]", 400, "invalid-json"),
        (
            r#"{"model":"oai/a","model":"oai/b"}"#,
            400,
            "repeated-field",
        ),
        (r#"{"model":"nobody/m1"}"#, 404, "model-not-found"),
        (r#"{"model":"ant/m1"}"#, 400, "unsupported-by-provider"),
        (r#"{"model":"stage/hero"}"#, 400, "unsupported-by-provider"),
    ] {
        let got = gateway.send("/v1/images/generations", &version, body).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (status, code),
            "{body}"
        );
    }
    let got = gateway.get("/v1/images/generations", &[]).await;
    assert_eq!(got.status, 405);
}

#[tokio::test]
async fn a_moderation_without_a_model_uses_the_apis_default() {
    let gateway = Gateway::start().await;
    let got = gateway
        .send("/v1/moderations", &[], r#"{"input":"x"}"#)
        .await;
    // No provider has it here.
    assert_eq!(got.code(), "model-not-found");
    assert!(
        got.text().contains("omni-moderation-latest"),
        "{}",
        got.text()
    );
}

#[tokio::test]
async fn keys_limits_and_budgets_apply() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, "{}"));
    let body = || json!({"model": "oai/m1", "prompt": "a"}).to_string();
    let send = async |key: &str| {
        let headers = [("x-api-key", key)];
        gateway
            .send("/v1/images/generations", &headers, body())
            .await
    };
    let reader = gateway
        .key("default", KeyScope::Read, &KeyLimits::default())
        .await;
    assert_eq!(send(&reader).await.code(), "key-scope");
    let other = KeyLimits {
        models: vec!["oai/m2".to_owned()],
        ..KeyLimits::default()
    };
    let other = gateway.key("default", KeyScope::Use, &other).await;
    assert_eq!(send(&other).await.code(), "model-not-allowed");
    let slow = KeyLimits {
        requests_per_minute: Some(1),
        ..KeyLimits::default()
    };
    let slow = gateway.key("default", KeyScope::Use, &slow).await;
    assert_eq!(send(&slow).await.status, 200);
    assert_eq!(send(&slow).await.code(), "rate_limit_exceeded");
    let poor = KeyLimits {
        budget: Some(KeyBudget {
            nanos: 0,
            period: BudgetPeriod::Ever,
        }),
        ..KeyLimits::default()
    };
    let poor = gateway.key("default", KeyScope::Use, &poor).await;
    assert_eq!(send(&poor).await.code(), "insufficient_quota");
    let rich = KeyLimits {
        budget: Some(KeyBudget {
            nanos: 1_000_000_000,
            period: BudgetPeriod::Day,
        }),
        ..KeyLimits::default()
    };
    let rich = gateway.key("default", KeyScope::Use, &rich).await;
    let got = send(&rich).await;
    assert_eq!(
        (got.status.as_u16(), got.header("prowess-unpriced")),
        (200, Some("true"))
    );
}

#[tokio::test]
async fn any_path_of_a_provider_passes_with_its_key() {
    let gateway = Gateway::start().await;
    let cases = [
        (
            "GET",
            "/providers/oai/v1/vector_stores?limit=2&after=a%20b",
            "/v1/vector_stores?limit=2&after=a%20b",
        ),
        ("GET", "/providers/oai/vector_stores", "/v1/vector_stores"),
        (
            "POST",
            "/providers/oai/v1/fine_tuning/jobs",
            "/v1/fine_tuning/jobs",
        ),
        ("DELETE", "/providers/oai/v1/files/a%2Fb", "/v1/files/a%2Fb"),
        ("PUT", "/providers/oai/v1/x:y", "/v1/x:y"),
        ("PATCH", "/providers/oai/v1/x", "/v1/x"),
    ];
    for (method, path, upstream) in cases {
        gateway
            .upstream
            .respond(MockResponse::json(201, "{ }").header("x-own", "1"));
        let body = if method == "GET" { "" } else { "a=b" };
        let headers = [
            ("x-api-key", "mine"),
            ("content-type", "text/odd"),
            ("cookie", "a=b"),
        ];
        let got = gateway.request(method, path, &headers, body).await;
        assert_eq!((got.status.as_u16(), got.text()), (201, "{ }"), "{path}");
        assert_eq!(got.header("x-own"), Some("1"));
        let sent = gateway.upstream.next_request().await;
        assert_eq!(
            (sent.method.as_str(), sent.path.as_str()),
            (method, upstream)
        );
        assert_eq!(sent.text(), body);
        assert_eq!(
            sent.header("authorization"),
            Some(format!("Bearer {KEY}").as_str())
        );
        assert_eq!(
            (sent.header("x-api-key"), sent.header("cookie")),
            (None, None)
        );
        assert_eq!(sent.header("content-type"), Some("text/odd"));
    }
    // Each kind has its own header, and a client's key in the query goes no further.
    for (path, header, upstream) in [
        ("/providers/ant/v1/files", "x-api-key", "/v1/files"),
        (
            "/providers/gem/v1beta/cachedContents?key=mine&a=1",
            "x-goog-api-key",
            "/v1beta/cachedContents?a=1",
        ),
    ] {
        gateway.upstream.respond(MockResponse::json(200, "{}"));
        assert_eq!(gateway.get(path, &[]).await.status, 200);
        let sent = gateway.upstream.next_request().await;
        assert_eq!(
            (sent.path.as_str(), sent.header(header)),
            (upstream, Some(KEY))
        );
    }
}

#[tokio::test]
async fn usage_of_a_providers_path_is_that_of_its_model() {
    let gateway = Gateway::start().await;
    let answer = r#"{"type":"message","usage":{"input_tokens":10,"output_tokens":5}}"#;
    gateway.upstream.respond(MockResponse::json(200, answer));
    let body = r#"{"model":"claude-sonnet-4-5", "messages":[]}"#;
    let got = gateway.send("/providers/ant/v1/messages", &[], body).await;
    assert_eq!(got.text(), answer);
    assert_eq!(gateway.upstream.next_request().await.text(), body);
    let sums = usage(&gateway).await;
    assert_eq!(sums[0]["model"], "ant/claude-sonnet-4-5");
    assert_eq!(
        (&sums[0]["input_tokens"], &sums[0]["output_tokens"]),
        (&json!(10), &json!(5))
    );
    assert_eq!(sums[0]["requests_without_price"], 0, "its price is known");
    assert!(sums[0]["cost"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn a_providers_path_takes_each_field_once() {
    let gateway = Gateway::start().await;
    let path = "/providers/oai/v1/chat/completions";
    let body = r#"{"model":"cheap","messages":[],"Model":"dear"}"#;
    let got = gateway.send(path, &[], body).await;
    assert_eq!(got.status, 400, "{}", got.text());
    assert!(got.text().contains("duplicate field"), "{}", got.text());
    // What cannot be read here may name a model where the upstream reads it.
    let many: String = (0..1_100).map(|n| format!(r#","f{n}":0"#)).collect();
    for body in [
        r#"{"model":"dear","x":NaN}"#.to_owned(),
        "\u{feff}{\"model\":\"dear\"}".to_owned(),
        format!(r#"{{"model":"dear"{many}}}"#),
    ] {
        let got = gateway.send(path, &[], body).await;
        assert_eq!(got.status, 400, "{}", got.text());
    }
    assert!(gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn a_providers_path_is_refused_to_whom_it_is_not_given() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, "{}"));
    let get = async |key: &str, path: &str| {
        let headers = [("x-api-key", key)];
        gateway.get(path, &headers).await
    };
    let path = "/providers/oai/v1/files";
    for scope in [KeyScope::Use, KeyScope::Admin] {
        let key = gateway.key("acme", scope, &KeyLimits::default()).await;
        assert_eq!(get(&key, path).await.code(), "key-scope", "{scope:?}");
    }
    let limits = KeyLimits::default();
    let key = gateway.key("acme", KeyScope::Providers, &limits).await;
    assert_eq!(get(&key, path).await.status, 200);
    let limited = KeyLimits {
        models: vec!["oai/m1".to_owned()],
        ..KeyLimits::default()
    };
    let limited = gateway.key("acme", KeyScope::Providers, &limited).await;
    assert_eq!(get(&limited, path).await.code(), "key-limited-to-models");
    for (path, status, code) in [
        ("/providers/nobody/v1/files", 404, "provider-not-found"),
        ("/providers/stage/v1/files", 400, "unsupported-by-provider"),
        (
            "/providers/oai/v1/%2e%2e/admin",
            400,
            "unsupported-by-provider",
        ),
        ("/providers/oai", 404, "route-not-found"),
    ] {
        let got = get(&key, path).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (status, code),
            "{path}"
        );
    }
    let upgrade = [
        ("x-api-key", key.as_str()),
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
    ];
    let got = gateway.get("/providers/oai/v1/realtime", &upgrade).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (501, "upgrade-unsupported")
    );
}

#[tokio::test]
async fn an_upload_to_a_providers_path_is_sent_as_it_arrives_with_its_length() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond(MockResponse::json(200, r#"{"id":"file-1"}"#));
    let body = form(&[field("purpose", "batch"), file(&"x".repeat(5 << 20))]);
    let length = body.len().to_string();
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let headers = [
        ("content-type", kind.as_str()),
        ("content-length", length.as_str()),
    ];
    let got = gateway
        .request("POST", "/providers/oai/v1/files", &headers, body.clone())
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
    let sent = gateway.upstream.next_request().await;
    assert_eq!(sent.header("content-length"), Some(length.as_str()));
    assert!(sent.text() == body, "the same bytes");
}
