//! Hosts of the URLs that requests may name.

use url::Url;

use super::webhook_url::InvalidWebhook;

/// A host that URLs of requests may have: `example.com`, `*.example.com` for all of its
/// subdomains, or `example.com:8443`. Without a port, only the scheme's own is covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookHost {
    /// As in a parsed URL, without the wildcard.
    name: String,
    beneath: bool,
    port: Option<u16>,
}

impl WebhookHost {
    /// Parses a pattern.
    ///
    /// # Errors
    /// When the text is not one.
    pub fn parse(text: &str) -> Result<Self, InvalidWebhook> {
        let invalid = || {
            InvalidWebhook::new(format!(
                "`{text}` is not a host: write example.com, example.com:8443, or \
                 *.example.com for all of its subdomains"
            ))
        };
        let (beneath, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let plain = !name.is_empty() && !name.contains(['/', '\\', '?', '#', '@', '*']);
        let url = plain.then(|| Url::parse(&format!("https://{name}/")));
        let url = url.and_then(Result::ok).ok_or_else(invalid)?;
        let host = url.host_str().ok_or_else(invalid)?;
        // A wildcard above a whole top-level domain, or an address, is a mistake.
        if beneath && (!host.contains('.') || url.domain().is_none()) {
            return Err(invalid());
        }
        // Parsing leaves out the default port.
        let default = name.ends_with(":443").then_some(443);
        Ok(WebhookHost {
            name: host.to_owned(),
            beneath,
            port: url.port().or(default),
        })
    }

    pub(super) fn covers(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let name = if self.beneath {
            let above = host.strip_suffix(&self.name);
            above.is_some_and(|above| above.len() > 1 && above.ends_with('.'))
        } else {
            host == self.name
        };
        let port = match self.port {
            Some(port) => url.port_or_known_default() == Some(port),
            None => url.port().is_none(),
        };
        name && port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_its_hosts_on_one_port() {
        let covers = |pattern: &str, url: &str| {
            let url = Url::parse(url).unwrap();
            WebhookHost::parse(pattern).unwrap().covers(&url)
        };
        assert!(covers("Example.com", "https://example.com/a"));
        assert!(covers("example.com", "http://example.com/a"));
        assert!(!covers("example.com", "https://example.com:22/"));
        assert!(!covers("example.com", "https://a.example.com/"));
        assert!(!covers("example.com", "https://badexample.com/"));
        assert!(covers("*.example.com", "https://a.b.example.com/"));
        assert!(!covers("*.example.com", "https://example.com/"));
        assert!(!covers("*.example.com", "https://badexample.com/"));
        assert!(covers("example.com:8443", "https://example.com:8443/"));
        assert!(!covers("example.com:8443", "https://example.com/"));
        assert!(covers("example.com:443", "https://example.com/"));
        assert!(!covers("example.com:443", "http://example.com/"));
        assert!(covers("[::1]:80", "http://[::1]/"));
    }

    #[test]
    fn what_is_not_a_pattern_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            "*.com",
            "a.*.com",
            "https://a.com",
            "a.com/b",
            "u@a.com",
            "*.127.0.0.1",
            "a b",
        ] {
            assert!(WebhookHost::parse(text).is_err(), "{text}");
        }
    }
}
