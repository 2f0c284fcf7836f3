//! Ids of commands that may be sent more than once.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write as _};

/// Longest id, in bytes.
const MAX_BYTES: usize = 512;
/// Longest part that is written as it is, in bytes.
const MAX_PART_BYTES: usize = 64;
/// Bytes of the digest of a part that cannot be written as it is.
const DIGEST_BYTES: usize = 16;

/// Identifies a command. A command that is repeated after an interruption has the same id, so
/// that whoever still has the result of the first attempt returns it instead of running the
/// command again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommandId(String);

impl CommandId {
    /// An id of these parts, joined by `:`. A part that is long, or has other characters than
    /// letters, digits, `_` and `-`, is replaced by its digest: ids of calls come from models.
    #[must_use]
    pub fn from_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut id = String::new();
        for part in parts {
            if !id.is_empty() {
                id.push(':');
            }
            if is_plain(part) {
                id.push_str(part);
            } else {
                id.push('~');
                for byte in Sha256::digest(part).iter().take(DIGEST_BYTES) {
                    // Writing to a string does not fail.
                    let _ = write!(id, "{byte:02x}");
                }
            }
        }
        Self(id)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_plain(part: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !part.is_empty() && part.len() <= MAX_PART_BYTES && part.bytes().all(is_fine)
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for CommandId {
    type Error = Error;

    /// Checks the form of an id that [`CommandId::from_parts`] made.
    fn try_from(text: String) -> Result<Self, Error> {
        let is_part = |part: &str| is_plain(part.strip_prefix('~').unwrap_or(part));
        if text.len() > MAX_BYTES || !text.split(':').all(is_part) {
            return Err(Error::BadName {
                what: "command id",
                name: text.chars().take(100).collect(),
                why: "it is not the id of a command",
            });
        }
        Ok(Self(text))
    }
}

impl From<CommandId> for String {
    fn from(id: CommandId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_parts_can_be_read_and_others_are_digests() {
        let plain = CommandId::from_parts(["run_1", "4", "call_x-2", "0"]);
        assert_eq!(plain.as_str(), "run_1:4:call_x-2:0");
        let digest = CommandId::from_parts(["run_1", "a:b"]);
        let expected = "run_1:~6783a31eabf68ccc0660f935c0826282";
        assert_eq!(digest.as_str(), expected);
    }

    #[test]
    fn texts_that_are_no_ids_are_refused() {
        let long = "a:".repeat(400);
        for text in ["", ":", "a:", "a b", "a/b", "ä", "a\n", "~", long.as_str()] {
            assert!(CommandId::try_from(text.to_owned()).is_err(), "{text:?}");
        }
        assert!(serde_json::from_str::<CommandId>("\"a b\"").is_err());
    }

    proptest! {
        #[test]
        fn whatever_the_parts_the_id_is_valid_and_distinguishes_them(
            parts in proptest::collection::vec(".{0,80}", 1..5),
            other in proptest::collection::vec(".{0,80}", 1..5),
        ) {
            let id = CommandId::from_parts(parts.iter().map(String::as_str));
            let same: CommandId = serde_json::from_value(serde_json::json!(id)).unwrap();
            prop_assert_eq!(&same, &id);
            let other_id = CommandId::from_parts(other.iter().map(String::as_str));
            prop_assert_eq!(other_id == id, other == parts);
        }
    }
}
