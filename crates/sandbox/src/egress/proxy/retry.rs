//! The second ClientHello. A TLS 1.3 server may request another one, and some servers use
//! its name: so it must have the same name as the first.

use crate::egress::client_hello::{self, ParsedHello};
use std::io;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// The random bytes by which a ServerHello is a HelloRetryRequest (RFC 8446, 4.1.3).
pub(super) const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Their position: after the headers of record and message, and the version.
const RANDOM_START: usize = 5 + 4 + 2;
const RANDOM_END: usize = RANDOM_START + RETRY_RANDOM.len();

const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// Maximum bytes before the second ClientHello: data that the server ignores.
const MAX_SKIPPED_BYTES: usize = 64 << 10;

/// Reads enough of a server's first bytes to decide whether it requests another
/// ClientHello.
pub(super) async fn read_server_start(server: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4 << 10);
    while server.read_buf(&mut bytes).await? > 0 {
        if bytes.first() != Some(&HANDSHAKE) || bytes.len() >= RANDOM_END {
            break;
        }
    }
    Ok(bytes)
}

/// Whether these are the first bytes of a HelloRetryRequest.
pub(super) fn is_retry(answer: &[u8]) -> bool {
    answer.first() == Some(&HANDSHAKE)
        && answer.get(RANDOM_START..RANDOM_END) == Some(&RETRY_RANDOM[..])
}

/// Reads what a client sends up to the end of its second ClientHello.
pub(super) async fn read_second_hello(
    client: &mut TcpStream,
    bytes: &mut Vec<u8>,
) -> io::Result<ParsedHello> {
    loop {
        match second_server_name(bytes) {
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

/// The name in the first handshake record of these bytes.
fn second_server_name(bytes: &[u8]) -> ParsedHello {
    let mut rest = bytes;
    while let [
        CHANGE_CIPHER_SPEC | APPLICATION_DATA,
        _,
        _,
        high,
        low,
        after @ ..,
    ] = rest
    {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        match after.get(length..) {
            Some(next) => rest = next,
            None => break,
        }
    }
    let skipped = bytes.len() - rest.len();
    if skipped > MAX_SKIPPED_BYTES {
        return ParsedHello::Refused("too much comes before the second ClientHello");
    }
    match rest.first() {
        Some(&(CHANGE_CIPHER_SPEC | APPLICATION_DATA)) => ParsedHello::Incomplete,
        _ => client_hello::server_name(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::authority::HostName;
    use crate::egress::client_hello::tests::hello;

    #[test]
    fn the_name_is_found_behind_what_a_server_skips() {
        let ahead = [&[20, 3, 3, 0, 1, 1][..], &[23, 3, 3, 0, 2, 7, 7]].concat();
        let bytes = [ahead.clone(), hello("a.test")].concat();
        for end in 0..bytes.len() {
            assert_eq!(
                second_server_name(&bytes[..end]),
                ParsedHello::Incomplete,
                "{end}"
            );
        }
        let name = ParsedHello::Name(HostName::parse("a.test").unwrap());
        assert_eq!(second_server_name(&bytes), name);
        let refused = |bytes: &[u8]| matches!(second_server_name(bytes), ParsedHello::Refused(_));
        assert!(refused(&[&ahead[..], b"GET / HTTP/1.1"].concat()));
        assert!(refused(&[&ahead[..], &[22, 3, 3, 0, 1, 1]].concat()));
        let record = [&[23, 3, 3, 0x40, 0][..], &[0; 0x4000]].concat();
        assert!(refused(&record.repeat(5)));
    }
}
