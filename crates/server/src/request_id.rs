//! The id of a request.

use std::fmt;

/// What all ids begin with, before the digits.
const PREFIX: &[u8] = b"req_";

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
        let parts = [(high >> 32) as u32, high as u32, low];
        let mut text = [0; PREFIX.len() + 24];
        let (start, digits) = text.split_at_mut(PREFIX.len());
        start.copy_from_slice(PREFIX);
        for (place, part) in digits.chunks_exact_mut(8).zip(parts) {
            place.copy_from_slice(&hex_digits(part));
        }
        text
    }
}

/// The eight digits of a number: each half-byte gets a byte of its own, and all of these become
/// ASCII at once.
fn hex_digits(number: u32) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut spread = u64::from(number);
    spread = (spread | (spread << 16)) & 0x0000_ffff_0000_ffff;
    spread = (spread | (spread << 8)) & 0x00ff_00ff_00ff_00ff;
    spread = (spread | (spread << 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = ((spread + 6 * ONES) >> 4) & ONES;
    let ascii = spread + u64::from(b'0') * ONES + u64::from(b'a' - b'9' - 1) * letters;
    ascii.to_be_bytes()
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.to_ascii();
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
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
