//! What a server answers to a ClientHello, and the second ClientHello. A TLS 1.3 server may
//! request another one, and some servers use its name: so it must have the same name as the
//! first. Whoever answers otherwise than with a ServerHello gets nothing more of the client, which
//! could name another server in it.

use crate::egress::client_hello::{self, ParsedHello};
use std::io;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// The random bytes by which a ServerHello is a HelloRetryRequest (RFC 8446, 4.1.3).
pub(super) const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Their position in a message: after its header, and the version.
const RANDOM_START: usize = 4 + 2;
const RANDOM_END: usize = RANDOM_START + RETRY_RANDOM.len();

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

const SERVER_HELLO: u8 = 2;
const WARNING: u8 = 1;

/// Maximum bytes before the second ClientHello: data that the server ignores.
const MAX_SKIPPED_BYTES: usize = 64 << 10;

/// What the first bytes of a server are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerStart {
    Incomplete,
    /// The beginning of a HelloRetryRequest.
    Retry,
    /// The beginning of another ServerHello.
    Accepted,
    /// An alert that ends the connection, or not TLS.
    Refused,
}

/// Reads enough of a server's first bytes to decide what they are.
pub(super) async fn read_server_start(
    server: &mut TcpStream,
) -> io::Result<(Vec<u8>, ServerStart)> {
    let mut bytes = Vec::with_capacity(4 << 10);
    loop {
        let start = server_start(&bytes);
        if start != ServerStart::Incomplete {
            return Ok((bytes, start));
        }
        let is_too_much = bytes.len() > MAX_SKIPPED_BYTES;
        if is_too_much || server.read_buf(&mut bytes).await? == 0 {
            return Ok((bytes, ServerStart::Refused));
        }
    }
}

/// A message may be in several records, and warnings may come before it.
fn server_start(bytes: &[u8]) -> ServerStart {
    let (mut rest, mut message) = (bytes, Vec::new());
    loop {
        let (kind, length, content) = match rest {
            [kind, 3, _, high, low, after @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                (*kind, length, after.get(..length).unwrap_or(after))
            }
            []
            | [ALERT | HANDSHAKE]
            | [ALERT | HANDSHAKE, 3]
            | [ALERT | HANDSHAKE, 3, _]
            | [ALERT | HANDSHAKE, 3, _, _] => return ServerStart::Incomplete,
            _ => return ServerStart::Refused,
        };
        match (kind, content) {
            (HANDSHAKE, _) if length > 0 => message.extend_from_slice(content),
            (ALERT, []) if length == 2 => return ServerStart::Incomplete,
            (ALERT, [WARNING, ..]) if length == 2 && message.is_empty() => {}
            _ => return ServerStart::Refused,
        }
        match (message.first(), message.get(RANDOM_START..RANDOM_END)) {
            (Some(kind), _) if *kind != SERVER_HELLO => return ServerStart::Refused,
            (_, Some(random)) if random == RETRY_RANDOM => return ServerStart::Retry,
            (_, Some(_)) => return ServerStart::Accepted,
            (_, None) => {}
        }
        match rest.get(5 + length..) {
            Some(next) => rest = next,
            None => return ServerStart::Incomplete,
        }
    }
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

    /// A record of this kind.
    fn record(kind: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[kind, 3, 3][..], &length, content].concat()
    }

    fn server_hello(random: &[u8; 32]) -> Vec<u8> {
        [&[SERVER_HELLO, 0, 0, 84, 3, 3][..], random, &[0; 50]].concat()
    }

    #[test]
    fn a_retry_is_found_in_any_records_and_behind_warnings() {
        for (random, expected) in [
            (RETRY_RANDOM, ServerStart::Retry),
            ([7; 32], ServerStart::Accepted),
        ] {
            let message = server_hello(&random);
            let pieces = |size: usize| -> Vec<u8> {
                let pieces = message.chunks(size);
                pieces.flat_map(|piece| record(HANDSHAKE, piece)).collect()
            };
            let warning = record(ALERT, &[WARNING, 112]);
            for size in [1, 3, 37, 38, 39, 200] {
                for ahead in [Vec::new(), warning.clone(), warning.repeat(3)] {
                    let all = [ahead, pieces(size)].concat();
                    assert_eq!(server_start(&all), expected, "{size}");
                    let end = (0..all.len()).find(|end| {
                        let start = server_start(all.get(..*end).unwrap_or_default());
                        start != ServerStart::Incomplete
                    });
                    let start = server_start(all.get(..end.unwrap()).unwrap_or_default());
                    assert_eq!(start, expected, "{size}");
                }
            }
        }
    }

    #[test]
    fn whoever_answers_with_something_else_refuses() {
        let hello = server_hello(&[7; 32]);
        for answer in [
            b"HTTP/1.1 400 Bad Request".to_vec(),
            record(ALERT, &[2, 112]),
            record(ALERT, &[WARNING, 112, 0]),
            record(CHANGE_CIPHER_SPEC, &[1]),
            record(APPLICATION_DATA, &hello),
            record(HANDSHAKE, &[]),
            record(HANDSHAKE, &[1, 0, 0, 1]),
            [record(HANDSHAKE, &hello[..9]), record(ALERT, &[WARNING, 0])].concat(),
            b"\x16 and".to_vec(),
        ] {
            assert_eq!(server_start(&answer), ServerStart::Refused, "{answer:?}");
        }
    }

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
