//! Any bytes as the head of a request to the egress proxy: refused, or sent on as exactly
//! one request to the host that was checked, with a secret for that host only.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_sandbox::EgressSecret;
use prowess_sandbox::egress::inspect::rewrite;

const VALUE: &str = "s3cret-value";

fuzz_target!(|bytes: &[u8]| {
    let secret = EgressSecret {
        stand_in: "STAND-IN".into(),
        value: VALUE.into(),
        domain: "a.com".parse().expect("a domain"),
    };
    let secrets = [secret];
    for tls_host in [None, Some("a.com"), Some("b.com")] {
        if let Some(sent) = rewrite(bytes, tls_host, &secrets) {
            check(&sent.head, &sent.host);
            assert!(tls_host.is_none_or(|only| only == sent.host));
        }
    }
});

/// Parses the forwarded head strictly by the grammar.
fn check(head: &[u8], checked_host: &str) {
    let text: String = head.iter().copied().map(char::from).collect();
    let lines = text.strip_suffix("\r\n\r\n").expect("an end");
    assert!(!lines.contains("\r\n\r\n"), "two heads: {text:?}");
    let mut lines = lines.split("\r\n");
    let first: Vec<&str> = lines.next().expect("a line").split(' ').collect();
    let [_, path, "HTTP/1.0" | "HTTP/1.1"] = first[..] else {
        panic!("{first:?}");
    };
    assert!(path.starts_with('/') && path.chars().all(|c| c.is_ascii_graphic()));
    let mut hosts = 0;
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a field");
        assert!(name.chars().all(|c| c.is_ascii_graphic() && c != ':'));
        assert!(
            value
                .chars()
                .all(|c| c == '\t' || (c >= ' ' && c != '\x7f'))
        );
        assert!(!matches!(name, "transfer-encoding" | "upgrade"));
        if name == "host" {
            hosts += 1;
            assert_eq!(value.split(':').next(), Some(checked_host));
        }
    }
    assert_eq!(hosts, 1);
    assert!(!text.contains(VALUE) || checked_host == "a.com");
    assert!(!first.concat().contains(VALUE));
}
