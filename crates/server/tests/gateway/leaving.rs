//! A client that disconnects ends the upstream's response.

use prowess_server::{ServeOptions, serve};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::bodies::{CHAT_STREAM, MESSAGES_STREAM, question};
use crate::gateway::{Gateway, path};

/// Sends a request over a real connection; returns it once the upstream was called.
async fn send_request(gateway: &Gateway, client: ClientDialect, model: &str) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let served = serve(listener, gateway.app.clone(), stop, ServeOptions::default());
    tokio::spawn(served);
    let body = question(client, model, true).to_string();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
        path(client),
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    gateway.upstream.next_request().await;
    stream
}

async fn read_until(stream: &mut TcpStream, text: &str) {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(text) {
        assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn leaving_in_the_middle_of_a_stream_closes_the_upstream() {
    for (client, model, stream) in [
        (ClientDialect::Messages, "ant/m1", MESSAGES_STREAM),
        (ClientDialect::Chat, "oai/m1", CHAT_STREAM),
        (ClientDialect::Responses, "ant/m1", MESSAGES_STREAM),
        (ClientDialect::Messages, "oai/m1", CHAT_STREAM),
    ] {
        let gateway = Gateway::start().await;
        let beginning = &stream[..stream.find("Looking.").unwrap() + 60];
        let beginning = &beginning[..beginning.rfind("\n\n").unwrap_or(beginning.len())];
        gateway
            .upstream
            .respond(MockResponse::sse(&format!("{beginning}\n\n")).then_hang());
        let mut connection = send_request(&gateway, client, model).await;
        read_until(&mut connection, "data: ").await;
        drop(connection);
        gateway.upstream.client_disconnected().await;
    }
}

/// The usage of all requests so far, once it is written.
async fn output_tokens(gateway: &Gateway) -> (u64, u64) {
    loop {
        gateway.app.flush().await;
        let answer = gateway.get("/v1/usage", &[]).await.json();
        let sum = &answer["data"][0];
        if let Some(tokens) = sum["output_tokens"].as_u64() {
            return (tokens, sum["requests_estimated"].as_u64().unwrap());
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn text_that_was_read_is_paid_for_by_who_leaves_before_its_counts() {
    let text = "word ".repeat(800);
    let stream = MESSAGES_STREAM.replace("Looking.", &text);
    let end = stream.find("event: message_delta").unwrap();
    for client in [
        ClientDialect::Messages,
        ClientDialect::Chat,
        ClientDialect::Responses,
    ] {
        let gateway = Gateway::start().await;
        gateway
            .upstream
            .respond(MockResponse::sse(&stream[..end]).then_hang());
        let mut connection = send_request(&gateway, client, "ant/m1").await;
        // The tool's input is the last event before the counts.
        read_until(&mut connection, "Bern").await;
        drop(connection);
        gateway.upstream.client_disconnected().await;
        let (tokens, estimated) = output_tokens(&gateway).await;
        assert!((1_000..1_020).contains(&tokens), "{client:?}: {tokens}");
        assert_eq!(estimated, 1, "{client:?}");
    }
}

#[tokio::test]
async fn leaving_behind_the_counts_changes_nothing_about_them() {
    let text = "word ".repeat(800);
    let stream = MESSAGES_STREAM.replace("Looking.", &text);
    let end = stream.find("event: message_stop").unwrap();
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond(MockResponse::sse(&stream[..end]).then_hang());
    let mut connection = send_request(&gateway, ClientDialect::Messages, "ant/m1").await;
    read_until(&mut connection, "message_delta").await;
    drop(connection);
    gateway.upstream.client_disconnected().await;
    assert_eq!(output_tokens(&gateway).await, (10, 0));
}

#[tokio::test]
async fn leaving_before_the_answer_begins_closes_the_upstream() {
    for (client, model) in [
        (ClientDialect::Messages, "ant/m1"),
        (ClientDialect::Messages, "oai/m1"),
    ] {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(MockResponse::never());
        drop(send_request(&gateway, client, model).await);
        gateway.upstream.client_disconnected().await;
    }
}

#[tokio::test]
async fn leaving_without_ever_reading_closes_an_upstream_that_pours() {
    for (client, model, stream) in [
        (ClientDialect::Messages, "ant/m1", MESSAGES_STREAM),
        (ClientDialect::Chat, "oai/m1", CHAT_STREAM),
    ] {
        let gateway = Gateway::start().await;
        gateway
            .upstream
            .respond(MockResponse::sse(stream).then_endless());
        drop(send_request(&gateway, client, model).await);
        gateway.upstream.client_disconnected().await;
    }
}
