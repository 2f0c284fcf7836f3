//! `prowess-max-turns`: a request that allows its run fewer turns than the operator does.

use prowess_wire::ClientDialect;
use serde_json::json;

use crate::gateway::{ClientResponse, Gateway, path};
use crate::runs::{load, model_response, request_naming, sent, stored};

const GEMINI: &str = "/v1beta/models/oai/m1:generateContent";
const HEADER: &str = "prowess-max-turns";

/// Has the model call a tool, and the client ask with these headers.
async fn ask(gateway: &Gateway, client: ClientDialect, headers: &[(&str, &str)]) -> ClientResponse {
    let id = stored(gateway).await;
    let upstream = &gateway.upstream;
    upstream.respond(model_response("oai/m1", false, "Let me see.", &load()));
    let body = request_naming(client, "oai/m1", &id, false);
    match client {
        ClientDialect::Gemini => {
            let body = json!({
                "container": body["container"],
                "contents": [{"role": "user", "parts": [{"text": "Fill in the form"}]}],
            });
            gateway.send(GEMINI, headers, body.to_string()).await
        }
        _ => gateway.send(path(client), headers, body.to_string()).await,
    }
}

#[tokio::test]
async fn a_run_pauses_after_the_turns_that_its_request_allows() {
    let gateway = Gateway::start().await;
    for (client, field, reason) in [
        (ClientDialect::Messages, "/stop_reason", "pause_turn"),
        (ClientDialect::Chat, "/choices/0/finish_reason", "length"),
        (
            ClientDialect::Gemini,
            "/candidates/0/finishReason",
            "MAX_TOKENS",
        ),
    ] {
        let limited = [(HEADER, "1")];
        let kept = [(HEADER, "1"), ("prowess-keep", "true")];
        for headers in [&limited[..], &kept[..]] {
            let answer = ask(&gateway, client, headers).await;
            assert_eq!(answer.status, 200, "{client:?}: {}", answer.text());
            let answer = answer.json();
            assert_eq!(
                answer.pointer(field),
                Some(&json!(reason)),
                "{client:?} {headers:?}: {answer}"
            );
            sent(&gateway).await;
        }
    }
    // With one turn more the model gets the result of its call.
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Let me see.", &load()));
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Done.", &[]));
    let id = stored(&gateway).await;
    let body = request_naming(ClientDialect::Messages, "oai/m1", &id, false).to_string();
    let answer = gateway.send("/v1/messages", &[(HEADER, "2")], body).await;
    assert_eq!(answer.json()["stop_reason"], "end_turn");
}

#[tokio::test]
async fn more_turns_than_the_operator_allows_and_other_texts_are_refused() {
    let gateway = Gateway::start().await;
    for value in ["0", "11", "-1", "many", "", "1.5"] {
        for client in [
            ClientDialect::Messages,
            ClientDialect::Chat,
            ClientDialect::Responses,
            ClientDialect::Gemini,
        ] {
            let body = match client {
                ClientDialect::Responses => json!({"model": "oai/m1", "input": "Hello"}),
                ClientDialect::Gemini => json!({"contents": [{"parts": [{"text": "Hello"}]}]}),
                _ => request_naming(client, "oai/m1", "skill_1", false),
            };
            let path = match client {
                ClientDialect::Gemini => GEMINI,
                client => path(client),
            };
            let answer = gateway
                .send(path, &[(HEADER, value)], body.to_string())
                .await;
            assert_eq!(answer.status, 400, "{client:?} `{value}`");
            let text = answer.text();
            assert!(text.contains("must be a number from 1 to 10"), "{text}");
        }
    }
    assert!(gateway.upstream.requests().await.is_empty());
}
