//! A string that must not be printed.

use std::fmt;

use subtle::ConstantTimeEq;

/// A key or password. Compared in constant time and never printed.
#[derive(Clone)]
pub struct SecretString(String);

impl SecretString {
    /// Wraps a string.
    pub fn new(text: impl Into<String>) -> Self {
        SecretString(text.into())
    }

    /// The string itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `other` is the same string, in time that depends only on its length.
    pub fn matches(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_compared_but_never_printed() {
        let secret = SecretString::new("s3cret");
        assert!(secret.matches("s3cret") && !secret.matches("s3creT") && !secret.matches("s3"));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }
}
