//! Subjects for replies. Whoever knows one can reply, so nobody may guess it.

use std::fmt::Write as _;

/// Random bytes of an inbox.
const RANDOM_BYTES: usize = 16;

/// A new subject below `prefix`.
pub(crate) fn new(prefix: &str) -> String {
    let mut subject = String::with_capacity(prefix.len() + 1 + 2 * RANDOM_BYTES);
    subject.push_str(prefix);
    subject.push('.');
    for byte in random::<RANDOM_BYTES>() {
        // Writing into a text does not fail.
        let _ = write!(subject, "{byte:02x}");
    }
    subject
}

/// Bytes of the operating system's random number generator.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // It fails only where there is no such generator at all; the hasher's keys are random too.
    if getrandom::fill(&mut bytes).is_err() {
        use std::hash::{BuildHasher as _, RandomState};
        for byte in &mut bytes {
            let [low, ..] = RandomState::new().hash_one(0_u8).to_le_bytes();
            *byte = low;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inboxes_are_valid_subjects_and_differ() {
        let (one, other) = (new("a.in"), new("a.in"));
        crate::subject::check(&one).unwrap();
        assert_eq!(one.len(), "a.in.".len() + 32);
        assert_ne!(one, other);
    }
}
