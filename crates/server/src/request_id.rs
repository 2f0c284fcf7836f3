//! The id of a request.

use std::fmt;

/// What all ids begin with, before the digits.
const PREFIX: &[u8] = b"req_";
/// An id of zeros. Digits of other ids take their place.
const ZERO: [u8; 28] = *b"req_000000000000000000000000";

/// Identifies a request in the logs. It is not a secret.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestId(u64, u32);

impl RequestId {
    pub(crate) fn new() -> RequestId {
        RequestId(fastrand::u64(..), fastrand::u32(..))
    }

    /// The id as ASCII text. Every response has it, and to format two numbers costs several times
    /// as much.
    pub(crate) fn to_ascii(self) -> [u8; 28] {
        let RequestId(high, low) = self;
        let bytes = high.to_be_bytes().into_iter().chain(low.to_be_bytes());
        let digits = bytes.flat_map(|byte| [byte >> 4, byte & 0xf]);
        let mut text = ZERO;
        for (place, digit) in text.iter_mut().skip(PREFIX.len()).zip(digits) {
            *place = match digit {
                0..=9 => b'0' + digit,
                _ => b'a' + (digit - 10),
            };
        }
        text
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_ascii()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_all_of_its_digits() {
        for (id, text) in [
            (RequestId::default(), "req_000000000000000000000000"),
            (
                RequestId(0x0123_4567_89ab_cdef, 0x0f),
                "req_0123456789abcdef0000000f",
            ),
            (
                RequestId(u64::MAX, u32::MAX),
                "req_ffffffffffffffffffffffff",
            ),
        ] {
            assert_eq!(id.to_string(), text);
            assert_eq!(id.to_string(), format!("req_{:016x}{:08x}", id.0, id.1));
        }
    }
}
