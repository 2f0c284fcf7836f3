//! Allowed domains, and secrets for them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An allowed domain: `example.com`, or `*.example.com` for all of its subdomains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DomainRule {
    /// In lower case, without the wildcard.
    name: String,
    beneath: bool,
}

impl DomainRule {
    /// Whether the rule covers a host.
    #[must_use]
    pub fn covers(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if self.beneath {
            let above = host.strip_suffix(&self.name);
            above.is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == self.name
        }
    }
}

impl DomainRule {
    /// Whether this rule covers all hosts that another rule covers.
    #[must_use]
    pub fn includes(&self, other: &DomainRule) -> bool {
        if other.beneath {
            self.beneath && (self.name == other.name || self.covers(&other.name))
        } else {
            self.covers(&other.name)
        }
    }
}

/// A text that is not a domain rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a domain: write example.com, or *.example.com for all of its subdomains")]
pub struct InvalidDomain(String);

impl FromStr for DomainRule {
    type Err = InvalidDomain;

    fn from_str(text: &str) -> Result<Self, InvalidDomain> {
        let (beneath, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let letters = |part: &str| {
            let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            !part.is_empty() && part.len() <= 63 && part.chars().all(fine)
        };
        // An address is not a name; a name that ends in a number would be read as an address.
        let last_is_number = name
            .rsplit('.')
            .next()
            .is_some_and(|part| part.chars().all(|c| c.is_ascii_digit()));
        if name.len() > 253
            || !name.contains('.')
            || last_is_number
            || !name.split('.').all(letters)
        {
            return Err(InvalidDomain(text.to_owned()));
        }
        Ok(Self {
            name: name.to_ascii_lowercase(),
            beneath,
        })
    }
}

impl TryFrom<String> for DomainRule {
    type Error = InvalidDomain;

    fn try_from(text: String) -> Result<Self, InvalidDomain> {
        text.parse()
    }
}

impl From<DomainRule> for String {
    fn from(rule: DomainRule) -> Self {
        rule.to_string()
    }
}

impl fmt::Display for DomainRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.beneath { "*." } else { "" }, self.name)
    }
}

/// A secret that commands see only as a stand-in. The proxy replaces the stand-in with the
/// value in headers of requests to the secret's domain, over plain HTTP and intercepted
/// TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct EgressSecret {
    /// Its stand-in inside the sandbox.
    pub stand_in: String,
    /// The value, which never enters the sandbox.
    pub value: String,
    /// Where it may be sent.
    pub domain: DomainRule,
}

impl fmt::Debug for EgressSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("stand_in", &self.stand_in)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::DomainRule;

    #[test]
    fn a_rule_covers_its_domain_and_a_star_all_beneath() {
        let covers = |rule: &str, host| rule.parse::<DomainRule>().unwrap().covers(host);
        assert!(covers("example.com", "EXAMPLE.com"));
        assert!(!covers("example.com", "a.example.com"));
        assert!(!covers("example.com", "evilexample.com"));
        assert!(covers("*.example.com", "a.b.example.com"));
        assert!(!covers("*.example.com", "example.com"));
        assert!(!covers("*.example.com", "evilexample.com"));
        assert!(!covers("*.example.com", ".example.com"));
    }

    #[test]
    fn a_rule_includes_what_is_no_wider() {
        let includes = |one: &str, other: &str| {
            let rule = |text: &str| text.parse::<DomainRule>().unwrap();
            rule(one).includes(&rule(other))
        };
        assert!(includes("*.example.com", "a.example.com"));
        assert!(includes("*.example.com", "*.a.example.com"));
        assert!(includes("*.example.com", "*.Example.com"));
        assert!(includes("example.com", "example.com"));
        assert!(!includes("example.com", "*.example.com"));
        assert!(!includes("a.example.com", "*.example.com"));
        assert!(!includes("*.a.example.com", "*.example.com"));
        assert!(!includes("*.example.com", "example.com"));
    }

    #[test]
    fn addresses_and_other_text_are_no_domains() {
        for text in [
            "",
            "*",
            "*.",
            "localhost",
            "1.2.3.4",
            "a.b.3",
            "[::1]",
            "a..b",
            "ex ample.com",
            "http://a.b",
            "a.b:80",
        ] {
            assert!(text.parse::<DomainRule>().is_err(), "{text}");
        }
    }
}
