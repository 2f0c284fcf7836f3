//! Responses over a WebSocket, on a real connection.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use prowess_server::{ReadConfig, SecretString, ServeOptions, ServerSettings, serve};
use prowess_skill::BundleLimits;
use prowess_store::{KeyLimits, KeyScope, TenantId};
use prowess_testkit::upstream::MockResponse;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};
use tokio_util::sync::CancellationToken;

use crate::bodies::{CHAT_STREAM, MESSAGES_STREAM};
use crate::gateway::Gateway;
use crate::reload::give;

/// A gateway with a listener.
struct Listening {
    gateway: Gateway,
    address: String,
    stop: CancellationToken,
    served: JoinHandle<std::io::Result<()>>,
}

impl Listening {
    async fn start(settings: ServerSettings) -> Listening {
        Listening::start_with(settings, ServeOptions::default()).await
    }

    async fn start_with(settings: ServerSettings, options: ServeOptions) -> Listening {
        let gateway = Gateway::with(settings).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stop = CancellationToken::new();
        let served = serve(listener, gateway.app.clone(), stop.clone(), options);
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

    /// Waits until the upstream's response was abandoned.
    async fn upstream_left(&self) {
        let left = self.gateway.upstream.client_disconnected();
        tokio::time::timeout(Duration::from_secs(30), left)
            .await
            .unwrap();
    }
}

struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    async fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// The next message of any kind; none after the end.
    async fn message(&mut self) -> Option<Message> {
        let message = tokio::time::timeout(Duration::from_secs(30), self.0.next());
        message.await.unwrap().and_then(Result::ok)
    }

    /// Reads up to the end.
    async fn end(&mut self) {
        while self.message().await.is_some() {}
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

    /// All events up to the last of a response.
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

/// The status with which a socket was refused.
fn refused(result: Result<Socket, Error>) -> u16 {
    match result.err().unwrap() {
        Error::Http(answer) => answer.status().as_u16(),
        other => panic!("{other}"),
    }
}

/// The first events of a stream, which never ends.
fn unfinished() -> MockResponse {
    let end = MESSAGES_STREAM.find("event: content_block_stop").unwrap();
    MockResponse::sse(&MESSAGES_STREAM[..end]).then_hang()
}

fn create(model: &str, input: &str) -> Value {
    json!({"type": "response.create", "model": model, "input": input})
}

fn last(events: &[Value]) -> &Value {
    &events.last().unwrap()["response"]
}

#[tokio::test]
async fn answers_come_as_events_one_after_the_other() {
    let server = Listening::start(ServerSettings::default()).await;
    let mut socket = server.connect(None).await.unwrap();
    let first = socket.answer(&create("stage/hero", "Hello")).await;
    assert_eq!(first[0]["type"], "response.created");
    let text = &last(&first)["output"][0]["content"][0]["text"];
    assert_eq!(text, "You said: Hello");
    for (at, event) in first.iter().enumerate() {
        assert_eq!(event["sequence_number"], at);
    }
    // Two messages at once are answered in order.
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
    // A stored response is found over HTTP.
    let path = format!("/v1/responses/{}", last(&first)["id"].as_str().unwrap());
    assert_eq!(server.gateway.get(&path, &[]).await.json(), *last(&first));
}

#[tokio::test]
async fn a_connection_goes_on_from_its_last_answer_though_it_is_not_stored() {
    for (model, stream) in [("oai/m1", CHAT_STREAM), ("ant/m1", MESSAGES_STREAM)] {
        let server = Listening::start(ServerSettings::default()).await;
        let second = stream.replace("_up\"", "_two\"").replace("-up\"", "-two\"");
        let upstream = &server.gateway.upstream;
        upstream.respond(MockResponse::sse(stream));
        upstream.respond(MockResponse::sse(&second));
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
        // Only the last one is held in memory, and only on this connection.
        let again = socket.answer(&message).await;
        assert_eq!(again[0]["error"]["code"], "previous_response_not_found");
        let mut other = server.connect(None).await.unwrap();
        message["previous_response_id"] = last(&second)["id"].clone();
        let elsewhere = other.answer(&message).await;
        assert_eq!(elsewhere[0]["status"], 400, "{elsewhere:?}");
    }
}

#[tokio::test]
async fn an_output_without_its_call_fails_the_turn_and_the_last_answer_is_forgotten() {
    let server = Listening::start(ServerSettings::default()).await;
    server
        .gateway
        .upstream
        .respond(MockResponse::sse(CHAT_STREAM));
    let mut socket = server.connect(None).await.unwrap();
    let mut message = create("oai/m1", "Weather in Bern?");
    message["store"] = false.into();
    let first = socket.answer(&message).await;
    message["previous_response_id"] = last(&first)["id"].clone();
    message["input"] = json!([
        {"type": "function_call_output", "call_id": "call_none", "output": "sunny"}]);
    let failed = socket.answer(&message).await;
    assert_eq!(failed[0]["type"], "error", "{failed:?}");
    assert_eq!(failed[0]["status"], 400, "{failed:?}");
    assert_eq!(
        failed[0]["error"]["message"],
        "No tool call found for function call output with call_id call_none."
    );
    message["input"] = "And now?".into();
    let retried = socket.answer(&message).await;
    assert_eq!(retried[0]["error"]["code"], "previous_response_not_found");
}

#[tokio::test]
async fn a_connection_can_be_warmed_up_before_its_first_request() {
    let server = Listening::start(ServerSettings::default()).await;
    server
        .gateway
        .upstream
        .respond_always(MockResponse::sse(CHAT_STREAM));
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
    let server = Listening::start(ServerSettings::default()).await;
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
    let twice =
        r#"{"type":"response.create","model":"none/such","model":"stage/hero","input":"Hi"}"#;
    socket.0.send(Message::text(twice)).await.unwrap();
    assert_eq!(socket.event().await["error"]["code"], "repeated-field");
    socket.0.send(Message::binary(vec![1])).await.unwrap();
    assert_eq!(socket.event().await["error"]["code"], "invalid_message");
    let well = socket.answer(&create("stage/hero", "Hello")).await;
    assert_eq!(last(&well)["status"], "completed");
}

#[tokio::test]
async fn each_message_has_the_configuration_of_its_time() {
    let server = Listening::start(ServerSettings::default()).await;
    let mut socket = server.connect(None).await.unwrap();
    let before = socket.answer(&create("stage/hero", "Hello")).await;
    assert_eq!(last(&before)["status"], "completed");
    let without_models = ReadConfig {
        settings: ServerSettings::default(),
        source: String::new(),
        changed: Vec::new(),
    };
    give(&server.gateway, [Ok(without_models)]);
    server.gateway.app.reload().await.unwrap();
    let after = socket.answer(&create("stage/hero", "Hello")).await;
    assert_eq!(after[0]["type"], "error", "{after:?}");
}

#[tokio::test]
async fn a_connection_needs_a_key_where_requests_do() {
    let key = "the-master-key-of-these-tests";
    let server = Listening::start(ServerSettings {
        master_key: Some(SecretString::new(key)),
        ..ServerSettings::default()
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
    let server = Listening::start(ServerSettings {
        request_bytes: 10_000,
        ..ServerSettings::default()
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
    let server = Listening::start(ServerSettings::default()).await;
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

#[tokio::test]
async fn a_tenant_has_so_many_sockets_and_no_more() {
    let server = Listening::start(ServerSettings::default()).await;
    let limits = KeyLimits::default();
    let key = server.gateway.key("one", KeyScope::Use, &limits).await;
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(server.connect(Some(&key)).await.unwrap());
    }
    assert_eq!(refused(server.connect(Some(&key)).await), 429);
    let other = server.gateway.key("two", KeyScope::Use, &limits).await;
    assert!(server.connect(Some(&other)).await.is_ok());
    let mut first = open.remove(0);
    first.0.close(None).await.unwrap();
    first.end().await;
    // The server records the end after the client has received it.
    let again = async { while server.connect(Some(&key)).await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(30), again)
        .await
        .unwrap();
}

#[tokio::test]
async fn an_idle_socket_is_evicted_for_others_and_one_with_an_answer_is_not() {
    let options = ServeOptions {
        connections: 1,
        ..ServeOptions::default()
    };
    let server = Listening::start_with(ServerSettings::default(), options).await;
    let mut idle = server.connect(None).await.unwrap();
    let mut busy = server.connect(None).await.unwrap();
    idle.end().await;
    server.gateway.upstream.respond(unfinished());
    busy.send(&create("ant/m1", "Hello")).await;
    assert_eq!(busy.event().await["type"], "response.created");
    assert_eq!(refused(server.connect(None).await), 503);
}

#[tokio::test]
async fn a_ping_is_answered_during_an_answer() {
    let server = Listening::start(ServerSettings::default()).await;
    for answer in [unfinished(), MockResponse::never()] {
        server.gateway.upstream.respond(answer);
        let mut socket = server.connect(None).await.unwrap();
        socket.send(&create("ant/m1", "Hello")).await;
        server.sent().await;
        let ping = Message::Ping("still there?".into());
        socket.0.send(ping).await.unwrap();
        let is_pong = |message| matches!(message, Message::Pong(bytes) if bytes == "still there?");
        // The server's own pings must not make this wait forever.
        let pong = async { while !is_pong(socket.message().await.unwrap()) {} };
        tokio::time::timeout(Duration::from_secs(30), pong)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_client_that_closes_during_an_answer_ends_it() {
    for answer in [unfinished(), MockResponse::never()] {
        let server = Listening::start(ServerSettings::default()).await;
        server.gateway.upstream.respond(answer);
        let mut socket = server.connect(None).await.unwrap();
        socket.send(&create("ant/m1", "Hello")).await;
        server.sent().await;
        // The connection itself stays open.
        socket.0.send(Message::Close(None)).await.unwrap();
        server.upstream_left().await;
        socket.end().await;
    }
}

#[tokio::test]
async fn a_client_that_stops_reading_is_ended() {
    let server = Listening::start(ServerSettings {
        idle: Duration::from_millis(200),
        ..ServerSettings::default()
    })
    .await;
    let piece = &CHAT_STREAM[..CHAT_STREAM.find("\n\n").unwrap() + 2];
    let piece = piece.replace("Looking.", &"x".repeat(10_000));
    server
        .gateway
        .upstream
        .respond(MockResponse::sse(&piece).then_endless());
    let mut socket = server.connect(None).await.unwrap();
    let mut message = create("oai/m1", "Hello");
    message["store"] = false.into();
    socket.send(&message).await;
    server.upstream_left().await;
    socket.end().await;
}

#[tokio::test]
async fn a_warm_up_is_refused_as_a_request_is() {
    let server = Listening::start(ServerSettings::default()).await;
    let mut message = create("oai/m1", "Earlier");
    message["generate"] = false.into();
    let slow = KeyLimits {
        requests_per_minute: Some(1),
        ..KeyLimits::default()
    };
    let slow = server.gateway.key("one", KeyScope::Use, &slow).await;
    let mut socket = server.connect(Some(&slow)).await.unwrap();
    let warm = socket.answer(&message).await;
    assert_eq!(last(&warm)["status"], "completed");
    assert_eq!(socket.answer(&message).await[0]["status"], 429);

    let limits = KeyLimits::default();
    let key = server.gateway.key("two", KeyScope::Use, &limits).await;
    let mut socket = server.connect(Some(&key)).await.unwrap();
    assert_eq!(last(&socket.answer(&message).await)["status"], "completed");
    let tenant = TenantId::new("two").unwrap();
    let store = server.gateway.app.store();
    let record = store.authenticate(&key).await.unwrap().unwrap();
    store.revoke_key(&tenant, &record.id).await.unwrap();
    let after = socket.answer(&message).await;
    assert_eq!(after[0]["status"], 401, "{after:?}");
    assert_eq!(after[0]["error"]["code"], "key-unknown", "{after:?}");
}

/// Settings with which a message of half a megabyte leaves no place for another.
fn little_memory() -> ServerSettings {
    ServerSettings {
        request_bytes: 1 << 20,
        body_bytes_in_flight: 0,
        body_wait: Duration::ZERO,
        skill_limits: BundleLimits {
            total_bytes: 1_000,
            archive_bytes: 1_000,
            ..BundleLimits::default()
        },
        ..ServerSettings::default()
    }
}

/// The beginning of a frame with a text of 900,000 bytes, and so many bytes of it.
fn beginning_of_text(bytes: usize) -> Vec<u8> {
    let mut frame = vec![0x81, 0xff];
    frame.extend_from_slice(&900_000_u64.to_be_bytes());
    // The mask, which changes nothing.
    frame.extend_from_slice(&[0; 4]);
    frame.resize(frame.len() + bytes, b'x');
    frame
}

#[tokio::test]
async fn the_bytes_of_a_message_count_as_those_of_a_body_do() {
    let server = Listening::start(little_memory()).await;
    server.gateway.upstream.respond(MockResponse::never());
    // Counted for its connection, and for the request.
    let large = "x".repeat(400_000);
    let mut first = server.connect(None).await.unwrap();
    first.send(&create("oai/m1", &large)).await;
    server.sent().await;
    let mut second = server.connect(None).await.unwrap();
    let mut message = create("oai/m1", &large);
    message["generate"] = false.into();
    let busy = second.answer(&message).await;
    assert_eq!(busy[0]["status"], 429, "{busy:?}");
    assert_eq!(busy[0]["error"]["code"], "tenant-bodies-busy");
    match second.message().await {
        Some(Message::Close(Some(frame))) => assert_eq!(u16::from(frame.code), 1013),
        other => panic!("{other:?}"),
    }
    message["input"] = "short".into();
    let mut third = server.connect(None).await.unwrap();
    let well = third.answer(&message).await;
    assert_eq!(last(&well)["status"], "completed");
}

#[tokio::test]
async fn the_bytes_of_a_message_count_before_it_is_complete() {
    let server = Listening::start(little_memory()).await;
    server.gateway.upstream.respond(MockResponse::never());
    let mut first = server.connect(None).await.unwrap();
    let large = create("oai/m1", &"x".repeat(400_000));
    first.send(&large).await;
    server.sent().await;
    let mut second = server.connect(None).await.unwrap();
    let sent = beginning_of_text(300_000);
    second.0.get_mut().write_all(&sent).await.unwrap();
    let busy = second.event().await;
    assert_eq!(busy["status"], 429, "{busy}");
    assert_eq!(busy["error"]["code"], "tenant-bodies-busy");
}

#[tokio::test]
async fn a_message_that_trickles_is_refused_as_a_body_is() {
    let server = Listening::start(ServerSettings {
        body_grace: Duration::from_millis(100),
        min_body_rate: 1_000,
        ..ServerSettings::default()
    })
    .await;
    let mut socket = server.connect(None).await.unwrap();
    let sent = beginning_of_text(10);
    socket.0.get_mut().write_all(&sent).await.unwrap();
    let refused = socket.event().await;
    assert_eq!(refused["status"], 408, "{refused}");
    assert_eq!(refused["error"]["code"], "body-too-slow");
}

#[tokio::test]
async fn a_connection_ends_with_its_key() {
    let server = Listening::start(ServerSettings::default()).await;
    let limits = KeyLimits::default();
    let key = server.gateway.key("one", KeyScope::Use, &limits).await;
    let mut socket = server.connect(Some(&key)).await.unwrap();
    let answer = socket.answer(&create("stage/hero", "Hello")).await;
    assert_eq!(last(&answer)["status"], "completed");
    let store = server.gateway.app.store();
    let record = store.authenticate(&key).await.unwrap().unwrap();
    store.revoke_key(&record.tenant, &record.id).await.unwrap();
    let refused = socket.event().await;
    assert_eq!(refused["status"], 401, "{refused}");
    assert_eq!(refused["error"]["code"], "key-unknown");
    match socket.message().await {
        Some(Message::Close(Some(frame))) => assert_eq!(u16::from(frame.code), 1008),
        other => panic!("{other:?}"),
    }
}
