//! Numbers in as few bytes as they need: seven bits per byte, lowest first.

/// Appends a number.
pub fn write_varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number, and advances `bytes`. `None` if the bytes end within it, if it is larger
/// than 64 bits, or longer than it need be.
#[inline]
pub fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    // Most numbers of an index are small.
    if let Some((byte, rest)) = bytes.split_first()
        && *byte < 0x80
    {
        *bytes = rest;
        return Some(u64::from(*byte));
    }
    read_long_varint(bytes)
}

fn read_long_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return (*byte > 0 || shift == 0).then_some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_read_as_it_was_written(number in any::<u64>(), shift in 0..64u32) {
            let number = number >> shift;
            let mut bytes = Vec::new();
            write_varint(number, &mut bytes);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(read_varint(&mut rest), Some(number));
            prop_assert!(rest.is_empty());
            prop_assert_eq!(read_varint(&mut bytes.split_last().unwrap().1), None);
        }
    }

    #[test]
    fn numbers_that_are_too_long_are_refused() {
        assert_eq!(read_varint(&mut [0x80, 0].as_slice()), None);
        assert_eq!(read_varint(&mut [0xff; 10].as_slice()), None);
        assert_eq!(read_varint(&mut [0xff; 11].as_slice()), None);
    }
}
