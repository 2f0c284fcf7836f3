//! Any bytes are refused, or become exactly one request to the checked host, as seen by an
//! independent parser.

use crate::egress::inspect::rewrite;
use crate::egress::rules::EgressSecret;
use proptest::prelude::*;

const STAND_IN: &str = "STAND-IN";
const VALUE: &str = "s3cret";

/// Parts of heads and of attacks on them.
const PIECES: &[&str] = &[
    "GET",
    "POST",
    "CONNECT",
    "TRACE",
    " ",
    "  ",
    "\t",
    "\r\n",
    "\n",
    "\r",
    "\0",
    "\x0b",
    "\x7f",
    "\r\n\r\n",
    "\n\n",
    "http://",
    "https://",
    "//",
    "a.com",
    "b.com",
    "evil.com",
    "A.COM.",
    "@",
    ":80",
    ":+80",
    ":080",
    ":",
    "/",
    "?",
    "#",
    "\\",
    "%0d%0a",
    "\u{85}",
    "HTTP/1.1",
    "HTTP/1.0",
    "HTTP/1.1\r\n",
    "\tHTTP/1.1\nHost:evil.com\nX:\t",
    "Host: a.com\r\n",
    "host: evil.com\r\n",
    "Content-Length: 5\r\n",
    "content-length: +5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: host\r\n",
    "x: STAND-IN\r\n",
    " folded",
    "STAND-IN",
    ",",
    ";",
];

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ]
}

/// A valid head with a few parts inserted or removed.
fn changed_head() -> impl Strategy<Value = Vec<u8>> {
    let good = prop::sample::select(vec![
        "GET http://a.com/p?STAND-IN HTTP/1.1\r\nHost: a.com\r\nx-key: STAND-IN\r\n\r\n",
        "POST http://b.com:80/ HTTP/1.0\r\ncontent-length: 3\r\nx-key: STAND-IN\r\n\r\n",
        "GET /p HTTP/1.1\r\nhost: a.com\r\nauthorization: Bearer STAND-IN\r\n\r\n",
    ]);
    let change = (any::<prop::sample::Index>(), 0..4usize, piece());
    let changes = prop::collection::vec(change, 0..4);
    (good, changes).prop_map(|(good, changes)| {
        let mut bytes = good.as_bytes().to_vec();
        for (place, removed, piece) in changes {
            let from = place.index(bytes.len());
            let to = (from + removed).min(bytes.len());
            bytes.splice(from..to, piece);
        }
        bytes
    })
}

fn made_of_pieces() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| {
        let mut bytes = pieces.concat();
        bytes.extend_from_slice(b"\r\n\r\n");
        bytes
    })
}

/// Method, path and host of the one request in these bytes, by the exact grammar.
fn read_strictly(bytes: &[u8]) -> Option<(String, String, String)> {
    let text: String = bytes.iter().copied().map(char::from).collect();
    let (lines, after) = text.split_once("\r\n\r\n")?;
    if !after.is_empty() {
        return None;
    }
    let mut lines = lines.split("\r\n");
    let first: Vec<&str> = lines.next()?.split(' ').collect();
    let [method, path, "HTTP/1.1" | "HTTP/1.0"] = first[..] else {
        return None;
    };
    let is_token = |text: &str| {
        let is_fine = |c: char| c.is_ascii_graphic() && !"\"(),/:;<=>?@[\\]{}".contains(c);
        !text.is_empty() && text.chars().all(is_fine)
    };
    if !is_token(method) || !path.starts_with('/') || !path.chars().all(|c| c.is_ascii_graphic()) {
        return None;
    }
    let (mut hosts, mut lengths) = (Vec::new(), 0);
    for line in lines {
        let (name, value) = line.split_once(": ")?;
        let is_fine = |c: char| c == '\t' || (c >= ' ' && c != '\x7f');
        if !is_token(name) || !value.chars().all(is_fine) {
            return None;
        }
        match name.to_ascii_lowercase().as_str() {
            "host" => hosts.push(value.to_owned()),
            "content-length" => lengths += 1,
            "transfer-encoding" | "upgrade" | "te" => return None,
            _ => {}
        }
    }
    let [host] = &hosts[..] else { return None };
    (lengths <= 1).then(|| (method.to_owned(), path.to_owned(), host.clone()))
}

fn check(bytes: &[u8], tls_host: Option<&str>) -> Result<(), TestCaseError> {
    let secret = EgressSecret {
        stand_in: STAND_IN.into(),
        value: VALUE.into(),
        domain: "a.com".parse().unwrap(),
    };
    let Some(rewritten) = rewrite(bytes, tls_host, &[secret]) else {
        return Ok(());
    };
    let read = read_strictly(&rewritten.head);
    prop_assert!(
        read.is_some(),
        "{:?}",
        String::from_utf8_lossy(&rewritten.head)
    );
    let (method, path, host) = read.unwrap();
    let name = host.split(':').next().unwrap();
    prop_assert_eq!(name, &rewritten.host);
    prop_assert!(tls_host.is_none_or(|only| only == name));
    // Method and path are those of the first line, and the only ones.
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap();
    let line = std::str::from_utf8(line).unwrap();
    let request_line: Vec<&str> = line.split(' ').collect();
    prop_assert_eq!(request_line[0], &method);
    prop_assert!(
        request_line[1].ends_with(path.trim_start_matches('/')),
        "{}",
        line
    );
    if tls_host.is_none() {
        let rest = request_line[1]
            .strip_prefix("http://")
            .unwrap()
            .to_ascii_lowercase();
        prop_assert!(rest.starts_with(name), "{} is not {}", rest, name);
    }
    let head = String::from_utf8_lossy(&rewritten.head).into_owned();
    prop_assert!(!head.contains(VALUE) || name == "a.com", "{}", head);
    prop_assert!(!method.contains(VALUE) && !path.contains(VALUE) && !host.contains(VALUE));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn a_head_is_refused_or_one_request_to_the_checked_host(
        bytes in prop_oneof![4 => changed_head(), 1 => made_of_pieces()],
    ) {
        check(&bytes, None)?;
        check(&bytes, Some("a.com"))?;
        check(&bytes, Some("b.com"))?;
    }
}

#[test]
fn the_good_heads_are_taken() {
    let good = b"GET http://a.com/p?STAND-IN HTTP/1.1\r\nHost: a.com\r\nx-key: STAND-IN\r\n\r\n";
    let rewritten = rewrite(good, None, &[]).unwrap();
    assert!(read_strictly(&rewritten.head).is_some());
}
