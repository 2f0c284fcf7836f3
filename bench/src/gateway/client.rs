//! Clients that ask again as soon as they are answered, each on one connection.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::task::JoinSet;

use super::http1::Messages;

/// A request, ready to be sent.
#[derive(Debug, Clone)]
pub struct Ask(Vec<u8>);

impl Ask {
    /// A question in the Messages dialect, as an SDK sends it.
    pub fn messages(model: &str, prompt: &str, stream: bool) -> Ask {
        let body = format!(
            r#"{{"model":"{model}","max_tokens":1024,"stream":{stream},"messages":[{{"role":"user","content":"{prompt}"}}]}}"#
        );
        Ask(format!(
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json\r\nanthropic-version: 2023-06-01\r\nx-api-key: sk-client\r\n\
             user-agent: Anthropic/Python 2.8.0\r\nx-stainless-lang: python\r\n\
             x-stainless-runtime: CPython\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes())
    }

    /// A question of one kilobyte or so that is answered at once.
    pub fn small(model: &str) -> Ask {
        Ask::messages(model, &"Tell me about the weather. ".repeat(30), false)
    }
}

/// What a client got.
#[derive(Debug, Clone, Copy, Default)]
pub struct Got {
    /// Bytes of the body.
    pub bytes: u64,
    /// Events, as told by the empty lines that end them.
    pub events: u64,
}

/// One connection.
pub struct Client {
    messages: Messages,
    write: OwnedWriteHalf,
}

impl Client {
    /// Connects.
    pub async fn connect(address: SocketAddr) -> Result<Client> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (read, write) = socket.into_split();
        Ok(Client {
            messages: Messages::new(read),
            write,
        })
    }

    /// Asks, and reads the whole answer.
    pub async fn ask(&mut self, ask: &Ask) -> Result<Got> {
        let framing = self.send(ask).await?;
        let mut got = Got::default();
        let mut last = 0;
        self.messages
            .body(framing, |piece| {
                got.bytes += piece.len() as u64;
                for byte in piece {
                    got.events += u64::from(*byte == b'\n' && last == b'\n');
                    last = *byte;
                }
            })
            .await?;
        Ok(got)
    }

    /// Asks, and reads no more than the head of the answer.
    pub async fn begin(&mut self, ask: &Ask) -> Result<()> {
        self.send(ask).await?;
        Ok(())
    }

    async fn send(&mut self, ask: &Ask) -> Result<super::http1::Framing> {
        self.write.write_all(&ask.0).await?;
        let head = self.messages.head().await?;
        let (head, framing) = head.context("closed without an answer")?;
        ensure!(head.starts_with("HTTP/1.1 200"), "not answered: {head}");
        Ok(framing)
    }
}

/// Connects many clients, one after the other.
pub async fn connect(address: SocketAddr, clients: usize) -> Result<Vec<Client>> {
    let mut connected = Vec::with_capacity(clients);
    for _ in 0..clients {
        connected.push(Client::connect(address).await?);
    }
    Ok(connected)
}

/// What a volley took.
#[derive(Debug, Default)]
pub struct Volley {
    /// From each request's first byte to its answer's last.
    pub times: Vec<Duration>,
    /// What came in all.
    pub got: Got,
}

/// Has every client ask `each` times, all at once, and gives the clients back.
pub async fn volley(clients: Vec<Client>, ask: &Ask, each: usize) -> Result<(Vec<Client>, Volley)> {
    let mut running = JoinSet::new();
    for mut client in clients {
        let ask = ask.clone();
        running.spawn(async move {
            let mut volley = Volley::default();
            for _ in 0..each {
                let start = Instant::now();
                let got = client.ask(&ask).await?;
                volley.times.push(start.elapsed());
                volley.got.bytes += got.bytes;
                volley.got.events += got.events;
            }
            anyhow::Ok((client, volley))
        });
    }
    let (mut clients, mut all) = (Vec::new(), Volley::default());
    while let Some(done) = running.join_next().await {
        let (client, volley) = done??;
        clients.push(client);
        all.times.extend(volley.times);
        all.got.bytes += volley.got.bytes;
        all.got.events += volley.got.events;
    }
    Ok((clients, all))
}
