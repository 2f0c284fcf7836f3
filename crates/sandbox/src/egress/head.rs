//! The head of a proxy request: parsed from untrusted bytes, and written again for the
//! server it is meant for.

use super::rules::Secret;

/// Longest head that is read.
pub(super) const LONGEST: usize = 32 << 10;

/// What is asked of the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A tunnel.
    Connect { host: String, port: u16 },
    /// A request to be passed on: its head as the server shall see it, and the length of
    /// the body that follows.
    Http {
        host: String,
        port: u16,
        head: String,
        body: u64,
    },
}

/// Headers that concern the proxy and not the server, or that are set anew.
const DROPPED: [&str; 7] = [
    "proxy-connection",
    "proxy-authorization",
    "connection",
    "keep-alive",
    "upgrade",
    "te",
    "host",
];

/// Reads a head that ends with an empty line. `None` for what this proxy does not take:
/// other methods of naming the target, a body of unknown length, two opinions on
/// anything.
pub(super) fn parse(bytes: &[u8]) -> Option<Asked> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines = text.strip_suffix("\r\n\r\n")?.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target, version) = (first.next()?, first.next()?, first.next()?);
    if first.next().is_some() || !version.starts_with("HTTP/1.") || !is_token(method) {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Some(Asked::Connect { host, port });
    }
    let rest = target.strip_prefix("http://")?;
    let (name, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (host, port) = authority(name, Some(80))?;
    let path = if path.is_empty() { "/" } else { path };
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n");
    let mut body = None;
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        if !is_token(name) || value.chars().any(|c| c.is_control() && c != '\t') {
            return None;
        }
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "transfer-encoding" => return None,
            "content-length" => {
                let length = value.parse().ok()?;
                if body
                    .replace(length)
                    .is_some_and(|other: u64| other != length)
                {
                    return None;
                }
            }
            _ => {}
        }
        if !DROPPED.contains(&name.as_str()) {
            head += &format!("{name}: {value}\r\n");
        }
    }
    head += "\r\n";
    Some(Asked::Http {
        host,
        port,
        head,
        body: body.unwrap_or(0),
    })
}

/// Puts secrets in the place of their stand-ins, for this host only.
pub(super) fn reveal(head: &str, host: &str, secrets: &[Secret]) -> String {
    let meant = secrets
        .iter()
        .filter(|one| !one.stand_in.is_empty() && one.domain.covers(host));
    meant.fold(head.to_owned(), |head, one| {
        head.replace(&one.stand_in, &one.value)
    })
}

/// `host:port`; a port that is left out is `default`.
fn authority(text: &str, default: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (text, default?),
    };
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (!host.is_empty() && host.chars().all(fine)).then(|| (host.to_ascii_lowercase(), port))
}

fn is_token(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &str) -> Option<Asked> {
        parse(text.replace('\n', "\r\n").as_bytes())
    }

    #[test]
    fn a_tunnel_and_a_request_are_understood() {
        let tunnel = Asked::Connect {
            host: "a.com".into(),
            port: 443,
        };
        assert_eq!(ask("CONNECT A.com:443 HTTP/1.1\nhost: x\n\n"), Some(tunnel));
        let asked = ask(
            "POST http://a.com/x?y HTTP/1.1\nHost: evil.com\nContent-Length: 3\nX-Key: k\nConnection: x\n\n",
        );
        let head = "POST /x?y HTTP/1.1\r\nhost: a.com\r\nconnection: close\r\ncontent-length: 3\r\nx-key: k\r\n\r\n";
        let (host, port, body) = ("a.com".into(), 80, 3);
        assert_eq!(
            asked,
            Some(Asked::Http {
                host,
                port,
                head: head.into(),
                body
            })
        );
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for text in [
            "GET / HTTP/1.1\nhost: a.com\n\n",
            "GET https://a.com/ HTTP/1.1\n\n",
            "GET http://user@a.com/ HTTP/1.1\n\n",
            "GET http://[::1]/ HTTP/1.1\n\n",
            "GET http://a.com/ HTTP/1.1 x\n\n",
            "POST http://a.com/ HTTP/1.1\ntransfer-encoding: chunked\n\n",
            "POST http://a.com/ HTTP/1.1\ncontent-length: 1\ncontent-length: 2\n\n",
            "GET http://a.com/ HTTP/1.1\nno colon\n\n",
            "GET http://a.com/ HTTP/1.1\nx : y\n\n",
            "CONNECT a.com HTTP/1.1\n\n",
            "CONNECT a.com:99999 HTTP/1.1\n\n",
            "nonsense\n\n",
        ] {
            assert_eq!(ask(text), None, "{text}");
        }
    }

    #[test]
    fn a_secret_is_revealed_to_its_domain_only() {
        let domain = "api.example.com".parse().unwrap();
        let secrets = [Secret {
            stand_in: "$KEY".into(),
            value: "s3cret".into(),
            domain,
        }];
        assert_eq!(reveal("x: $KEY", "api.example.com", &secrets), "x: s3cret");
        assert_eq!(reveal("x: $KEY", "evil.example.com", &secrets), "x: $KEY");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
            let _ = parse(&bytes);
            let _ = super::super::tls::server_name(&bytes);
        }
    }
}
