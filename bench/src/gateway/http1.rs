//! Just enough of HTTP/1.1 to read messages from a socket: heads, and bodies with a
//! length or in chunks.

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::tcp::OwnedReadHalf;

/// Larger heads are not sent here.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// The read side of a connection.
pub(super) struct HttpMessages {
    socket: BufReader<OwnedReadHalf>,
    head: Vec<u8>,
    line: Vec<u8>,
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFraming {
    Length(u64),
    Chunks,
}

impl HttpMessages {
    pub(super) fn new(socket: OwnedReadHalf) -> Self {
        HttpMessages {
            socket: BufReader::with_capacity(32 << 10, socket),
            head: Vec::new(),
            line: Vec::new(),
        }
    }

    /// The next head, and how its body is framed; none when the peer has closed.
    pub(super) async fn head(&mut self) -> Result<Option<(&str, BodyFraming)>> {
        self.head.clear();
        loop {
            let before = self.head.len();
            let ended = read_line(&mut self.socket, &mut self.head).await?;
            if !ended && self.head.is_empty() {
                return Ok(None);
            }
            ensure!(ended, "the connection closed inside a head");
            ensure!(self.head.len() < MAX_HEAD_BYTES, "a head is too large");
            if self.head.len() - before == 2 {
                break;
            }
        }
        let head = std::str::from_utf8(&self.head).context("a head is no text")?;
        Ok(Some((head, framing(head)?)))
    }

    /// Reads a body, giving each piece as it comes.
    pub(super) async fn body(
        &mut self,
        framing: BodyFraming,
        mut piece: impl FnMut(&[u8]),
    ) -> Result<()> {
        match framing {
            BodyFraming::Length(length) => self.read_bytes(length, &mut piece).await,
            BodyFraming::Chunks => loop {
                let length = self.chunk_length().await?;
                self.read_bytes(length, &mut piece).await?;
                self.line.clear();
                read_line(&mut self.socket, &mut self.line).await?;
                if length == 0 {
                    return Ok(());
                }
            },
        }
    }

    async fn chunk_length(&mut self) -> Result<u64> {
        self.line.clear();
        let ended = read_line(&mut self.socket, &mut self.line).await?;
        ensure!(ended, "the connection closed inside a body");
        let line = std::str::from_utf8(&self.line)?.trim_end();
        u64::from_str_radix(line, 16).with_context(|| format!("no chunk's length: {line:?}"))
    }

    async fn read_bytes(&mut self, mut left: u64, piece: &mut impl FnMut(&[u8])) -> Result<()> {
        use tokio::io::AsyncBufReadExt;
        while left > 0 {
            let ready = self.socket.fill_buf().await?;
            ensure!(!ready.is_empty(), "the connection closed inside a body");
            let part = ready.len().min(usize::try_from(left)?);
            piece(ready.get(..part).unwrap_or_default());
            self.socket.consume(part);
            left -= part as u64;
        }
        Ok(())
    }

    /// Waits until the peer closes; anything it still sends is a surprise.
    pub(super) async fn closed(&mut self) -> Result<()> {
        let mut byte = [0];
        // A connection that was reset is closed too.
        match self.socket.read(&mut byte).await {
            Ok(0) | Err(_) => Ok(()),
            Ok(_) => bail!("a byte came after the end"),
        }
    }
}

/// Appends a line with its end; false when the connection closed before it.
async fn read_line(socket: &mut BufReader<OwnedReadHalf>, line: &mut Vec<u8>) -> Result<bool> {
    use tokio::io::AsyncBufReadExt;
    socket.read_until(b'\n', line).await?;
    Ok(line.last() == Some(&b'\n'))
}

fn framing(head: &str) -> Result<BodyFraming> {
    let mut framing = BodyFraming::Length(0);
    for line in head.lines().skip(1) {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            framing = BodyFraming::Length(value.trim().parse()?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            framing = BodyFraming::Chunks;
        }
    }
    Ok(framing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heads_framing_is_found_whatever_the_case_of_its_names() {
        let of = |line: &str| framing(&format!("HTTP/1.1 200 OK\r\n{line}\r\n\r\n")).unwrap();
        assert_eq!(of("Content-Length: 12"), BodyFraming::Length(12));
        assert_eq!(of("transfer-encoding: chunked"), BodyFraming::Chunks);
        assert_eq!(of("date: today"), BodyFraming::Length(0));
    }
}
