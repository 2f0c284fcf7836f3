//! Heads that are accepted, and every kind that is refused.

use super::*;
use crate::egress::rules::EgressSecret;

fn proxy(text: &str) -> Result<ProxyRequest, MalformedRequest> {
    parse_proxy_request(text.replace('\n', "\r\n").as_bytes())
}

fn authority(text: &str) -> Authority {
    Authority::parse(text, None).unwrap()
}

fn secret() -> EgressSecret {
    EgressSecret {
        stand_in: "STAND-IN".into(),
        value: "s3cret".into(),
        domain: "a.com".parse().unwrap(),
    }
}

fn rendered(text: &str) -> String {
    match proxy(text) {
        Ok(ProxyRequest::Forward(forward)) => {
            String::from_utf8(forward.render(&[secret()]).unwrap()).unwrap()
        }
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn a_tunnel_and_a_request_are_understood() {
    let tunnel = Ok(ProxyRequest::Connect(authority("a.com:443")));
    assert_eq!(
        proxy("CONNECT A.com:443 HTTP/1.1\nhost: a.com:443\n\n"),
        tunnel
    );
    assert_eq!(proxy("CONNECT a.com.:443 HTTP/1.0\n\n"), tunnel);
    assert_eq!(
        rendered(
            "POST http://A.com.:80/x?y HTTP/1.1\nHost: a.com\nContent-Length: 3\nX-Key: k\n\
             Connection: x-hop, close\nX-Hop: 1\nProxy-Anything: 1\nTE: trailers\nUpgrade: h2c\n\n"
        ),
        "POST /x?y HTTP/1.1\r\nhost: a.com\r\nconnection: close\r\nx-key: k\r\ncontent-length: 3\r\n\r\n"
    );
    assert!(
        rendered("GET http://a.com HTTP/1.0\n\n").starts_with("GET / HTTP/1.0\r\nhost: a.com\r\n")
    );
    assert!(rendered("GET http://a.com?q HTTP/1.1\n\n").starts_with("GET /?q HTTP/1.1\r\n"));
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    for text in [
        "GET / HTTP/1.1\nhost: a.com\n\n",
        "GET https://a.com/ HTTP/1.1\n\n",
        "GET HTTP://a.com/ HTTP/1.1\n\n",
        "GET http://user@a.com/ HTTP/1.1\n\n",
        "GET http://a.com@evil.com/ HTTP/1.1\n\n",
        "GET http://a.com\\@evil.com/ HTTP/1.1\n\n",
        "GET http://[::1]/ HTTP/1.1\n\n",
        "GET http:///x HTTP/1.1\n\n",
        "GET http://a.com/#x HTTP/1.1\n\n",
        "GET http://a.com/ HTTP/1.1 x\n\n",
        "GET  http://a.com/ HTTP/1.1\n\n",
        "GET http://a.com/  HTTP/1.1\n\n",
        "GET http://a.com/ HTTP/1.1 \n\n",
        " GET http://a.com/ HTTP/1.1\n\n",
        "\nGET http://a.com/ HTTP/1.1\n\n",
        "GET http://a.com/ HTTP/1.2\n\n",
        "GET http://a.com/ HTTP/2.0\n\n",
        "GET http://a.com/ http/1.1\n\n",
        "GET http://a.com/\n\n",
        "G(T http://a.com/ HTTP/1.1\n\n",
        "TRACE http://a.com/ HTTP/1.1\n\n",
        "trace http://a.com/ HTTP/1.1\n\n",
        "TRACK http://a.com/ HTTP/1.1\n\n",
        "connect http://a.com/ HTTP/1.1\n\n",
        "POST http://a.com/ HTTP/1.1\ntransfer-encoding: chunked\n\n",
        "POST http://a.com/ HTTP/1.1\ntransfer_encoding: chunked\n\n",
        "POST http://a.com/ HTTP/1.1\ncontent-length: 1\ncontent-length: 2\n\n",
        "POST http://a.com/ HTTP/1.1\ncontent-length: 1\nContent-Length: 1\n\n",
        "POST http://a.com/ HTTP/1.1\ncontent-length: 1, 1\n\n",
        "POST http://a.com/ HTTP/1.1\ncontent-length: +5\n\n",
        "POST http://a.com/ HTTP/1.1\ncontent-length: -1\n\n",
        "POST http://a.com/ HTTP/1.1\ncontent-length: 05\n\n",
        "POST http://a.com/ HTTP/1.1\ncontent-length:\n\n",
        "POST http://a.com/ HTTP/1.1\ncontent_length: 5\n\n",
        "POST http://a.com/ HTTP/1.1\ncontent-length: 18446744073709551616\n\n",
        "GET http://a.com/ HTTP/1.1\nhost: evil.com\n\n",
        "GET http://a.com/ HTTP/1.1\nhost: a.com\nhost: a.com\n\n",
        "GET http://a.com/ HTTP/1.1\nhost: a.com:+80\n\n",
        "GET http://a.com/ HTTP/1.1\nhost: a.com:080\n\n",
        "GET http://a.com/ HTTP/1.1\nhost: a.com:81\n\n",
        "GET http://a.com/ HTTP/1.1\nhost: a.com, evil.com\n\n",
        "GET http://a.com/ HTTP/1.1\nhost:\n\n",
        "GET http://a.com:080/ HTTP/1.1\n\n",
        "GET http://a.com:+80/ HTTP/1.1\n\n",
        "GET http://a.com:/ HTTP/1.1\n\n",
        "GET http://a.com/ HTTP/1.1\nno colon\n\n",
        "GET http://a.com/ HTTP/1.1\nx : y\n\n",
        "GET http://a.com/ HTTP/1.1\n: y\n\n",
        "GET http://a.com/ HTTP/1.1\nx: y\n folded\n\n",
        "GET http://a.com/ HTTP/1.1\nx: y\n\tfolded\n\n",
        "GET http://a.com/ HTTP/1.1\nconnection: (\n\n",
        "CONNECT a.com HTTP/1.1\n\n",
        "CONNECT a.com:0 HTTP/1.1\n\n",
        "CONNECT a.com:99999 HTTP/1.1\n\n",
        "CONNECT a.com:+443 HTTP/1.1\n\n",
        "CONNECT a.com:0443 HTTP/1.1\n\n",
        "CONNECT user@a.com:443 HTTP/1.1\n\n",
        "CONNECT a.com:443/ HTTP/1.1\n\n",
        "CONNECT http://a.com:443 HTTP/1.1\n\n",
        "CONNECT a.com:443 HTTP/1.1\nhost: evil.com:443\n\n",
        "CONNECT a.com:443 HTTP/1.1\ncontent-length: 5\n\n",
        "CONNECT a.com:443 HTTP/1.1\ntransfer-encoding: chunked\n\n",
        "nonsense\n\n",
        "\n\n",
    ] {
        assert!(proxy(text).is_err(), "{text:?}: {:?}", proxy(text));
    }
}

#[test]
fn a_target_cannot_carry_a_head_of_its_own() {
    for target in [
        "/\tHTTP/1.1\nHost:evil.test\nX:\t",
        "/ HTTP/1.1\nHost:evil.test\nX:",
        "/\rHost:evil.test\r",
        "/\0",
        "/\x0b",
        "/\x7f",
        "/\u{85}",
        "/\u{a0}",
        "/caf\u{e9}",
        "/\x08x",
    ] {
        let text = format!("GET http://a.com{target} HTTP/1.1\r\nx-key: STAND-IN\r\n\r\n");
        assert!(parse_proxy_request(text.as_bytes()).is_err(), "{target:?}");
        let to = authority("a.com:443");
        let text = format!("GET {target} HTTP/1.1\r\nhost: a.com\r\nx-key: STAND-IN\r\n\r\n");
        assert!(
            parse_origin_request(text.as_bytes(), &to).is_err(),
            "{target:?}"
        );
    }
}

#[test]
fn bare_line_ends_and_control_characters_are_refused_everywhere() {
    for control in (0..=0x1fu8).chain([0x7f]).filter(|byte| *byte != b'\t') {
        for place in 0..4 {
            let mut parts = ["GE", "T http://a.com/", " HTTP/1.1\r\nx-a", ": b"].map(String::from);
            parts[place].push(char::from(control));
            let text = parts.concat() + "c\r\n\r\n";
            assert!(parse_proxy_request(text.as_bytes()).is_err(), "{text:?}");
        }
    }
    assert!(parse_proxy_request(b"GET http://a.com/ HTTP/1.1\nx: y\r\n\r\n").is_err());
    assert!(parse_proxy_request(b"GET http://a.com/ HTTP/1.1\r\nx: y\n\r\n\r\n").is_err());
    assert!(
        parse_proxy_request(b"GET http://a.com/ HTTP/1.1\r\nx: y\n\nGET / HTTP/1.1\r\n\r\n")
            .is_err()
    );
}

#[test]
fn too_many_fields_are_refused() {
    let head = |count| {
        let fields = "x: y\n".repeat(count);
        proxy(&format!("GET http://a.com/ HTTP/1.1\n{fields}\n"))
    };
    assert!(head(MAX_FIELDS).is_ok());
    assert!(head(MAX_FIELDS + 1).is_err());
}

#[test]
fn inside_tls_a_request_is_for_the_one_host() {
    let to = authority("a.com:443");
    let parse = |text: &str| parse_origin_request(text.replace('\n', "\r\n").as_bytes(), &to);
    let head = parse("GET /p HTTP/1.1\nHost: A.COM:443\nX: STAND-IN\n\n").unwrap();
    let head = String::from_utf8(head.render(&[secret()]).unwrap()).unwrap();
    assert_eq!(
        head,
        "GET /p HTTP/1.1\r\nhost: a.com\r\nconnection: close\r\nx: s3cret\r\n\r\n"
    );
    for text in [
        "GET /p HTTP/1.1\n\n",
        "GET /p HTTP/1.1\nhost: evil.com\n\n",
        "GET /p HTTP/1.1\nhost: a.com:80\n\n",
        "GET https://a.com/p HTTP/1.1\nhost: a.com\n\n",
        "GET https://evil.com/p HTTP/1.1\nhost: a.com\n\n",
        "OPTIONS * HTTP/1.1\nhost: a.com\n\n",
        "CONNECT a.com:443 HTTP/1.1\nhost: a.com\n\n",
        "TRACE /p HTTP/1.1\nhost: a.com\n\n",
        "Trace /p HTTP/1.1\nhost: a.com\n\n",
    ] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_secret_is_revealed_in_values_to_its_domain_only() {
    let own = "PUT http://a.com/STAND-IN HTTP/1.1\nstand-in: STAND-INSTAND-IN.\nx-STAND-IN: y\n\n";
    assert_eq!(
        rendered(own),
        "PUT /STAND-IN HTTP/1.1\r\nhost: a.com\r\nconnection: close\r\nstand-in: s3crets3cret.\r\nx-stand-in: y\r\n\r\n"
    );
    let other = rendered("GET http://b.com/ HTTP/1.1\nx: STAND-IN\n\n");
    assert!(other.contains("x: STAND-IN\r\n"), "{other}");
}

#[test]
fn a_secret_is_revealed_in_basic_credentials() {
    // user:STAND-IN and user:s3cret
    let head =
        rendered("GET http://a.com/ HTTP/1.1\nAuthorization: Basic dXNlcjpTVEFORC1JTg==\n\n");
    assert!(
        head.contains("\r\nauthorization: Basic dXNlcjpzM2NyZXQ=\r\n"),
        "{head}"
    );
    for (host, field) in [
        ("b.com", "authorization: Basic dXNlcjpTVEFORC1JTg=="),
        ("a.com", "x-other: Basic dXNlcjpTVEFORC1JTg=="),
        ("a.com", "authorization: Basic dXNlcjpTVEFORC1JTg"),
        ("a.com", "authorization: Basic dXNlcjpvdGhlcg=="),
        ("a.com", "authorization: Basic "),
    ] {
        let head = rendered(&format!("GET http://{host}/ HTTP/1.1\n{field}\n\n"));
        assert!(head.contains(field.trim_end()), "{head}");
    }
}

#[test]
fn a_secret_can_neither_end_a_line_nor_grow_without_bound() {
    let forward = |fields: String| match proxy(&format!("GET http://a.com/ HTTP/1.1\n{fields}\n")) {
        Ok(ProxyRequest::Forward(forward)) => forward,
        other => panic!("{other:?}"),
    };
    let mut secret = secret();
    secret.value = "a\r\nhost: evil.com".into();
    assert!(
        forward("x: STAND-IN\n".into())
            .render(&[secret.clone()])
            .is_err()
    );
    secret.value = "v".repeat(8 << 10);
    let one = forward("x: STAND-IN\n".into()).render(&[secret.clone()]);
    assert!(one.is_ok());
    let many = forward(format!("x: {}\n", "STAND-IN".repeat(2000))).render(&[secret]);
    assert!(many.is_err());
}
