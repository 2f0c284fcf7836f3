//! An upstream whose streams end when the test wants it.

use reqwest::Response;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::ReloadedServer;
use crate::server::MASTER;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

pub(super) struct SlowStream {
    url: String,
    released: watch::Sender<bool>,
}

/// A stream that a client reads.
pub(super) struct OpenStream {
    response: Response,
    received: String,
    last: &'static str,
}

impl SlowStream {
    pub(super) async fn start() -> SlowStream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let released = watch::Sender::new(false);
        let waiting = released.subscribe();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(respond(stream, waiting.clone()));
            }
        });
        SlowStream { url, released }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Begins a stream through the gateway, and reads its first part.
    pub(super) async fn open(&self, server: &ReloadedServer, path: &str) -> OpenStream {
        let body = json!({
            "model": "long", "stream": true, "max_tokens": 10,
            "messages": [{ "role": "user", "content": "hi" }],
        });
        let request = server.http.post(format!("{}{path}", server.server.url()));
        let request = request
            .header("x-api-key", MASTER)
            .header("anthropic-version", "2023-06-01");
        let response = request.json(&body).send().await.unwrap();
        let mut stream = OpenStream {
            response,
            received: String::new(),
            last: match path.ends_with("messages") {
                true => "message_stop",
                false => "data: [DONE]",
            },
        };
        stream.read_until("before").await;
        stream
    }

    /// Lets all streams end.
    pub(super) fn release(&self) {
        self.released.send_replace(true);
    }
}

impl OpenStream {
    async fn read_until(&mut self, text: &str) {
        while !self.received.contains(text) {
            let chunk = self.response.chunk().await.unwrap();
            let chunk = chunk.unwrap_or_else(|| panic!("it ended: {}", self.received));
            self.received += std::str::from_utf8(&chunk).unwrap();
        }
    }

    pub(super) async fn ends_whole(mut self) {
        assert!(!self.received.contains("after"), "{}", self.received);
        self.read_until("after").await;
        let last = self.last;
        self.read_until(last).await;
    }
}

/// The first part of a stream at once, the rest when released.
async fn respond(mut stream: TcpStream, mut released: watch::Receiver<bool>) {
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
    }
    let chunk = |text: &str, reason: Option<&str>| {
        let delta = json!({ "role": "assistant", "content": text });
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let chunk = json!({
            "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "long",
            "choices": [choice],
        });
        format!("data: {chunk}\n\n")
    };
    let first = format!("{HEAD}{}", chunk("before", None));
    stream.write_all(first.as_bytes()).await.unwrap();
    released.wait_for(|released| *released).await.unwrap();
    let rest = format!("{}data: [DONE]\n\n", chunk("after", Some("stop")));
    stream.write_all(rest.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
}
