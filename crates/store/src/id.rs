//! Ids that sort by creation time.
//!
//! An id is a prefix, eleven digits of microseconds since 1970 and thirteen random
//! digits, in base 32 (digits and lower-case letters without `i l o u`). As byte order is
//! creation order, a list can be continued from any id, even a deleted one, and no second
//! sort key is needed.

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::time::Timestamp;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const TIME_DIGITS: u32 = 11;
const RANDOM_DIGITS: u32 = 13;

/// The kind of resource that an id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdPrefix {
    Skill,
    Version,
    File,
    Key,
    Blob,
    Run,
    Usage,
    WebhookDelivery,
    MessageBatch,
    FileBatch,
    AuditEvent,
}

impl IdPrefix {
    fn as_str(self) -> &'static str {
        match self {
            IdPrefix::Skill => "skill_",
            IdPrefix::Version => "skver_",
            IdPrefix::File => "file_",
            IdPrefix::Key => "key_",
            IdPrefix::Blob => "blob_",
            IdPrefix::Run => "run_",
            IdPrefix::Usage => "use_",
            IdPrefix::WebhookDelivery => "whd_",
            IdPrefix::MessageBatch => "msgbatch_",
            IdPrefix::FileBatch => "batch_",
            IdPrefix::AuditEvent => "audit_",
        }
    }
}

/// A new id for `time`.
pub(crate) fn new_id(prefix: IdPrefix, time: Timestamp) -> Result<String> {
    let micros = u128::try_from(time.as_micros()).unwrap_or_default();
    let mut id = prefix.as_str().to_owned();
    push_digits(&mut id, micros, TIME_DIGITS);
    push_digits(&mut id, random_bits()?, RANDOM_DIGITS);
    Ok(id)
}

/// What every id from `time` on is at least, and every earlier one less than.
pub(crate) fn time_bound(prefix: IdPrefix, time: Timestamp) -> String {
    new_named_id(prefix, time, "")
}

/// A new id for `time` whose random digits are [`name_digits`].
pub(crate) fn new_named_id(prefix: IdPrefix, time: Timestamp, digits: &str) -> String {
    let micros = u128::try_from(time.as_micros()).unwrap_or_default();
    let mut id = prefix.as_str().to_owned();
    push_digits(&mut id, micros, TIME_DIGITS);
    id + digits
}

/// The same digits for the same name, in place of random ones.
pub(crate) fn name_digits(name: &str) -> String {
    let digest = Sha256::digest(name);
    let bits = digest
        .iter()
        .take(16)
        .fold(0, |bits, byte| (bits << 8) | u128::from(*byte));
    let mut digits = String::new();
    push_digits(&mut digits, bits, RANDOM_DIGITS);
    digits
}

/// Whether a text has the form of [`new_id`].
pub(crate) fn is_id(prefix: IdPrefix, text: &str) -> bool {
    let digits = text.strip_prefix(prefix.as_str()).unwrap_or_default();
    digits.len() == (TIME_DIGITS + RANDOM_DIGITS) as usize
        && digits.bytes().all(|digit| ALPHABET.contains(&digit))
}

/// Random letters and digits, five bits each, at most 25 of them.
pub(crate) fn random_text(digits: u32) -> Result<String> {
    let mut text = String::new();
    push_digits(&mut text, random_bits()?, digits);
    Ok(text)
}

fn push_digits(text: &mut String, number: u128, digits: u32) {
    for at in (0..digits).rev() {
        let digit = (number >> (5 * at)) & 31;
        let letter = ALPHABET.get(digit as usize).copied().unwrap_or(b'0');
        text.push(char::from(letter));
    }
}

fn random_bits() -> Result<u128> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::NoRandomness(error.to_string()))?;
    Ok(u128::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_the_time_they_were_made() {
        let at = |micros| new_id(IdPrefix::Skill, Timestamp::from_micros(micros)).unwrap();
        let times = [0, 1, 31, 32, 1_790_000_000_000_000, 1_790_000_000_000_001];
        let ids: Vec<_> = times.map(at).into();
        assert!(ids.is_sorted(), "{ids:?}");
        assert!(ids.iter().all(|id| id.len() == "skill_".len() + 24));
        let bound = time_bound(IdPrefix::Skill, Timestamp::from_micros(32));
        assert_eq!(ids.iter().filter(|id| **id < bound).count(), 3);
    }

    #[test]
    fn the_digits_of_a_name_are_always_the_same() {
        let time = Timestamp::from_micros(1_790_000_000_000_000);
        let digits = name_digits("a");
        let id = new_named_id(IdPrefix::FileBatch, time, &digits);
        assert!(is_id(IdPrefix::FileBatch, &id) && id.ends_with(&digits));
        assert_eq!(digits, name_digits("a"));
        assert_ne!(digits, name_digits("b"));
    }

    #[test]
    fn ids_of_the_same_moment_differ() {
        let now = Timestamp::now();
        assert_ne!(
            new_id(IdPrefix::File, now).unwrap(),
            new_id(IdPrefix::File, now).unwrap()
        );
    }
}
