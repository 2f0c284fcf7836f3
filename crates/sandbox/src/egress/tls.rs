//! The name a TLS client says it wants, read from its first bytes.

/// What the first bytes of a connection tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// This name.
    Name(String),
    /// Too few bytes yet.
    More,
    /// Not a ClientHello with a name in it.
    None,
}

/// Longest ClientHello that is waited for.
pub(super) const LONGEST: usize = 16 << 10;

/// Reads the server name of a ClientHello.
pub(super) fn server_name(bytes: &[u8]) -> Hello {
    let Some((header, rest)) = bytes.split_first_chunk::<5>() else {
        return if bytes.first().is_none_or(|kind| *kind == HANDSHAKE) {
            Hello::More
        } else {
            Hello::None
        };
    };
    let [kind, 3, _, high, low] = *header else {
        return Hello::None;
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if kind != HANDSHAKE || length > LONGEST {
        return Hello::None;
    }
    let Some(record) = rest.get(..length) else {
        return Hello::More;
    };
    find_name(record).map_or(Hello::None, |name| Hello::Name(name.to_ascii_lowercase()))
}

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;

fn find_name(record: &[u8]) -> Option<String> {
    let mut hello = Reader(record);
    if hello.take(1)? != [CLIENT_HELLO] {
        return None;
    }
    hello.take(3 + 2 + 32)?;
    hello.prefixed(1)?;
    hello.prefixed(2)?;
    hello.prefixed(1)?;
    let mut extensions = Reader(hello.prefixed(2)?);
    loop {
        let kind = u16::from_be_bytes(extensions.take(2)?.try_into().ok()?);
        let mut extension = Reader(extensions.prefixed(2)?);
        if kind == SERVER_NAME {
            let mut names = Reader(extension.prefixed(2)?);
            let is_host = names.take(1)? == [0];
            let name = String::from_utf8(names.prefixed(2)?.to_vec()).ok()?;
            return is_host.then_some(name);
        }
    }
}

/// Bytes that are taken off one after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes as many bytes as the number before them, of `width` bytes, says.
    fn prefixed(&mut self, width: usize) -> Option<&'a [u8]> {
        let length = self
            .take(width)?
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        self.take(length)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A minimal ClientHello for a name.
    pub(crate) fn hello(name: &str) -> Vec<u8> {
        let prefixed = |width: usize, bytes: &[u8]| {
            let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
            [&length[4 - width..], bytes].concat()
        };
        let names = prefixed(2, &[&[0][..], &prefixed(2, name.as_bytes())].concat());
        let other = [&[0, 10][..], &prefixed(2, b"xx")].concat();
        let extensions = [other, [&[0, 0][..], &prefixed(2, &names)].concat()].concat();
        let body = [
            &[3, 3][..],
            &[0; 32],
            &[0],
            &prefixed(2, &[0, 1]),
            &[1, 0],
            &prefixed(2, &extensions),
        ]
        .concat();
        let message = [&[CLIENT_HELLO][..], &prefixed(3, &body)].concat();
        [&[HANDSHAKE, 3, 1][..], &prefixed(2, &message)].concat()
    }

    #[test]
    fn the_name_is_found_once_all_bytes_are_there() {
        let bytes = hello("Example.com");
        for end in 0..bytes.len() {
            assert_eq!(server_name(&bytes[..end]), Hello::More, "{end}");
        }
        assert_eq!(server_name(&bytes), Hello::Name("example.com".into()));
        assert_eq!(server_name(b"GET / HTTP/1.1\r\n"), Hello::None);
        assert_eq!(server_name(b"\x16\x03\x01\x00\x03abc"), Hello::None);
    }
}
