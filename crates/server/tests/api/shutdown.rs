//! How connections end: uploads finish, refusals arrive, nothing waits forever.

use std::time::Duration;

use prowess_server::{ServeOptions, ServerSettings, serve};
use prowess_testkit::SkillFixture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::client::{Form, Server, TestDialect};

struct Running {
    server: Server,
    stop: CancellationToken,
    done: tokio::task::JoinHandle<std::io::Result<()>>,
    address: std::net::SocketAddr,
}

async fn start(grace: Duration) -> Running {
    start_with(ServeOptions {
        grace,
        ..ServeOptions::default()
    })
    .await
}

async fn start_with(options: ServeOptions) -> Running {
    let server = Server::with(ServerSettings::default()).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let done = tokio::spawn(serve(listener, server.app.clone(), stop.clone(), options));
    Running {
        server,
        stop,
        done,
        address,
    }
}

/// Sends the head of an upload and its body up to the middle of the final boundary, without
/// which no form is complete. The server has begun once it requests the body.
async fn begin_upload(address: std::net::SocketAddr) -> (TcpStream, Vec<u8>) {
    let mut body = Form::skill(&SkillFixture::new("late")).bytes();
    let rest = body.split_off(body.len() - 16);
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/skills HTTP/1.1\r\nhost: localhost\r\ncontent-type: {}\r\n\
         content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
        Form::kind(),
        body.len() + rest.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100"));
    stream.write_all(&body).await.unwrap();
    (stream, rest)
}

#[tokio::test]
async fn an_upload_that_is_under_way_finishes() {
    let running = start(Duration::from_secs(60)).await;
    let (mut stream, rest) = begin_upload(running.address).await;
    running.stop.cancel();
    stream.write_all(&rest).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    running.done.await.unwrap().unwrap();
    assert!(
        TcpStream::connect(running.address).await.is_err(),
        "no new connection is taken"
    );
    let list = running
        .server
        .get(TestDialect::OpenAi, "/v1/skills")
        .send()
        .await
        .ok();
    assert_eq!(list["data"][0]["name"], "late");
}

#[tokio::test]
async fn a_request_that_never_ends_is_ended_after_the_grace() {
    let running = start(Duration::from_millis(50)).await;
    let (mut stream, _) = begin_upload(running.address).await;
    running.stop.cancel();
    running.done.await.unwrap().unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    let list = running
        .server
        .get(TestDialect::OpenAi, "/v1/skills")
        .send()
        .await
        .ok();
    assert_eq!(list["data"], serde_json::json!([]));
}

#[tokio::test]
async fn an_idle_connection_does_not_hold_the_end_up() {
    let running = start(Duration::from_secs(60)).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    running.stop.cancel();
    running.done.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    let running = start(Duration::from_secs(60)).await;
    let body = vec![0; 8 << 20];
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let head = format!(
        "POST /v1/skills HTTP/1.1\r\nhost: localhost\r\nx-api-key: sk-pw-wrong\r\n\
         content-type: {}\r\ncontent-length: {}\r\n\r\n",
        Form::kind(),
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The refusal is ready long before this is sent; the connection must not break.
    stream.write_all(&body).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
}

/// Requests a path on a new connection; returns the response.
async fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_server_that_drains_is_not_ready_and_serves_until_load_balancers_have_seen_it() {
    let running = start_with(ServeOptions {
        drain: Some(Duration::from_secs(3_600)),
        ..ServeOptions::default()
    })
    .await;
    assert!(
        get(running.address, "/readyz")
            .await
            .starts_with("HTTP/1.1 200")
    );
    running.stop.cancel();
    let refused = loop {
        let ready = get(running.address, "/readyz").await;
        if !ready.starts_with("HTTP/1.1 200") {
            break ready;
        }
    };
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("draining"), "{refused}");
    let other = get(running.address, "/health/readiness").await;
    assert!(other.starts_with("HTTP/1.1 503"), "{other}");
    let served = get(running.address, "/v1/skills").await;
    assert!(served.starts_with("HTTP/1.1 200"), "{served}");
    running.done.abort();
}
