//! Every client dialect with every vendor, complete and streamed.

use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;

use crate::bodies::{CHAT, CHAT_STREAM, MESSAGES, MESSAGES_STREAM, question};
use crate::gateway::{Gateway, path};

const CLIENTS: [(&str, ClientDialect); 3] = [
    ("messages", ClientDialect::Messages),
    ("chat", ClientDialect::Chat),
    ("responses", ClientDialect::Responses),
];

/// The upstream request and the client's response.
async fn exchange(client: ClientDialect, provider: &str, stream: bool) -> String {
    let gateway = Gateway::start().await;
    gateway.upstream.respond(match (provider, stream) {
        ("ant", false) => MockResponse::json(200, MESSAGES),
        ("ant", true) => MockResponse::sse(MESSAGES_STREAM).in_chunks(50),
        (_, false) => MockResponse::json(200, CHAT),
        (_, true) => MockResponse::sse(CHAT_STREAM).in_chunks(50),
    });
    let request = question(client, &format!("{provider}/m1"), stream);
    let answer = gateway.post(path(client), request.to_string()).await;
    let sent = gateway.upstream.next_request().await;
    let body: serde_json::Value = serde_json::from_str(sent.text()).unwrap();
    format!(
        "> {} {}\n> {body}\n\n{}",
        sent.method,
        sent.path,
        answer.render()
    )
}

#[tokio::test]
async fn every_client_talks_to_every_vendor() {
    for (name, client) in CLIENTS {
        for provider in ["ant", "oai"] {
            let whole = exchange(client, provider, false).await;
            insta::assert_snapshot!(format!("{name}_to_{provider}"), whole);
            let streamed = exchange(client, provider, true).await;
            insta::assert_snapshot!(format!("{name}_to_{provider}_streamed"), streamed);
        }
    }
}

#[tokio::test]
async fn where_models_are_called_other_methods_learn_which_one_is_allowed() {
    let gateway = Gateway::start().await;
    for path in [
        "/v1/messages",
        "/anthropic/v1/messages/count_tokens",
        "/v1/v1/responses",
        "/v1/responses/input_tokens",
        "/openai/v1/responses/compact",
    ] {
        let answer = gateway.get(path, &[]).await;
        assert_eq!(answer.status, 405, "{path}: {}", answer.text());
        assert_eq!(answer.header("allow"), Some("POST"), "{path}");
        let named = format!("method GET not allowed for {path}");
        assert!(answer.text().contains(&named), "{}", answer.text());
        assert!(answer.header("request-id").unwrap().starts_with("req_"));
    }
}

#[tokio::test]
async fn a_scripted_model_answers_every_client() {
    let gateway = Gateway::start().await;
    for (_, client) in CLIENTS {
        for stream in [false, true] {
            let request = question(client, "stage/hero", stream).to_string();
            let answer = gateway.post(path(client), request).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let repeated = answer.text().contains("You said: Weather in Bern?");
            assert!(repeated, "{}", answer.text());
            let kind = answer.header("content-type").unwrap();
            assert_eq!(kind.starts_with("text/event-stream"), stream, "{kind}");
        }
    }
}

#[tokio::test]
async fn the_same_is_found_below_every_mount() {
    let gateway = Gateway::start().await;
    for (_, client) in CLIENTS {
        let request = question(client, "stage/hero", false).to_string();
        let at_root = gateway.post(path(client), request.clone()).await.status;
        assert_eq!(at_root, 200);
        for mount in ["/anthropic", "/openai", "/v1"] {
            let path = format!("{mount}{}", path(client));
            assert_eq!(
                gateway.post(&path, request.clone()).await.status,
                200,
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn unsupported_fields_are_named_in_a_header() {
    let gateway = Gateway::start().await;
    gateway.upstream.respond(MockResponse::json(200, CHAT));
    let mut request = question(ClientDialect::Messages, "oai/m1", false);
    request["top_k"] = 5.into();
    let answer = gateway.post("/v1/messages", request.to_string()).await;
    assert_eq!(answer.header("prowess-dropped"), Some("top_k"));
}

#[tokio::test]
async fn requests_are_counted_by_route_and_status() {
    let gateway = Gateway::start().await;
    for (model, status) in [("stage/hero", 200), ("nobody/hero", 404)] {
        let request = question(ClientDialect::Chat, model, false).to_string();
        gateway.post("/v1/chat/completions", request).await;
        let counted = gateway.get("/metrics", &[]).await;
        let line = format!(r#"route="/v1/chat/completions",status="{status}""#);
        assert!(counted.text().contains(&line), "{}", counted.text());
    }
}
