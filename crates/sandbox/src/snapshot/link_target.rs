//! Targets of links as text, without loss: a target can be any bytes.

use crate::error::Error;
use std::fmt::Write as _;

/// Bytes that are not UTF-8 as `\xNN`, a backslash as `\\`.
pub(super) fn encode(target: &[u8]) -> String {
    let mut text = String::with_capacity(target.len());
    for chunk in target.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                letter => text.push(letter),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// The reverse of [`encode`].
pub(super) fn decode(path: &str, text: &str) -> Result<Vec<u8>, Error> {
    let bad = || Error::BadName {
        what: "target of the link",
        name: path.to_owned(),
        why: "it is not in the form in which targets are stored",
    };
    let mut target = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        target.extend_from_slice(plain.as_bytes());
        rest = if let Some(after) = escaped.strip_prefix('\\') {
            target.push(b'\\');
            after
        } else {
            let digits = escaped.strip_prefix('x').and_then(|hex| hex.get(..2));
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            target.push(byte.ok_or_else(bad)?);
            escaped.get(3..).ok_or_else(bad)?
        };
    }
    target.extend_from_slice(rest.as_bytes());
    if target.is_empty() || target.contains(&0) {
        return Err(bad());
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_target_is_the_same_afterwards(target in proptest::collection::vec(1..=255u8, 1..60)) {
            prop_assert_eq!(decode("link", &encode(&target)).unwrap(), target);
        }
    }

    #[test]
    fn ordinary_targets_are_as_they_are_and_damaged_ones_are_refused() {
        assert_eq!(encode("/etc/ü b".as_bytes()), "/etc/ü b");
        assert_eq!(encode(b"a\\b\xff"), "a\\\\b\\xff");
        for damaged in ["", "a\\", "\\q", "\\x1", "\\xüü", "a\0b"] {
            assert!(decode("link", damaged).is_err(), "{damaged:?}");
        }
    }
}
