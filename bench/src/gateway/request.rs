//! Single requests, each on a connection of its own, and whatever answers them.
//!
//! Unlike [`client`](super::client), which measures a server that answers, this is for
//! servers that may refuse, answer badly, or not at all.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

use super::http1::HttpMessages;

/// Larger answers are not expected here.
const MAX_RESPONSE_BYTES: usize = 8 << 20;
/// Separates the parts of a form; none of what is sent here contains it.
const BOUNDARY: &str = "prowess-bench-boundary";

/// A server, and the address of this machine that it is called from.
#[derive(Debug, Clone, Copy)]
pub struct BenchEndpoint {
    /// The server.
    pub server: SocketAddr,
    /// An address of the loopback network.
    pub source: Ipv4Addr,
}

impl BenchEndpoint {
    /// Connects.
    pub async fn connect(&self) -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        // Many short connections in a row must not run out of ports.
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::new(IpAddr::V4(self.source), 0))?;
        let stream = socket.connect(self.server).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// A request, ready to be sent.
#[derive(Debug, Clone)]
pub struct BenchRequest(Vec<u8>);

impl BenchRequest {
    /// Without a body.
    pub fn new(method: &str, path: &str, key: &str) -> BenchRequest {
        BenchRequest::with_body(method, path, key, "", b"")
    }

    /// With a JSON body.
    pub fn json(path: &str, key: &str, body: &Value) -> BenchRequest {
        let body = body.to_string();
        BenchRequest::with_body("POST", path, key, "application/json", body.as_bytes())
    }

    /// With a form that holds one file.
    pub fn form(path: &str, key: &str, field: &str, file: &str, content: &[u8]) -> BenchRequest {
        let mut body = form_start(field, file).into_bytes();
        body.extend_from_slice(content);
        body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        BenchRequest::with_body("POST", path, key, &form_type(), &body)
    }

    fn with_body(method: &str, path: &str, key: &str, kind: &str, body: &[u8]) -> BenchRequest {
        let mut bytes = head(method, path, key, kind, body.len()).into_bytes();
        bytes.extend_from_slice(body);
        BenchRequest(bytes)
    }

    /// The same with another header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> BenchRequest {
        // After the first line.
        if let Some(end) = self.0.iter().position(|byte| *byte == b'\n') {
            let line = format!("{name}: {value}\r\n");
            self.0.splice(end + 1..end + 1, line.into_bytes());
        }
        self
    }

    /// Sends it on a new connection and reads the whole answer, all within `limit`.
    pub async fn send(&self, endpoint: &BenchEndpoint, limit: Duration) -> Result<BenchResponse> {
        let exchange = tokio::time::timeout(limit, self.exchange(endpoint)).await;
        exchange.with_context(|| format!("no answer within {} s", limit.as_secs()))?
    }

    async fn exchange(&self, endpoint: &BenchEndpoint) -> Result<BenchResponse> {
        let (read, mut write) = endpoint.connect().await?.into_split();
        // A server may answer and close before it has read everything.
        let written = write.write_all(&self.0).await;
        let mut messages = HttpMessages::new(read);
        let Some((head, framing)) = messages.head().await? else {
            written?;
            anyhow::bail!("closed without an answer");
        };
        let status = head.split(' ').nth(1).unwrap_or_default();
        let status = status.parse().context("an answer without a status")?;
        let mut body = Vec::new();
        let mut whole = true;
        messages
            .body(framing, |piece| {
                whole &= body.len() + piece.len() <= MAX_RESPONSE_BYTES;
                if whole {
                    body.extend_from_slice(piece);
                }
            })
            .await?;
        ensure!(whole, "an answer of more than {MAX_RESPONSE_BYTES} bytes");
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(BenchResponse { status, body })
    }
}

/// The head of a request that asks the server to close the connection afterwards.
pub fn head(method: &str, path: &str, key: &str, kind: &str, length: usize) -> String {
    let kind = match kind {
        "" => String::new(),
        kind => format!("content-type: {kind}\r\n"),
    };
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         {kind}content-length: {length}\r\nconnection: close\r\n\r\n"
    )
}

/// The content type of a form.
pub fn form_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// How a form with one file begins; the file's bytes follow.
pub fn form_start(field: &str, file: &str) -> String {
    format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{field}\"; filename=\"{file}\"\r\n\
         content-type: application/zip\r\n\r\n"
    )
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct BenchResponse {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub body: String,
}

impl BenchResponse {
    /// The body, when it is JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.body).ok()
    }
}
