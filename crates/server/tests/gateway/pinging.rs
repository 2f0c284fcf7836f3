//! Streams while their upstream is silent.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use futures_util::StreamExt;
use prowess_server::ServerSettings;
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use tower::ServiceExt;

use crate::bodies::{CHAT_STREAM, MESSAGES_STREAM, question};
use crate::gateway::{Gateway, path};

/// Reads a stream until it contains a text.
async fn until(gateway: &Gateway, client: ClientDialect, model: &str, text: &str) -> String {
    let request = Request::post(path(client))
        .header("host", "localhost")
        .body(Body::from(question(client, model, true).to_string()));
    let response = gateway.app.service().oneshot(request.unwrap()).await;
    let mut body = response.unwrap().into_body().into_data_stream();
    let mut seen = String::new();
    while !seen.contains(text) {
        let piece = body.next().await.unwrap().unwrap();
        seen.push_str(std::str::from_utf8(&piece).unwrap());
    }
    seen
}

async fn silent(stream: &str) -> Gateway {
    let gateway = Gateway::with(ServerSettings {
        ping_interval: Some(Duration::from_millis(5)),
        ..ServerSettings::default()
    })
    .await;
    let first = &stream[..stream.find("\n\n").unwrap() + 2];
    gateway
        .upstream
        .respond(MockResponse::sse(first).then_hang());
    gateway
}

#[tokio::test]
async fn a_translated_stream_gives_signs_of_life_in_its_dialect() {
    for (client, sign) in [
        (
            ClientDialect::Messages,
            "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        ),
        (ClientDialect::Responses, ": ping\n\n"),
    ] {
        let gateway = silent(CHAT_STREAM).await;
        let seen = until(&gateway, client, "oai/m1", sign).await;
        assert!(seen.starts_with("event: "), "{seen}");
    }
    let gateway = silent(MESSAGES_STREAM).await;
    let seen = until(
        &gateway,
        ClientDialect::Chat,
        "ant/m1",
        ": ping\n\n: ping\n\n",
    )
    .await;
    assert!(seen.starts_with("data: "), "{seen}");
}

#[tokio::test]
async fn a_stream_that_is_passed_on_gets_no_byte_of_ours() {
    let gateway = Gateway::with(ServerSettings {
        ping_interval: Some(Duration::ZERO),
        ..ServerSettings::default()
    })
    .await;
    gateway
        .upstream
        .respond(MockResponse::sse(MESSAGES_STREAM).in_chunks(3));
    let request = question(ClientDialect::Messages, "ant/m1", true).to_string();
    let answer = gateway.post("/v1/messages", request).await;
    assert_eq!(answer.text(), MESSAGES_STREAM);
}
