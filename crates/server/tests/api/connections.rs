//! Connections that do nothing: they shut nobody out, and do not stay.

use std::time::Duration;

use prowess_server::{ServeOptions, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::running::{NEVER, PREFACE, Running, frame, h2_get, h2_settings, patient, rest};

const GET: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
/// As short as the sweep can tell apart.
const SHORT: Duration = Duration::from_millis(100);

/// Every way to say nothing.
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
    let running = Running::start(Settings::default(), options).await;
    let mut silent = Vec::new();
    for bytes in silences().iter().cycle().take(70 * silences().len()) {
        silent.push(running.send(bytes).await);
    }
    let health = running.get("/healthz").await;
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    drop(silent);
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_whatever_it_began_to_say() {
    let options = ServeOptions {
        head: SHORT,
        ..patient()
    };
    let running = Running::start(Settings::default(), options).await;
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
    let running = Running::start(Settings::default(), options).await;
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

/// A window of no bytes: the answer can never be sent.
#[tokio::test]
async fn an_answer_that_is_not_read_does_not_keep_its_connection() {
    let options = ServeOptions {
        idle: SHORT,
        ..patient()
    };
    let running = Running::start(Settings::default(), options).await;
    let no_window = [0, 4, 0, 0, 0, 0];
    let request = frame(1, 5, 1, &h2_get("/healthz"));
    let unread = [h2_settings(&no_window), request].concat();
    let answer = rest(running.send(&unread).await).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(!text.contains("\"status\":\"ok\""), "{text}");
}

#[tokio::test]
async fn the_oldest_idle_connection_is_closed_first() {
    let options = ServeOptions {
        connections: 4,
        connections_per_address: Some(4),
        ..patient()
    };
    let running = Running::start(Settings::default(), options).await;
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(running.connect().await);
    }
    // Having answered does not make a connection younger.
    healthy(&mut open[0]).await;
    let mut newcomer = running.connect().await;
    assert_eq!(
        rest(open.remove(0))
            .await
            .windows(4)
            .filter(|w| w == b"HTTP")
            .count(),
        0
    );
    for kept in open.iter_mut().chain([&mut newcomer]) {
        healthy(kept).await;
    }
}

#[tokio::test]
async fn a_request_under_way_is_never_closed_for_others() {
    let options = ServeOptions {
        connections: 2,
        connections_per_address: Some(2),
        ..patient()
    };
    let running = Running::start(Settings::default(), options).await;
    let uploads = [
        running.begin("/v1/files", "", b"").await,
        running.begin("/v1/files", "", b"").await,
    ];
    // Whoever comes now is told so, in the words of its dialect; health is told as ever.
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
async fn an_address_over_its_bound_makes_room_among_its_own() {
    let options = ServeOptions {
        connections: 64,
        connections_per_address: Some(2),
        head: NEVER,
        ..patient()
    };
    let running = Running::start(Settings::default(), options).await;
    let first = running.connect().await;
    let mut second = running.connect().await;
    let mut third = running.connect().await;
    rest(first).await;
    healthy(&mut second).await;
    healthy(&mut third).await;
}
