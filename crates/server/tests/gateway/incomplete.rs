//! Requests without fields that their vendor requires: refused in the vendor's words where
//! they are translated or run here, and passed on where the vendor checks them itself.

use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, MESSAGES};
use crate::gateway::{ClientResponse, Gateway, path};
use crate::runs::stored;

/// A scripted model, and a vendor of another dialect than the client's.
const TRANSLATED: [&str; 2] = ["stage/hero", "oai/m1"];

async fn ask(
    gateway: &Gateway,
    client: ClientDialect,
    model: &str,
    body: &Value,
) -> ClientResponse {
    let mut body = body.clone();
    let path = match client {
        ClientDialect::Gemini => format!("/v1beta/models/{model}:generateContent"),
        _ => {
            body["model"] = model.into();
            path(client).to_owned()
        }
    };
    gateway.post(&path, body.to_string()).await
}

/// The message of an error of the client's vendor.
fn message(client: ClientDialect, answer: &ClientResponse) -> String {
    assert_eq!(answer.status, 400, "{}", answer.text());
    let body = answer.json();
    match client {
        ClientDialect::Messages => {
            assert_eq!(body["type"], "error");
            assert_eq!(body["error"]["type"], "invalid_request_error");
        }
        ClientDialect::Chat | ClientDialect::Responses => {
            assert_eq!(body["error"]["type"], "invalid_request_error");
        }
        ClientDialect::Gemini => assert_eq!(body["error"]["status"], "INVALID_ARGUMENT"),
    }
    body["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn messages_need_a_message_and_a_limit_of_tokens() {
    let gateway = Gateway::start().await;
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let empty = "messages: at least one message is required";
    for model in TRANSLATED {
        for (body, expected) in [
            (json!({"max_tokens": 5, "messages": []}), empty),
            (
                json!({"max_tokens": 5, "messages": [], "system": "Be kind."}),
                empty,
            ),
            (json!({"messages": []}), empty),
            (json!({"max_tokens": 5}), "messages: Field required"),
            (json!({"messages": messages}), "max_tokens: Field required"),
            (
                json!({"messages": messages, "max_tokens": null}),
                "max_tokens: Field required",
            ),
            (
                json!({"messages": messages, "stream": true}),
                "max_tokens: Field required",
            ),
        ] {
            let answer = ask(&gateway, ClientDialect::Messages, model, &body).await;
            assert_eq!(
                message(ClientDialect::Messages, &answer),
                expected,
                "{model} {body}"
            );
        }
    }
    assert!(gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn openais_and_googles_clients_must_ask_something() {
    let gateway = Gateway::start().await;
    let nothing = "input: one of `input`, `conversation`, `previous_response_id` or `prompt` is \
                   required, and there must be something to answer in it";
    for (client, other, body, expected) in [
        (
            ClientDialect::Chat,
            "ant/m1",
            json!({"messages": []}),
            "messages: at least one message is required",
        ),
        (ClientDialect::Responses, "ant/m1", json!({}), nothing),
        (
            ClientDialect::Responses,
            "ant/m1",
            json!({"input": []}),
            nothing,
        ),
        (
            ClientDialect::Responses,
            "ant/m1",
            json!({"input": null, "previous_response_id": null, "instructions": "Be kind."}),
            nothing,
        ),
        (
            ClientDialect::Gemini,
            "oai/m1",
            json!({"contents": []}),
            "contents: at least one content is required",
        ),
        (
            ClientDialect::Gemini,
            "oai/m1",
            json!({"contents": [], "systemInstruction": {"parts": [{"text": "Be kind."}]}}),
            "contents: at least one content is required",
        ),
    ] {
        for model in ["stage/hero", other] {
            let answer = ask(&gateway, client, model, &body).await;
            assert_eq!(message(client, &answer), expected, "{model} {body}");
        }
    }
    assert!(gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn a_run_of_skills_needs_them_too_also_at_the_clients_own_vendor() {
    let gateway = Gateway::start().await;
    let skill = stored(&gateway).await;
    let container = json!({"skills": [{"type": "custom", "skill_id": skill}]});
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "container": container});
    let answer = ask(&gateway, ClientDialect::Messages, "ant/m1", &body).await;
    let error = message(ClientDialect::Messages, &answer);
    assert_eq!(error, "max_tokens: Field required");
    let body = json!({"messages": [], "container": container});
    let answer = ask(&gateway, ClientDialect::Chat, "oai/m1", &body).await;
    let error = message(ClientDialect::Chat, &answer);
    assert_eq!(error, "messages: at least one message is required");
    assert!(gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn what_the_vendors_take_is_not_refused() {
    let gateway = Gateway::start().await;
    let alone = json!([{"role": "system", "content": "Say hi."}]);
    for (client, body) in [
        (ClientDialect::Chat, json!({"messages": alone})),
        (ClientDialect::Responses, json!({"input": ""})),
        (ClientDialect::Responses, json!({"input": alone})),
        (
            ClientDialect::Messages,
            json!({"max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}),
        ),
    ] {
        let answer = ask(&gateway, client, "stage/hero", &body).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.text());
    }
    // A stored response is enough to continue from.
    let first = ask(
        &gateway,
        ClientDialect::Responses,
        "stage/hero",
        &json!({"input": "Hi"}),
    )
    .await;
    let goes_on = json!({"previous_response_id": first.json()["id"], "input": []});
    let second = ask(&gateway, ClientDialect::Responses, "stage/hero", &goes_on).await;
    assert_eq!(second.status, 200, "{}", second.text());
    // Token counting needs no `max_tokens`.
    let body = json!({"model": "stage/hero", "messages": [{"role": "user", "content": "Hi"}]});
    let counted = gateway
        .post("/v1/messages/count_tokens", body.to_string())
        .await;
    assert_eq!(counted.status, 200, "{}", counted.text());
}

#[tokio::test]
async fn what_passes_on_is_the_vendors_to_judge() {
    let gateway = Gateway::start().await;
    for (client, model, expected) in [
        (ClientDialect::Messages, "ant/m1", MESSAGES),
        (ClientDialect::Chat, "oai/m1", CHAT),
    ] {
        gateway.upstream.respond(MockResponse::json(200, expected));
        let body = format!(r#"{{"model":"{model}", "messages":[]}}"#);
        let answer = gateway.post(path(client), body.clone()).await;
        assert_eq!(answer.text(), expected);
        let sent = gateway.upstream.next_request().await;
        assert_eq!(sent.text(), body.replace(model, "m1"));
    }
}
