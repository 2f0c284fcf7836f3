//! Responses over a WebSocket, on a real connection.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use prowess_server::{Secret, ServeOptions, Settings, serve};
use prowess_testkit::upstream::Answer as Told;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};
use tokio_util::sync::CancellationToken;

use crate::bodies::{CHAT_STREAM, MESSAGES_STREAM};
use crate::gateway::Gateway;

/// A gateway that listens.
struct Listening {
    gateway: Gateway,
    address: String,
    stop: CancellationToken,
    served: JoinHandle<std::io::Result<()>>,
}

impl Listening {
    async fn start(settings: Settings) -> Listening {
        let gateway = Gateway::with(settings).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stop = CancellationToken::new();
        let served = serve(
            listener,
            gateway.app.clone(),
            stop.clone(),
            ServeOptions::default(),
        );
        Listening {
            gateway,
            address,
            stop,
            served: tokio::spawn(served),
        }
    }

    async fn connect(&self, key: Option<&str>) -> Result<Socket, Error> {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let url = format!("ws://{}/v1/responses", self.address);
        let mut request = url.into_client_request().unwrap();
        if let Some(key) = key {
            let bearer = format!("Bearer {key}").parse().unwrap();
            request.headers_mut().insert("authorization", bearer);
        }
        let (socket, _) = client_async(request, stream).await?;
        Ok(Socket(socket))
    }

    async fn sent(&self) -> Value {
        let sent = self.gateway.upstream.next_request().await;
        serde_json::from_str(sent.text()).unwrap()
    }
}

struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    async fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// The next event.
    async fn event(&mut self) -> Value {
        loop {
            let message = tokio::time::timeout(Duration::from_secs(30), self.0.next());
            match message.await.unwrap().unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// All events up to the last of an answer.
    async fn answer(&mut self, message: &Value) -> Vec<Value> {
        self.send(message).await;
        let mut events = Vec::new();
        loop {
            events.push(self.event().await);
            match events.last().unwrap()["type"].as_str().unwrap() {
                "response.completed" | "response.incomplete" | "error" => return events,
                _ => {}
            }
        }
    }
}

fn create(model: &str, input: &str) -> Value {
    json!({"type": "response.create", "model": model, "input": input})
}

fn last(events: &[Value]) -> &Value {
    &events.last().unwrap()["response"]
}

#[tokio::test]
async fn answers_come_as_events_one_after_the_other() {
    let server = Listening::start(Settings::default()).await;
    let mut socket = server.connect(None).await.unwrap();
    let first = socket.answer(&create("stage/hero", "Hello")).await;
    assert_eq!(first[0]["type"], "response.created");
    let text = &last(&first)["output"][0]["content"][0]["text"];
    assert_eq!(text, "You said: Hello");
    for (at, event) in first.iter().enumerate() {
        assert_eq!(event["sequence_number"], at);
    }
    // Two messages at once are answered in their order.
    socket.send(&create("stage/hero", "One")).await;
    let second = socket.answer(&create("stage/hero", "Two")).await;
    assert_eq!(
        last(&second)["output"][0]["content"][0]["text"],
        "You said: One"
    );
    let mut third = Vec::new();
    while third
        .last()
        .is_none_or(|event: &Value| event["type"] != "response.completed")
    {
        third.push(socket.event().await);
    }
    assert_eq!(
        last(&third)["output"][0]["content"][0]["text"],
        "You said: Two"
    );
    // What is stored is found over HTTP.
    let path = format!("/v1/responses/{}", last(&first)["id"].as_str().unwrap());
    assert_eq!(server.gateway.get(&path, &[]).await.json(), *last(&first));
}

#[tokio::test]
async fn a_connection_goes_on_from_its_last_answer_though_it_is_not_stored() {
    for (model, stream) in [("oai/m1", CHAT_STREAM), ("ant/m1", MESSAGES_STREAM)] {
        let server = Listening::start(Settings::default()).await;
        let second = stream.replace("_up\"", "_two\"").replace("-up\"", "-two\"");
        let upstream = &server.gateway.upstream;
        upstream.answer(Told::sse(stream));
        upstream.answer(Told::sse(&second));
        let mut socket = server.connect(None).await.unwrap();
        let mut message = create(model, "Weather in Bern?");
        message["store"] = false.into();
        let first = socket.answer(&message).await;
        server.sent().await;
        let id = last(&first)["id"].clone();
        let call = last(&first)["output"][1]["call_id"].clone();
        let output = json!({"type": "function_call_output", "call_id": call, "output": "sunny"});
        message["input"] = json!([output]);
        message["previous_response_id"] = id.clone();
        let second = socket.answer(&message).await;
        assert_eq!(second[0]["type"], "response.created", "{second:?}");
        let sent = server.sent().await;
        assert_eq!(sent["messages"].as_array().unwrap().len(), 3, "{sent}");
        // Only the last one is remembered, and only on this connection.
        let again = socket.answer(&message).await;
        assert_eq!(again[0]["error"]["code"], "previous_response_not_found");
        let mut other = server.connect(None).await.unwrap();
        message["previous_response_id"] = last(&second)["id"].clone();
        let elsewhere = other.answer(&message).await;
        assert_eq!(elsewhere[0]["status"], 400, "{elsewhere:?}");
    }
}

#[tokio::test]
async fn a_connection_can_be_told_what_was_said_before_it_is_asked() {
    let server = Listening::start(Settings::default()).await;
    server
        .gateway
        .upstream
        .answer_always(Told::sse(CHAT_STREAM));
    let mut socket = server.connect(None).await.unwrap();
    let mut message = create("oai/m1", "Earlier");
    message["generate"] = false.into();
    let warm = socket.answer(&message).await;
    assert_eq!(last(&warm)["output"], json!([]));
    let mut on = create("oai/m1", "Now");
    on["previous_response_id"] = last(&warm)["id"].clone();
    socket.answer(&on).await;
    let sent = server.sent().await;
    assert_eq!(sent["messages"][0]["content"], "Earlier");
    assert_eq!(sent["messages"][1]["content"], "Now");
    assert!(server.gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn what_goes_wrong_is_an_event_and_the_connection_goes_on() {
    let server = Listening::start(Settings::default()).await;
    let mut socket = server.connect(None).await.unwrap();
    for (message, status, code) in [
        (
            json!({"type": "response.cancel"}),
            400,
            "unknown_event_type",
        ),
        (create("none/such", "Hi"), 404, "model-not-found"),
    ] {
        let events = socket.answer(&message).await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0]["status"], status, "{events:?}");
        assert_eq!(events[0]["error"]["code"], code, "{events:?}");
    }
    socket.0.send(Message::text("{")).await.unwrap();
    assert_eq!(socket.event().await["error"]["code"], "invalid_json");
    socket.0.send(Message::binary(vec![1])).await.unwrap();
    assert_eq!(socket.event().await["error"]["code"], "invalid_message");
    let well = socket.answer(&create("stage/hero", "Hello")).await;
    assert_eq!(last(&well)["status"], "completed");
}

#[tokio::test]
async fn a_connection_needs_a_key_where_requests_do() {
    let key = "the-master-key-of-these-tests";
    let server = Listening::start(Settings {
        master_key: Some(Secret::new(key)),
        ..Settings::default()
    })
    .await;
    for wrong in [None, Some("wrong")] {
        match server.connect(wrong).await.err().unwrap() {
            Error::Http(answer) => assert_eq!(answer.status(), 401),
            other => panic!("{other}"),
        }
    }
    let mut socket = server.connect(Some(key)).await.unwrap();
    let answer = socket.answer(&create("stage/hero", "Hello")).await;
    assert_eq!(last(&answer)["status"], "completed");
}

#[tokio::test]
async fn a_message_is_bounded_as_a_body_is() {
    let server = Listening::start(Settings {
        request_bytes: 10_000,
        ..Settings::default()
    })
    .await;
    let mut socket = server.connect(None).await.unwrap();
    let large = create("stage/hero", &"x".repeat(20_000)).to_string();
    let _ = socket.0.send(Message::text(large)).await;
    let ended = tokio::time::timeout(Duration::from_secs(30), socket.0.next());
    let ended = ended.await.unwrap();
    let closed = matches!(ended, None | Some(Err(_) | Ok(Message::Close(_))));
    assert!(closed, "{ended:?}");
}

#[tokio::test]
async fn a_server_that_stops_closes_its_sockets() {
    let server = Listening::start(Settings::default()).await;
    let mut socket = server.connect(None).await.unwrap();
    socket.answer(&create("stage/hero", "Hello")).await;
    server.stop.cancel();
    let closed = tokio::time::timeout(Duration::from_secs(30), socket.0.next());
    match closed.await.unwrap() {
        Some(Ok(Message::Close(Some(frame)))) => assert_eq!(u16::from(frame.code), 1001),
        other => panic!("{other:?}"),
    }
    let served = tokio::time::timeout(Duration::from_secs(30), server.served);
    served.await.unwrap().unwrap().unwrap();
}
