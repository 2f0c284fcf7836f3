//! Subjects: tokens of letters, digits, `_` and `-`, separated by dots.
//!
//! In a pattern, `*` stands for one token and a last `>` for one or more.

use crate::error::BusError;

/// Subjects are parts of lines of NATS's protocol, which are limited.
const MAX_BYTES: usize = 255;

/// Checks a subject that something is published on.
pub fn check(subject: &str) -> Result<(), BusError> {
    if subject.len() <= MAX_BYTES && subject.split('.').all(is_token) {
        return Ok(());
    }
    Err(invalid("subject", subject))
}

/// Checks a pattern that is subscribed to.
pub fn check_pattern(pattern: &str) -> Result<(), BusError> {
    let tokens = pattern.strip_suffix(".>").unwrap_or(pattern);
    let is_valid = |token: &str| token == "*" || is_token(token);
    if pattern == ">" || pattern.len() <= MAX_BYTES && tokens.split('.').all(is_valid) {
        return Ok(());
    }
    Err(invalid("pattern of subjects", pattern))
}

/// Checks that a text, such as an id, can be one token of a subject, and returns it.
pub fn token(text: &str) -> Result<&str, BusError> {
    if text.len() <= MAX_BYTES && is_token(text) {
        return Ok(text);
    }
    Err(invalid("token of a subject", text))
}

/// Whether a pattern matches a subject.
#[must_use]
pub fn matches(pattern: &str, subject: &str) -> bool {
    let mut subject = subject.split('.');
    for expected in pattern.split('.') {
        match (expected, subject.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (expected, Some(token)) if expected == token => {}
            _ => return false,
        }
    }
    subject.next().is_none()
}

/// Whether a pattern can match more than one subject.
pub(crate) fn has_wildcard(pattern: &str) -> bool {
    pattern.split('.').any(|token| token == "*" || token == ">")
}

fn is_token(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !text.is_empty() && text.bytes().all(is_allowed)
}

fn invalid(what: &str, text: &str) -> BusError {
    let shown: String = text.chars().take(80).collect();
    BusError::Invalid {
        why: format!(
            "`{shown}` is not a {what}: use letters, digits, `_` and `-`, at most {MAX_BYTES} bytes"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_and_patterns_are_checked() {
        for valid in ["a", "prowess.w.worker-1.do", "A_b.0"] {
            check(valid).unwrap();
            check_pattern(valid).unwrap();
        }
        let long = "a".repeat(MAX_BYTES + 1);
        let refused = [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a b",
            "a\r\nPUB x 0",
            "ü",
            &long,
        ];
        for invalid in refused {
            check(invalid).unwrap_err();
            check_pattern(invalid).unwrap_err();
        }
        for pattern in ["*", ">", "a.*.b", "a.>", "*.>"] {
            check(pattern).unwrap_err();
            check_pattern(pattern).unwrap();
        }
        for pattern in [">.a", "a.>.b", "a*", "a.>>"] {
            check_pattern(pattern).unwrap_err();
        }
        token("container_1").unwrap();
        token("a.b").unwrap_err();
        token("*").unwrap_err();
    }

    #[test]
    fn a_pattern_matches_by_token() {
        let cases = [
            ("a.b", "a.b", true),
            ("a.b", "a.b.c", false),
            ("a.b.c", "a.b", false),
            ("a.*", "a.b", true),
            ("a.*", "a", false),
            ("a.*", "a.b.c", false),
            ("a.*.c", "a.b.c", true),
            ("a.>", "a", false),
            ("a.>", "a.b", true),
            ("a.>", "a.b.c", true),
            (">", "a", true),
            ("*.b", "a.c", false),
        ];
        for (pattern, subject, expected) in cases {
            assert_eq!(matches(pattern, subject), expected, "{pattern} {subject}");
        }
    }
}
