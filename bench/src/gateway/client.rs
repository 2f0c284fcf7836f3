//! Clients that ask again as soon as they are answered, each on one connection.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::task::JoinSet;

use super::http1::HttpMessages;

/// A request, ready to be sent.
#[derive(Debug, Clone)]
pub struct ModelRequest(Vec<u8>);

impl ModelRequest {
    /// A request in the Messages dialect, as an SDK sends it.
    pub fn messages(model: &str, prompt: &str, stream: bool) -> ModelRequest {
        let body = format!(
            r#"{{"model":"{model}","max_tokens":1024,"stream":{stream},"messages":[{{"role":"user","content":"{prompt}"}}]}}"#
        );
        ModelRequest(format!(
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json\r\nanthropic-version: 2023-06-01\r\nx-api-key: sk-client\r\n\
             user-agent: Anthropic/Python 2.8.0\r\nx-stainless-lang: python\r\n\
             x-stainless-runtime: CPython\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes())
    }

    /// A request of about one kilobyte that is answered at once.
    pub fn small(model: &str) -> ModelRequest {
        ModelRequest::messages(model, &"Tell me about the weather. ".repeat(30), false)
    }
}

/// Totals of response bodies.
#[derive(Debug, Clone, Copy, Default)]
pub struct BodyTotals {
    /// Bytes of the body.
    pub bytes: u64,
    /// Events, counted by the empty lines that end them.
    pub events: u64,
}

/// One connection.
pub struct LoadClient {
    messages: HttpMessages,
    write: OwnedWriteHalf,
}

impl LoadClient {
    /// Connects.
    pub async fn connect(address: SocketAddr) -> Result<LoadClient> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (read, write) = socket.into_split();
        Ok(LoadClient {
            messages: HttpMessages::new(read),
            write,
        })
    }

    /// Sends a request and reads the whole response.
    pub async fn send_and_read(&mut self, request: &ModelRequest) -> Result<BodyTotals> {
        let framing = self.send(request).await?;
        let mut totals = BodyTotals::default();
        let mut last = 0;
        self.messages
            .body(framing, |piece| {
                totals.bytes += piece.len() as u64;
                for byte in piece {
                    totals.events += u64::from(*byte == b'\n' && last == b'\n');
                    last = *byte;
                }
            })
            .await?;
        Ok(totals)
    }

    /// Sends a request and reads only the head of the response.
    pub async fn send_and_read_head(&mut self, request: &ModelRequest) -> Result<()> {
        self.send(request).await?;
        Ok(())
    }

    async fn send(&mut self, request: &ModelRequest) -> Result<super::http1::BodyFraming> {
        self.write.write_all(&request.0).await?;
        let head = self.messages.head().await?;
        let (head, framing) = head.context("closed without a response")?;
        ensure!(
            head.starts_with("HTTP/1.1 200"),
            "unexpected response: {head}"
        );
        Ok(framing)
    }
}

/// Connects many clients, one after the other.
pub async fn connect(address: SocketAddr, clients: usize) -> Result<Vec<LoadClient>> {
    let mut connected = Vec::with_capacity(clients);
    for _ in 0..clients {
        connected.push(LoadClient::connect(address).await?);
    }
    Ok(connected)
}

/// The result of concurrent requests.
#[derive(Debug, Default)]
pub struct LoadResult {
    /// From each request's first byte to its response's last.
    pub times: Vec<Duration>,
    /// Totals of all responses.
    pub got: BodyTotals,
}

/// Every client sends `each` requests, concurrently; returns the clients.
pub async fn send_concurrently(
    clients: Vec<LoadClient>,
    request: &ModelRequest,
    each: usize,
) -> Result<(Vec<LoadClient>, LoadResult)> {
    let mut running = JoinSet::new();
    for mut client in clients {
        let request = request.clone();
        running.spawn(async move {
            let mut result = LoadResult::default();
            for _ in 0..each {
                let start = Instant::now();
                let totals = client.send_and_read(&request).await?;
                result.times.push(start.elapsed());
                result.got.bytes += totals.bytes;
                result.got.events += totals.events;
            }
            anyhow::Ok((client, result))
        });
    }
    let (mut clients, mut all) = (Vec::new(), LoadResult::default());
    while let Some(done) = running.join_next().await {
        let (client, result) = done??;
        clients.push(client);
        all.times.extend(result.times);
        all.got.bytes += result.got.bytes;
        all.got.events += result.got.events;
    }
    Ok((clients, all))
}
