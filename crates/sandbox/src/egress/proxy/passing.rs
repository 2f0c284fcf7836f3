//! Reading what a client asks for, and passing bytes on.

use crate::egress::head::{self, Asked};
use crate::egress::tls::{self, Hello};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Reads up to the empty line; returns what was asked and the bytes that came after.
pub(super) async fn read_head(client: &mut TcpStream) -> io::Result<(Option<Asked>, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let rest = bytes.split_off(end + 4);
            return Ok((head::parse(&bytes), rest));
        }
        if bytes.len() > head::LONGEST || client.read_buf(&mut bytes).await? == 0 {
            return Ok((None, Vec::new()));
        }
    }
}

pub(super) async fn read_hello(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while tls::server_name(&bytes) == Hello::More {
        if bytes.len() > tls::LONGEST || client.read_buf(&mut bytes).await? == 0 {
            break;
        }
    }
    Ok(bytes)
}

/// Sends one request, with exactly its body, and returns all that comes back. A second
/// request on the same connection would be one that nothing has looked at.
pub(super) async fn pass_on(
    mut client: TcpStream,
    mut server: TcpStream,
    head: &str,
    rest: &[u8],
    body: u64,
) -> io::Result<()> {
    server.write_all(head.as_bytes()).await?;
    let (from_client, to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let mut to_client = to_client;
    let request = async {
        let mut body_bytes = rest.chain(from_client).take(body);
        tokio::io::copy(&mut body_bytes, &mut to_server).await
    };
    let answer = tokio::io::copy(&mut from_server, &mut to_client);
    tokio::try_join!(request, answer)?;
    to_client.shutdown().await
}
