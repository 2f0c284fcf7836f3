//! Random ids.

use crate::error::{Error, ErrorContext};

const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// 120 random bits as 24 letters and digits.
pub(crate) fn random_id() -> Result<String, Error> {
    let bytes: [u8; 24] = random_bytes()?;
    let letter = |byte: u8| {
        LETTERS
            .get(usize::from(byte % 32))
            .map(|letter| char::from(*letter))
    };
    Ok(bytes.into_iter().filter_map(letter).collect())
}

/// Whether a text has the form of [`random_id`].
pub(crate) fn is_random_id(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|letter| LETTERS.contains(&letter))
}

/// A random number below `bound`.
pub(crate) fn random_below(bound: u32) -> Result<u32, Error> {
    Ok(u32::from_le_bytes(random_bytes()?) % bound.max(1))
}

fn random_bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| std::io::Error::other(error.to_string()))
        .context("cannot read random bytes")?;
    Ok(bytes)
}
