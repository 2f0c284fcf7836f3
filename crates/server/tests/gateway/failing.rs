//! Every error is rendered in the client's dialect.

use prowess_server::{SecretString, ServerSettings};
use prowess_store::{KeyScope, NewKey, TenantId};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use prowess_wire::sse::SseParser;
use serde_json::Value;

use crate::bodies::{CHAT, CHAT_STREAM, MESSAGES, MESSAGES_STREAM, question};
use crate::gateway::{ClientResponse, Gateway, masked, path};

const CLIENTS: [ClientDialect; 3] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
];

/// Valid in each dialect, except for the tools.
const NO_TOOLS: &str =
    r#"{"model":"stage/hero","max_tokens":1,"messages":[],"input":[],"tools":3}"#;

fn ask(client: ClientDialect, model: &str, stream: bool) -> String {
    question(client, model, stream).to_string()
}

/// An error's type and message; panics if it is not of the client's dialect.
fn error_line(client: ClientDialect, answer: &ClientResponse) -> String {
    let body = answer.json();
    let error = &body["error"];
    if client == ClientDialect::Messages {
        assert_eq!(body["type"], "error", "{body}");
        assert!(body["request_id"].is_string(), "{body}");
    } else {
        assert!(error.get("code").is_some(), "{body}");
        assert!(error.get("param").is_some(), "{body}");
    }
    let text = |key: &str| error[key].as_str().unwrap().to_owned();
    format!("{} {}: {}", answer.status, text("type"), text("message"))
}

#[tokio::test]
async fn an_upstreams_error_is_rendered_in_the_clients_dialect() {
    let mut all = String::new();
    for client in CLIENTS {
        for (provider, status, body) in [
            (
                "ant",
                429,
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":"req_up"}"#,
            ),
            (
                "oai",
                429,
                r#"{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
            ),
            (
                "ant",
                500,
                r#"{"type":"error","error":{"type":"api_error","message":"broken"},"request_id":"req_up"}"#,
            ),
            (
                "oai",
                500,
                r#"{"error":{"message":"broken","type":"server_error","param":null,"code":null}}"#,
            ),
            ("oai", 502, "<html>Bad Gateway</html>"),
        ] {
            let gateway = Gateway::start().await;
            gateway
                .upstream
                .respond_always(MockResponse::json(status, body).header("retry-after", "0"));
            let whole = gateway
                .post(path(client), ask(client, &format!("{provider}/m1"), false))
                .await;
            let streamed = gateway
                .post(path(client), ask(client, &format!("{provider}/m1"), true))
                .await;
            let line = error_line(client, &whole);
            assert_eq!(line, error_line(client, &streamed));
            all.push_str(&format!("{client:?} from {provider}: {line}\n"));
        }
    }
    insta::assert_snapshot!(all, @"
    Messages from ant: 429 Too Many Requests rate_limit_error: slow down
    Messages from oai: 429 Too Many Requests rate_limit_error: slow down
    Messages from ant: 500 Internal Server Error api_error: broken
    Messages from oai: 500 Internal Server Error api_error: broken
    Messages from oai: 502 Bad Gateway api_error: the upstream answered 502: <html>Bad Gateway</html>
    Chat from ant: 429 Too Many Requests rate_limit_error: slow down
    Chat from oai: 429 Too Many Requests requests: slow down
    Chat from ant: 500 Internal Server Error server_error: broken
    Chat from oai: 500 Internal Server Error server_error: broken
    Chat from oai: 502 Bad Gateway server_error: the upstream answered 502: <html>Bad Gateway</html>
    Responses from ant: 429 Too Many Requests rate_limit_error: slow down
    Responses from oai: 429 Too Many Requests rate_limit_error: slow down
    Responses from ant: 500 Internal Server Error server_error: broken
    Responses from oai: 500 Internal Server Error server_error: broken
    Responses from oai: 502 Bad Gateway server_error: the upstream answered 502: <html>Bad Gateway</html>
    ");
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error_of_the_clients_dialect() {
    for (name, client) in [
        ("messages", ClientDialect::Messages),
        ("chat", ClientDialect::Chat),
        ("responses", ClientDialect::Responses),
    ] {
        for (provider, stream) in [("ant", MESSAGES_STREAM), ("oai", CHAT_STREAM)] {
            let gateway = Gateway::start().await;
            // In the middle of the second event.
            let cut = &stream[..stream.find("\n\n").unwrap() + 20];
            gateway.upstream.respond(MockResponse::sse(cut).cut_off());
            let request = ask(client, &format!("{provider}/m1"), true);
            let answer = gateway.post(path(client), request).await;
            assert_eq!(answer.status, 200);
            let last = answer.text().trim_end().rsplit("\n\n").next().unwrap();
            insta::assert_snapshot!(format!("{name}_cut_by_{provider}"), masked(last));
            // As SDKs do: they stop at an event that is not JSON.
            let (mut parser, mut events) = (SseParser::default(), Vec::new());
            parser.push(answer.text().as_bytes(), &mut events).unwrap();
            assert_eq!(parser.finish().unwrap(), None);
            for event in &events {
                if event.data != "[DONE]" {
                    serde_json::from_str::<Value>(&event.data).unwrap();
                }
            }
            assert!(events.len() > 1);
        }
    }
}

#[tokio::test]
async fn an_error_in_mid_stream_is_an_event_of_the_clients_dialect() {
    let gateway = Gateway::start().await;
    for client in CLIENTS {
        let request = ask(client, "stage/hero", true).replace("Weather in Bern?", "break");
        let answer = gateway.post(path(client), request).await;
        assert_eq!(answer.status, 200);
        assert!(
            answer.text().contains("and then it does not"),
            "{}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_becomes_an_error_while_it_still_can() {
    for (client, provider, body) in [
        (ClientDialect::Messages, "ant", MESSAGES),
        (ClientDialect::Chat, "oai", CHAT),
        (ClientDialect::Messages, "oai", CHAT),
        (ClientDialect::Responses, "ant", MESSAGES),
    ] {
        let gateway = Gateway::start().await;
        let half = &body[..body.len() / 2];
        gateway
            .upstream
            .respond_always(MockResponse::json(200, half).cut_off());
        let request = ask(client, &format!("{provider}/m1"), false);
        let answer = gateway.post(path(client), request).await;
        assert_eq!(answer.status, 502, "{}", answer.text());
        let line = error_line(client, &answer);
        assert!(line.contains("the connection broke"), "{line}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_json_is_an_error() {
    for client in [ClientDialect::Messages, ClientDialect::Responses] {
        let gateway = Gateway::start().await;
        gateway
            .upstream
            .respond_always(MockResponse::json(200, "{\"id\": \"chat"));
        let answer = gateway
            .post(path(client), ask(client, "oai/m1", false))
            .await;
        assert_eq!(answer.status, 502);
        error_line(client, &answer);
        gateway
            .upstream
            .respond_always(MockResponse::sse("data: {nonsense\n\n"));
        let answer = gateway
            .post(path(client), ask(client, "oai/m1", true))
            .await;
        assert!(answer.text().contains("upstream"), "{}", answer.text());
    }
}

#[tokio::test]
async fn an_unknown_model_is_a_404_that_names_it() {
    let gateway = Gateway::start().await;
    for client in CLIENTS {
        let answer = gateway.post(path(client), ask(client, "smal", false)).await;
        let line = error_line(client, &answer);
        assert_eq!(answer.status, 404);
        assert!(
            line.contains("unknown model \"smal\"; did you mean \"small\"?"),
            "{line}"
        );
    }
    let answer = gateway
        .post("/v1/messages", ask(ClientDialect::Messages, "smal", false))
        .await;
    insta::assert_snapshot!(answer.render(), @r#"
    404 application/json
    {
      "type": "error",
      "request_id": "req_…",
      "error": {
        "type": "not_found_error",
        "message": "unknown model \"smal\"; did you mean \"small\"?",
        "details": {
          "error_code": "model-not-found"
        }
      }
    }
    "#);
}

#[tokio::test]
async fn a_body_that_is_no_request_is_refused_in_the_dialect() {
    let gateway = Gateway::start().await;
    for client in CLIENTS {
        for (body, expected) in [
            ("", "not valid JSON"),
            ("[1]", "not valid JSON"),
            ("{\"messages\":[]}", "model: Field required"),
            (NO_TOOLS, "tools"),
        ] {
            let answer = gateway.post(path(client), body).await;
            let line = error_line(client, &answer);
            assert_eq!(answer.status, 400, "{line}");
            assert!(line.contains(expected), "{line}");
        }
    }
}

#[tokio::test]
async fn a_model_that_fails_is_replaced_by_its_fallback() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(500, "{}"));
    for client in CLIENTS {
        let answer = gateway
            .post(path(client), ask(client, "patient", false))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.text().contains("You said"), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_key_needs_the_scope_to_use_models() {
    let gateway = Gateway::with(ServerSettings {
        master_key: Some(SecretString::new("the-master-key-of-these-tests")),
        ..ServerSettings::default()
    })
    .await;
    let tenant = TenantId::default_tenant();
    for (scope, status) in [
        (KeyScope::Read, 403),
        (KeyScope::Publish, 403),
        (KeyScope::Use, 200),
    ] {
        let new = NewKey {
            name: "a key",
            scopes: &[scope],
            expires_in: None,
            auto: None,
        };
        let (_, key) = gateway.app.store().create_key(&tenant, &new).await.unwrap();
        for client in CLIENTS {
            let headers = [("x-api-key", key.reveal())];
            let request = ask(client, "stage/hero", false);
            let answer = gateway.send(path(client), &headers, request).await;
            assert_eq!(answer.status, status, "{scope:?}: {}", answer.text());
            if status != 200 {
                error_line(client, &answer);
            }
        }
    }
}
