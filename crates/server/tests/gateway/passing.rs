//! Where client and upstream use the same dialect, every byte passes unchanged.

use prowess_server::ServerSettings;
use prowess_testkit::upstream::MockResponse;

use crate::bodies::{CHAT, CHAT_STREAM, MESSAGES, MESSAGES_STREAM};
use crate::gateway::{Gateway, KEY};

/// In a format that no serializer would write.
const ODD: &str = "{ \"model\" : \"NAME\",\n \"max_tokens\":5, \"stream\": STREAM, \"big\": 12345678901234567890123,\t\"messages\":[{\"role\":\"user\",\"content\":\"Hell\\u00f6\"}]}\n";

fn odd(name: &str, stream: bool) -> String {
    ODD.replace("NAME", name)
        .replace("STREAM", &stream.to_string())
}

#[tokio::test]
async fn bodies_and_streams_pass_byte_for_byte_but_for_model_and_key() {
    for (path, model, body, stream) in [
        ("/v1/messages", "ant/m1", MESSAGES, MESSAGES_STREAM),
        ("/v1/chat/completions", "oai/m1", CHAT, CHAT_STREAM),
    ] {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(MockResponse::json(200, body));
        let answer = gateway.post(path, odd(model, false)).await;
        assert_eq!(answer.text(), body);
        let sent = gateway.upstream.next_request().await;
        assert_eq!(sent.text(), odd("m1", false));
        assert_eq!(sent.path, path);

        gateway
            .upstream
            .respond(MockResponse::sse(stream).in_chunks(7));
        let answer = gateway.post(path, odd(model, true)).await;
        assert_eq!(answer.text(), stream);
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        assert_eq!(
            gateway.upstream.next_request().await.text(),
            odd("m1", true)
        );
    }
}

#[tokio::test]
async fn tokens_are_counted_by_the_upstream_that_can() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond(MockResponse::json(200, r#"{"input_tokens": 7}"#));
    let path = "/v1/messages/count_tokens";
    let answer = gateway.post(path, odd("ant/m1", false)).await;
    assert_eq!(answer.text(), r#"{"input_tokens": 7}"#);
    assert_eq!(gateway.upstream.next_request().await.path, path);
    assert_eq!(answer.header("prowess-estimated"), None);
    // Without a counting endpoint the count is an estimate, and marked as such.
    for model in ["oai/m1", "stage/hero"] {
        let estimate = gateway.post(path, odd(model, false)).await;
        assert_eq!(estimate.status, 200, "{}", estimate.text());
        assert_eq!(estimate.header("prowess-estimated"), Some("true"));
        let tokens = estimate.json()["input_tokens"].as_u64().unwrap();
        assert!((1..20).contains(&tokens), "{tokens}");
    }
    assert!(gateway.upstream.requests().await.is_empty());
    let request = r#"{"model":"stage/hero","input":"Hello"}"#;
    let estimate = gateway.post("/v1/responses/input_tokens", request).await;
    assert_eq!(estimate.json()["object"], "response.input_tokens");
}

#[tokio::test]
async fn headers_travel_both_ways_but_credentials_and_ours_do_not() {
    let gateway = Gateway::start().await;
    let answer = MockResponse::json(200, MESSAGES)
        .header("request-id", "req_of_the_upstream")
        .header("set-cookie", "a=b");
    gateway.upstream.respond(answer);
    let headers = [
        ("x-api-key", "of-the-client"),
        ("authorization", "Bearer of-the-client"),
        ("prowess-tenant", "default"),
        ("prowess-provider-key", "brought-along"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "a,b"),
    ];
    let answer = gateway
        .send("/v1/messages", &headers, odd("ant/m1", false))
        .await;
    assert_eq!(answer.header("request-id"), Some("req_of_the_upstream"));
    assert_eq!(answer.header("set-cookie"), None);
    let sent = gateway.upstream.next_request().await;
    assert_eq!(sent.header("x-api-key"), Some(KEY));
    assert_eq!(sent.header("anthropic-beta"), Some("a,b"));
    let names = ["authorization", "prowess-tenant", "prowess-provider-key"];
    assert!(names.iter().all(|name| sent.header(name).is_none()));
}

#[tokio::test]
async fn a_client_may_bring_a_key_only_where_the_provider_allows_it() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, MESSAGES));
    for (model, key) in [("open/m1", "brought-along"), ("ant/m1", KEY)] {
        let headers = [("prowess-provider-key", "brought-along")];
        let body = odd(model, false);
        let answer = gateway.send("/v1/messages", &headers, body).await;
        assert_eq!(answer.status, 200);
        let sent = gateway.upstream.next_request().await;
        assert_eq!(sent.header("x-api-key"), Some(key), "{model}");
    }
}

#[tokio::test]
async fn a_body_of_ten_megabytes_passes_and_one_over_the_limit_does_not() {
    let gateway = Gateway::start().await;
    gateway.upstream.respond(MockResponse::json(200, MESSAGES));
    let big = odd("ant/m1", false).replace("Hell", &"Hell".repeat(2_500_000));
    let answer = gateway.post("/v1/messages", big.clone()).await;
    assert_eq!(answer.status, 200);
    let sent = gateway.upstream.next_request().await;
    assert!(sent.text() == big.replace("ant/m1", "m1"));

    let strict = Gateway::with(ServerSettings {
        request_bytes: 1_000,
        ..ServerSettings::default()
    })
    .await;
    let answer = strict.post("/v1/messages", big).await;
    insta::assert_snapshot!(answer.render(), @r#"
    413 application/json
    {
      "type": "error",
      "request_id": "req_…",
      "error": {
        "type": "request_too_large",
        "message": "the body has more than 1000 bytes; send less in one request",
        "details": {
          "error_code": "body-too-large"
        }
      }
    }
    "#);
    assert!(strict.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn a_text_with_the_prefix_of_a_compaction_passes_byte_for_byte() {
    let gateway = Gateway::start().await;
    for input in [
        r#""What does  pw1c.AAAA mean?""#,
        r#"[ {"role":"user", "content":"Hell\u00f6 pw1c.AAAA","id":"msg_1"},{"type":"reasoning","id":"rs_1","summary":[], "encrypted_content":"pw1c.AAAA" } ]"#,
        r#"[{"type":"compaction","id":"cmp_1","encrypted_content":"gAAAA pw1c."} ,{"role":"user","content":"on"}]"#,
    ] {
        let body = |model: &str| {
            format!(
                "{{ \"model\" : \"{model}\",\n \"big\": 12345678901234567890123,\t\"input\": {input}}}\n"
            )
        };
        gateway.upstream.respond(MockResponse::json(200, "{}"));
        let answer = gateway.post("/v1/responses", body("rsp/m1")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(gateway.upstream.next_request().await.text(), body("m1"));
    }
}
