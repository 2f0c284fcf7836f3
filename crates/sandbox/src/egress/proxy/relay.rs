//! Reads heads and copies bytes within limits of time and memory.

use super::ProxyTimeouts;
use crate::egress::client_hello::{self, ParsedHello};
use crate::egress::head::MAX_HEAD_BYTES;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes in flight, in each direction of a connection.
const BUFFER_BYTES: usize = 16 << 10;

/// Initial buffer of a head, which is usually enough.
const HEAD_BUFFER_BYTES: usize = 4 << 10;

/// Limits on reading from a client after its response.
const MAX_DRAINED_BYTES: u64 = 256 << 10;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads up to the empty line; returns the head and the bytes after it. `None` when the
/// client closes the connection before, or the head is too long.
pub(super) async fn read_head(
    client: &mut (impl AsyncRead + Unpin),
) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut bytes = Vec::with_capacity(HEAD_BUFFER_BYTES);
    let mut searched: usize = 0;
    loop {
        let new = bytes.get(searched..).unwrap_or_default();
        if let Some(end) = new.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(searched + end + 4);
            return Ok(Some((bytes, rest)).filter(|(head, _)| head.len() <= MAX_HEAD_BYTES));
        }
        searched = bytes.len().saturating_sub(3);
        if bytes.len() > MAX_HEAD_BYTES || client.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

/// Reads until the ClientHello is complete or invalid.
pub(super) async fn read_hello(
    client: &mut TcpStream,
    bytes: &mut Vec<u8>,
) -> io::Result<ParsedHello> {
    loop {
        match client_hello::server_name(bytes) {
            ParsedHello::Incomplete if client.read_buf(bytes).await? > 0 => {}
            ParsedHello::Incomplete => {
                return Ok(ParsedHello::Refused(
                    "the client closed the connection within its ClientHello",
                ));
            }
            other => return Ok(other),
        }
    }
}

/// Copies all bytes in both directions.
pub(super) async fn tunnel(
    mut client: TcpStream,
    mut server: TcpStream,
    timeouts: &ProxyTimeouts,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let progress = Progress::default();
    let there = async {
        pump(&mut from_client, &mut to_server, &progress).await?;
        to_server.shutdown().await
    };
    let back = async {
        pump(&mut from_server, &mut to_client, &progress).await?;
        to_client.shutdown().await
    };
    let both = async { tokio::try_join!(there, back).map(drop) };
    progress.with_timeouts(both, timeouts).await
}

/// One request: its head, and the start and length of its body.
pub(super) struct OutgoingRequest<'a> {
    pub(super) head: &'a [u8],
    /// Bytes that were read together with the head.
    pub(super) rest: &'a [u8],
    pub(super) body_bytes: u64,
}

/// Sends one request with exactly its body, and copies the response. A second request on
/// the same connection would be unchecked.
pub(super) async fn exchange(
    client: impl AsyncRead + AsyncWrite,
    server: impl AsyncRead + AsyncWrite,
    outgoing: OutgoingRequest<'_>,
    timeouts: &ProxyTimeouts,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let progress = Progress::default();
    let request = async {
        match send(outgoing, &mut from_client, &mut to_server, &progress).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => error,
            // A server may respond before it has read all, and need not read the rest.
            _ => {
                wait_closed(&mut from_client).await;
                progress.wait_stalled(timeouts.half_closed).await;
                io::ErrorKind::ConnectionAborted.into()
            }
        }
    };
    let answer = async {
        pump(&mut from_server, &mut to_client, &progress).await?;
        to_client.shutdown().await
    };
    let both = async {
        tokio::select! {
            done = answer => done,
            error = request => Err(error),
        }
    };
    progress.with_timeouts(both, timeouts).await?;
    drain(&mut from_client).await;
    Ok(())
}

/// Sends head and body. An unexpected end means that the client closed within its body.
async fn send(
    outgoing: OutgoingRequest<'_>,
    from_client: &mut (impl AsyncRead + Unpin),
    to_server: &mut (impl AsyncWrite + Unpin),
    progress: &Progress,
) -> io::Result<()> {
    to_server.write_all(outgoing.head).await?;
    to_server.flush().await?;
    let mut body = outgoing.rest.chain(from_client).take(outgoing.body_bytes);
    pump(&mut body, to_server, progress).await?;
    match body.limit() {
        0 => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Waits until the client has closed its side; never returns while it keeps sending.
async fn wait_closed(from_client: &mut (impl AsyncRead + Unpin)) {
    let mut rest = from_client.take(MAX_DRAINED_BYTES);
    let mut nowhere = tokio::io::sink();
    // An error counts as closed.
    let _ = tokio::io::copy(&mut rest, &mut nowhere).await;
    if rest.limit() == 0 {
        std::future::pending::<()>().await;
    }
}

async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    progress: &Progress,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        progress.step();
        to.write_all(buffer.get(..length).unwrap_or_default())
            .await?;
        to.flush().await?;
        progress.step();
    }
}

/// Counts progress, so that an idle connection can be closed.
#[derive(Default)]
struct Progress(AtomicU64);

impl Progress {
    fn step(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    async fn with_timeouts(
        &self,
        work: impl Future<Output = io::Result<()>>,
        timeouts: &ProxyTimeouts,
    ) -> io::Result<()> {
        tokio::select! {
            done = work => done,
            () = self.wait_stalled(timeouts.idle) => Err(io::ErrorKind::TimedOut.into()),
            () = tokio::time::sleep(timeouts.total) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn wait_stalled(&self, idle: Duration) {
        let mut before = u64::MAX;
        loop {
            let now = self.0.load(Ordering::Relaxed);
            if now == before {
                return;
            }
            before = now;
            tokio::time::sleep(idle).await;
        }
    }
}

/// Sends a response to a refused client and closes the connection.
pub(super) async fn respond_and_close(
    client: &mut (impl AsyncRead + AsyncWrite + Unpin),
    status: &str,
    text: &str,
) -> io::Result<()> {
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n"
    );
    client.write_all((head + text).as_bytes()).await?;
    client.shutdown().await?;
    drain(client).await;
    Ok(())
}

/// Reads on for a while after the response: closing a connection with unread bytes can
/// discard the response.
async fn drain(client: &mut (impl AsyncRead + Unpin)) {
    let mut rest = client.take(MAX_DRAINED_BYTES);
    let mut nowhere = tokio::io::sink();
    let drained = tokio::io::copy(&mut rest, &mut nowhere);
    // The client has its response; the result does not matter.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, drained).await;
}
