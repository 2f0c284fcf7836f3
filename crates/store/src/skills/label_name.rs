//! Names of labels. None of them can be taken for another way to name a version.

use std::fmt;

use crate::error::{Error, Result};

/// Characters of a name.
const MAX_NAME_BYTES: usize = 40;
/// Words that select a version without a label.
const RESERVED: [&str; 2] = ["latest", "default"];

/// The name of a label: a letter, then letters, digits, `-` and `.`, all of them lower-case
/// ASCII. Ids of versions have a `_`, and numbers begin with a digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelName(String);

impl LabelName {
    /// Parses a name.
    ///
    /// # Errors
    /// When it is not a name, or selects a version already.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = |reason: String| Error::Invalid {
            field: "label",
            reason,
        };
        let shown = || text.escape_debug().take(80).collect::<String>();
        if RESERVED.contains(&text) {
            let reason = format!("`{text}` always selects a version; choose another name");
            return Err(invalid(reason));
        }
        let is_letter = |byte: u8| byte.is_ascii_lowercase();
        let is_part =
            |byte: u8| is_letter(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        let begins = text.bytes().next().is_some_and(is_letter);
        if begins && text.len() <= MAX_NAME_BYTES && text.bytes().all(is_part) {
            return Ok(LabelName(text.to_owned()));
        }
        Err(invalid(format!(
            "`{}` is not the name of a label: use 1 to {MAX_NAME_BYTES} of a-z, 0-9, `-` and `.`, \
             beginning with a letter",
            shown()
        )))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LabelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_label_is_another_way_to_name_a_version() {
        for name in ["production", "staging", "v1.2", "a", "eu-west-1"] {
            assert_eq!(LabelName::parse(name).unwrap().as_str(), name);
        }
        let long = "a".repeat(MAX_NAME_BYTES + 1);
        for name in [
            "latest",
            "default",
            "",
            "1",
            "7up",
            "-a",
            ".a",
            "skver_1",
            "skill_version_1",
            "Production",
            "a b",
            "a/b",
            "ä",
            "a\0",
            &long,
        ] {
            assert!(LabelName::parse(name).is_err(), "{name:?}");
        }
    }
}
