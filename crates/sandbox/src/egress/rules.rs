//! Which domains, and which secrets for them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A domain that may be reached: `example.com`, or `*.example.com` for all beneath it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DomainRule {
    /// In lower case, without the star.
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
    /// Whether all that another rule covers is covered by this one.
    #[must_use]
    pub fn includes(&self, other: &DomainRule) -> bool {
        match other.beneath {
            false => self.covers(&other.name),
            true => self.beneath && (self.name == other.name || self.covers(&other.name)),
        }
    }
}

/// A rule that is no domain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no domain: write example.com, or *.example.com for all beneath it")]
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
        // An address is not a name; one that ends in a number would be read as one.
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

/// A secret that commands know by a stand-in only. The proxy puts the value in its
/// place in the headers of requests to the domain it is for, over plain HTTP and over TLS
/// that it opens for that.
#[derive(Clone, PartialEq, Eq)]
pub struct EgressSecret {
    /// What stands for it inside.
    pub stand_in: String,
    /// The value, which never enters the sandbox.
    pub value: String,
    /// Where it may go.
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
