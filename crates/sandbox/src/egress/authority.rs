//! Host names and ports of requests, in the normal form that rules compare.

use std::fmt;

/// Longest host name in DNS.
const MAX_HOST_BYTES: usize = 253;

/// Longest label of a host name.
const MAX_LABEL_BYTES: usize = 63;

/// A host name in lower case without a trailing dot. Exactly this text is compared with
/// rules, resolved, put into a request and expected in certificates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HostName(String);

impl HostName {
    /// Parses a name or an IPv4 address; rules decide later which is allowed. `None` for
    /// anything else: user names, brackets, escapes, empty labels.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_label = |label: &str| {
            !label.is_empty() && label.len() <= MAX_LABEL_BYTES && label.bytes().all(is_plain)
        };
        let fits = name.len() <= MAX_HOST_BYTES && name.split('.').all(is_label);
        fits.then(|| Self(name.to_ascii_lowercase()))
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) host: HostName,
    pub(crate) port: u16,
}

impl Authority {
    /// Parses `host` or `host:port`. Without a default the port is required.
    pub(crate) fn parse(text: &str, default_port: Option<u16>) -> Option<Self> {
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, parse_port(port)?),
            None => (text, default_port?),
        };
        Some(Self {
            host: HostName::parse(host)?,
            port,
        })
    }

    /// The value of a `host` header, which omits the scheme's default port.
    pub(crate) fn in_header(&self, default_port: u16) -> String {
        if self.port == default_port {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// Digits only: no sign, no leading zero, nothing out of range.
fn parse_port(text: &str) -> Option<u16> {
    let number = parse_decimal(text)?;
    u16::try_from(number).ok().filter(|port| *port != 0)
}

/// A decimal number of HTTP in its only unambiguous form.
pub(crate) fn parse_decimal(text: &str) -> Option<u64> {
    let has_one_form = text == "0" || !text.starts_with('0');
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && has_one_form)
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_has_one_form() {
        for text in ["Example.COM", "example.com.", "example.com"] {
            assert_eq!(HostName::parse(text).unwrap().as_str(), "example.com");
        }
        for text in [
            "",
            ".",
            "a..b",
            "a.com..",
            "user@a.com",
            "[::1]",
            "a%2ecom",
            "a.com\t",
            "a.com\0",
            "\u{e4}.com",
            "a/b",
            "a\\b",
        ] {
            assert_eq!(HostName::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_digits_and_nothing_else() {
        assert_eq!(parse_decimal("0"), Some(0));
        assert_eq!(parse_decimal("18446744073709551615"), Some(u64::MAX));
        for text in [
            "",
            "+5",
            "-0",
            "05",
            "00",
            " 5",
            "5 ",
            "0x5",
            "5,5",
            "18446744073709551616",
        ] {
            assert_eq!(parse_decimal(text), None, "{text:?}");
        }
        for text in [
            "a.test:+80",
            "a.test:080",
            "a.test:",
            "a.test:0",
            "a.test:65536",
            "a.test:80:80",
        ] {
            assert_eq!(Authority::parse(text, Some(80)), None, "{text:?}");
        }
        assert_eq!(Authority::parse("a.test", None), None);
        assert_eq!(
            Authority::parse("A.test.:80", None),
            Authority::parse("a.test", Some(80))
        );
    }
}
