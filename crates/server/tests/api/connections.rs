//! Idle connections: they block nobody, and are closed.

use std::time::Duration;

use prowess_server::{SecretString, ServeOptions, ServerSettings};
use prowess_store::KeyScope;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::running::{
    NEVER, PREFACE, Running, frame, h2_field, h2_get, h2_settings, patient, rest,
};

const GET: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
/// The shortest time that the sweep can measure.
const SHORT: Duration = Duration::from_millis(100);

/// Every way of sending no request.
fn silences() -> Vec<Vec<u8>> {
    vec![
        Vec::new(),
        b"P".to_vec(),
        b"G".to_vec(),
        PREFACE[..12].to_vec(),
        PREFACE.to_vec(),
        b"GET /healthz HTTP/1.1\r\nhost: local".to_vec(),
        h2_settings(&[]),
        // The head of a request that never ends.
        [h2_settings(&[]), frame(1, 0, 1, &h2_get("/healthz"))].concat(),
    ]
}

async fn healthy(stream: &mut TcpStream) {
    stream.write_all(GET).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}

#[tokio::test]
async fn silent_connections_shut_nobody_out() {
    let options = ServeOptions {
        connections: 64,
        ..patient()
    };
    let running = Running::start(ServerSettings::default(), options).await;
    let mut silent = Vec::new();
    for bytes in silences().iter().cycle().take(70 * silences().len()) {
        silent.push(running.send(bytes).await);
    }
    let health = running.get("/healthz").await;
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    drop(silent);
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_whatever_it_began_to_send() {
    let options = ServeOptions {
        head: SHORT,
        ..patient()
    };
    let running = Running::start(ServerSettings::default(), options).await;
    for bytes in silences() {
        let closed = running.send(&bytes).await;
        rest(closed).await;
    }
}

#[tokio::test]
async fn a_connection_that_had_a_request_is_closed_when_idle() {
    let options = ServeOptions {
        idle: SHORT,
        ..patient()
    };
    let running = Running::start(ServerSettings::default(), options).await;
    let plain = rest(running.send(GET).await).await;
    assert!(plain.starts_with(b"HTTP/1.1 200"));
    let slow_head = [GET, b"GET /healthz HTTP/1.1\r\n"].concat();
    rest(running.send(&slow_head).await).await;
    let request = frame(1, 5, 1, &h2_get("/healthz"));
    let h2 = [h2_settings(&[]), request].concat();
    let answer = rest(running.send(&h2).await).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("\"status\":\"ok\""), "{text}");
}

/// A window of zero bytes: the response can never be sent.
#[tokio::test]
async fn an_answer_that_is_not_read_does_not_keep_its_connection() {
    let options = ServeOptions {
        idle: SHORT,
        ..patient()
    };
    let running = Running::start(ServerSettings::default(), options).await;
    let no_window = [0, 4, 0, 0, 0, 0];
    let request = frame(1, 5, 1, &h2_get("/healthz"));
    let unread = [h2_settings(&no_window), request].concat();
    let answer = rest(running.send(&unread).await).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(!text.contains("\"status\":\"ok\""), "{text}");
}

#[tokio::test]
async fn what_was_never_used_is_closed_first_and_then_what_is_idle_for_longest() {
    let options = ServeOptions {
        connections: 4,
        connections_per_address: Some(4),
        ..patient()
    };
    let running = Running::start(ServerSettings::default(), options).await;
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(running.connect().await);
    }
    // The oldest is used last.
    for used in [2, 3, 0] {
        healthy(&mut open[used]).await;
    }
    let mut newcomers = Vec::new();
    for closed in [1, 1] {
        let mut newcomer = running.connect().await;
        healthy(&mut newcomer).await;
        newcomers.push(newcomer);
        // The rest of its response, and its end.
        let left = rest(open.remove(closed)).await;
        assert!(!left.starts_with(b"HTTP"));
    }
    for kept in open.iter_mut().chain(&mut newcomers) {
        drain(kept).await;
        healthy(kept).await;
    }
}

/// Reads the rest of a health response.
async fn drain(stream: &mut TcpStream) {
    let mut left = Vec::new();
    while !left.ends_with(b"}") {
        assert_ne!(stream.read_buf(&mut left).await.unwrap(), 0);
    }
}

/// A frame of HTTP/2 as it was received.
struct Received {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;

async fn next_frame(connection: &mut TcpStream) -> Received {
    let mut head = [0; 9];
    connection.read_exact(&mut head).await.unwrap();
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    connection.read_exact(&mut payload).await.unwrap();
    Received {
        kind: head[3],
        flags: head[4],
        stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
        payload,
    }
}

/// Frames of an HTTP/2 connection, up to the response head of a stream. Returns whether the
/// response is a success.
async fn head(connection: &mut TcpStream, expected: u32) -> bool {
    loop {
        let frame = next_frame(connection).await;
        if frame.kind == HEADERS && frame.stream == expected {
            // `:status: 200` in the table that is always there.
            return frame.payload.first() == Some(&0x88);
        }
    }
}

const MASTER: &str = "the-master-key-of-these-tests";

/// A server that requires keys.
fn locked() -> ServerSettings {
    ServerSettings {
        master_key: Some(SecretString::new(MASTER)),
        ..ServerSettings::default()
    }
}

/// There is always a response that waits for its client, and always another one.
#[tokio::test]
async fn answers_that_nobody_reads_keep_no_connection_however_often_they_are_given_up() {
    let options = ServeOptions {
        connections: 4,
        connections_per_address: Some(4),
        ..patient()
    };
    let running = Running::start(locked(), options).await;
    let no_window = [0, 4, 0, 0, 0, 0];
    let mut unread = Vec::new();
    for path in ["/healthz", "/readyz", "/v1/skills", "/nothing-here"] {
        let mut connection = running.send(&h2_settings(&no_window)).await;
        for stream in [1, 3, 5, 7] {
            let mut frames = frame(1, 5, stream, &h2_get(path));
            if stream > 1 {
                frames.extend(frame(3, 0, stream - 2, &8_u32.to_be_bytes()));
            }
            connection.write_all(&frames).await.unwrap();
            head(&mut connection, stream).await;
        }
        unread.push(connection);
    }
    // Each of these has its own slot.
    let key = format!("x-api-key: {MASTER}\r\n");
    let mut uploads = Vec::new();
    for closed in unread {
        uploads.push(running.begin("/v1/files", &key, b"").await);
        rest(closed).await;
    }
    let busy = running.get("/v1/skills").await;
    assert!(busy.starts_with("HTTP/1.1 503"), "{busy}");
}

#[tokio::test]
async fn a_request_under_way_is_never_closed_for_others() {
    let options = ServeOptions {
        connections: 2,
        connections_per_address: Some(2),
        ..patient()
    };
    let running = Running::start(ServerSettings::default(), options).await;
    let uploads = [
        running.begin("/v1/files", "", b"").await,
        running.begin("/v1/files", "", b"").await,
    ];
    // New connections get an error in their dialect; health checks still succeed.
    for _ in 0..3 {
        let busy = running.get("/v1/skills").await;
        assert!(busy.starts_with("HTTP/1.1 503"), "{busy}");
        assert!(busy.contains("retry-after: 1\r\n"), "{busy}");
        assert!(busy.contains("\"code\":\"connections-busy\""), "{busy}");
        let health = running.get("/healthz").await;
        assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    }
    let silent = [running.connect().await, running.send(b"P").await];
    let health = running.get("/healthz").await;
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    drop((uploads, silent));
}

#[tokio::test]
async fn an_address_over_its_bound_evicts_its_own() {
    let options = ServeOptions {
        connections: 64,
        connections_per_address: Some(2),
        head: NEVER,
        ..patient()
    };
    let running = Running::start(ServerSettings::default(), options).await;
    let first = running.connect().await;
    let mut second = running.connect().await;
    let mut third = running.connect().await;
    rest(first).await;
    healthy(&mut second).await;
    healthy(&mut third).await;
}

#[tokio::test]
async fn a_tenant_cannot_have_every_request_under_way_whatever_it_asks_for() {
    let settings = ServerSettings {
        requests_per_tenant: 2,
        ..locked()
    };
    let running = Running::start(settings, patient()).await;
    let scopes = [KeyScope::Use, KeyScope::Publish];
    let slow = running.server.key("slow", &scopes).await;
    let other = running.server.key("other", &scopes).await;
    let header = format!("x-api-key: {slow}\r\n");
    let mut uploads = Vec::new();
    for path in ["/v1/files", "/v1/skills"] {
        uploads.push(running.begin(path, &header, b"").await);
    }
    for path in ["/v1/skills", "/v1/files", "/v1/models"] {
        let refused = get_with(&running, path, &slow).await;
        assert!(refused.starts_with("HTTP/1.1 429"), "{path}: {refused}");
        assert!(refused.contains("tenant-requests-busy"), "{refused}");
        for free in [other.as_str(), MASTER] {
            let answer = get_with(&running, path, free).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        }
    }
    drop(uploads.pop());
    while !get_with(&running, "/v1/skills", &slow)
        .await
        .starts_with("HTTP/1.1 200")
    {
        tokio::task::yield_now().await;
    }
}

async fn get_with(running: &Running, path: &str, key: &str) -> String {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\nconnection: close\r\n\r\n"
    );
    let stream = running.send(request.as_bytes()).await;
    String::from_utf8(rest(stream).await).unwrap()
}

/// A window of one byte: the response was passed on, and its rest waits for the client.
#[tokio::test]
async fn a_request_over_http_2_counts_until_its_response_was_sent() {
    let settings = ServerSettings {
        requests_per_tenant: 2,
        ..locked()
    };
    let running = Running::start(settings, patient()).await;
    let key = running.server.key("slow", &[KeyScope::Publish]).await;
    let request = [h2_get("/v1/skills"), h2_field("x-api-key", &key)].concat();
    let one_byte = [0, 4, 0, 0, 0, 1];
    let mut connection = running.send(&h2_settings(&one_byte)).await;
    let mut answers = Vec::new();
    for stream in [1, 3, 5, 7] {
        let request = frame(HEADERS, 5, stream, &request);
        connection.write_all(&request).await.unwrap();
        answers.push(head(&mut connection, stream).await);
        while next_frame(&mut connection).await.kind != DATA {}
    }
    assert_eq!(answers, [true, true, false, false]);
    let window = frame(4, 0, 0, &[0, 4, 0, 0, 0xff, 0xff]);
    connection.write_all(&window).await.unwrap();
    for _ in 0..answers.len() {
        loop {
            let frame = next_frame(&mut connection).await;
            if frame.kind == DATA && frame.flags & END_STREAM != 0 {
                break;
            }
        }
    }
    let request = frame(HEADERS, 5, 9, &request);
    connection.write_all(&request).await.unwrap();
    assert!(head(&mut connection, 9).await);
}

/// As few as RFC 9113 recommends, as each may keep a chunk that its client does not read; and as much
/// of a body that is not read yet as over HTTP/1.
#[tokio::test]
async fn a_connection_of_http_2_announces_a_hundred_streams_and_small_windows() {
    let running = Running::start(ServerSettings::default(), patient()).await;
    let mut connection = running.send(&h2_settings(&[])).await;
    let first = next_frame(&mut connection).await;
    assert_eq!((first.kind, first.flags, first.stream), (SETTINGS, 0, 0));
    let announced = |number: u8| {
        first.payload.chunks_exact(6).find_map(|setting| {
            let (id, value) = setting.split_at(2);
            (id == [0, number]).then(|| u32::from_be_bytes(value.try_into().unwrap()))
        })
    };
    // SETTINGS_MAX_CONCURRENT_STREAMS and SETTINGS_INITIAL_WINDOW_SIZE.
    assert_eq!(announced(3), Some(100));
    assert_eq!(announced(4), Some(64 << 10));
}

/// One chunk, sent in several.
#[tokio::test]
async fn a_large_answer_arrives_whole() {
    let running = Running::start(ServerSettings::default(), patient()).await;
    let answer = running.get("/openapi.json").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(body.len() > 64 << 10, "{}", body.len());
    let length = format!("content-length: {}\r\n", body.len());
    assert!(format!("{head}\r\n").contains(&length), "{head}");
    serde_json::from_str::<serde_json::Value>(body).unwrap();
}
