//! ClientHellos that name a server in different ways, of which one is accepted.

use super::*;

fn prefixed(width: usize, bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&length[4 - width..], bytes].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &prefixed(2, content)].concat()
}

/// An entry of a `server_name` extension.
fn entry(kind: u8, name: &str) -> Vec<u8> {
    [&[kind][..], &prefixed(2, name.as_bytes())].concat()
}

fn server_names(entries: &[Vec<u8>]) -> Vec<u8> {
    extension(SERVER_NAME, &prefixed(2, &entries.concat()))
}

fn message(extensions: &[u8]) -> Vec<u8> {
    let suites = prefixed(2, &[0, 1]);
    let body = [&[3, 3][..], &[0; 32], &[0], &suites, &[1, 0], extensions].concat();
    [&[CLIENT_HELLO][..], &prefixed(3, &body)].concat()
}

fn record(message: &[u8]) -> Vec<u8> {
    [&[HANDSHAKE, 3, 1][..], &prefixed(2, message)].concat()
}

/// A ClientHello with these extensions.
pub(crate) fn hello_with(extensions: &[Vec<u8>]) -> Vec<u8> {
    record(&message(&prefixed(2, &extensions.concat())))
}

/// A minimal ClientHello for a name.
pub(crate) fn hello(name: &str) -> Vec<u8> {
    hello_with(&[
        extension(10, b"xx"),
        server_names(&[entry(HOST_NAME, name)]),
    ])
}

/// ClientHellos that name two servers, or none that can be checked.
pub(crate) fn ambiguous(name: &str, other: &str) -> Vec<Vec<u8>> {
    let one = entry(HOST_NAME, name);
    let two = entry(HOST_NAME, other);
    let ext = server_names(std::slice::from_ref(&one));
    vec![
        hello_with(&[server_names(&[one.clone(), two.clone()])]),
        hello_with(&[server_names(&[two.clone(), one.clone()])]),
        hello_with(&[server_names(&[one.clone(), entry(1, other)])]),
        hello_with(&[server_names(&[entry(1, other), one.clone()])]),
        hello_with(&[server_names(&[one.clone(), one.clone()])]),
        hello_with(&[ext.clone(), server_names(std::slice::from_ref(&two))]),
        hello_with(&[ext.clone(), extension(10, b"xx"), ext.clone()]),
        hello_with(&[server_names(&[])]),
        hello_with(&[extension(SERVER_NAME, &[])]),
        hello_with(&[extension(10, b"xx")]),
        hello_with(&[]),
        // Bytes behind the list, behind the extensions, behind the message.
        hello_with(&[extension(SERVER_NAME, &[prefixed(2, &one), two].concat())]),
        record(&message(&[prefixed(2, &ext), vec![0; 4]].concat())),
        record(&[message(&prefixed(2, &ext)), vec![1]].concat()),
        // No extensions at all.
        record(&message(&[])),
        // The name is elsewhere.
        hello_with(&[ext.clone(), extension(0xfe0d, b"hidden")]),
        hello_with(&[extension(0xffce, b"hidden"), ext.clone()]),
        hello_with(&[ext.clone(), extension(10, b"a"), extension(10, b"b")]),
        // Other spellings.
        hello(&format!("{name}.")),
        hello(&format!("{name}\0.{other}")),
        hello(&format!("{name} ")),
        hello(""),
        hello("[::1]"),
    ]
}

#[test]
fn the_name_is_found_once_all_bytes_are_there() {
    let bytes = hello("Example.com");
    for end in 0..bytes.len() {
        assert_eq!(server_name(&bytes[..end]), ParsedHello::Incomplete, "{end}");
    }
    let name = ParsedHello::Name(HostName::parse("example.com").unwrap());
    assert_eq!(server_name(&bytes), name);
    assert_eq!(server_name(&[bytes, vec![23, 3, 3]].concat()), name);
}

#[test]
fn other_beginnings_are_refused_at_once() {
    for bytes in [
        &b"GET / HTTP/1.1\r\n"[..],
        b"\x16\x03\x01\x00\x03abc",
        b"\x16\x02\x01\x00\x03",
        b"\x16\x03\x09\x00\x03",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\x40\x01",
        b"\x80",
        b"\x15\x03\x01\x00\x02\x02\x00",
    ] {
        assert!(
            matches!(server_name(bytes), ParsedHello::Refused(_)),
            "{bytes:?}"
        );
    }
}

#[test]
fn only_one_name_in_one_place_is_accepted() {
    for bytes in ambiguous("a.test", "evil.test") {
        let found = server_name(&bytes);
        assert!(
            !matches!(found, ParsedHello::Name(_)),
            "{found:?} {bytes:?}"
        );
    }
}

#[test]
fn a_name_beside_an_encrypted_one_is_not_taken_for_the_only_one() {
    let name = server_names(&[entry(HOST_NAME, "a.test")]);
    for kind in HIDDEN_NAME_EXTENSIONS {
        let hidden = extension(kind, b"hidden");
        for extensions in [
            [name.clone(), hidden.clone()],
            [hidden.clone(), name.clone()],
        ] {
            let expected = ParsedHello::Encrypted(HostName::parse("a.test").unwrap());
            assert_eq!(server_name(&hello_with(&extensions)), expected);
        }
        let twice = hello_with(&[hidden.clone(), name.clone(), hidden.clone()]);
        assert!(matches!(server_name(&twice), ParsedHello::Refused(_)));
        let alone = hello_with(&[hidden]);
        assert!(matches!(server_name(&alone), ParsedHello::Refused(_)));
    }
}

#[test]
fn no_length_may_be_off_by_one() {
    let good = hello("a.test");
    let mut accepted = 0;
    for place in 0..good.len() {
        for change in [1u8, 255] {
            let mut bytes = good.clone();
            bytes[place] = bytes[place].wrapping_add(change);
            if let ParsedHello::Name(name) = server_name(&bytes) {
                accepted += 1;
                let is_letter = bytes.windows(6).any(|six| six == name.as_str().as_bytes());
                assert!(is_letter, "{place} {name}");
            }
        }
    }
    // Versions, random bytes, suites, compression, the other extension, letters.
    assert!(accepted > 0);
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
        let _ = server_name(&bytes);
        let _ = server_name(&record(&message(&bytes)));
        let _ = server_name(&hello_with(&[extension(SERVER_NAME, &bytes)]));
    }
}
