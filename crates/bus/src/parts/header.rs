//! The header of a part: `1 SENDER MESSAGE INDEX COUNT TOTAL`, the first ids as hexadecimal
//! numbers, the others decimal.

use std::fmt;

use super::MAX_PARTS;
use crate::MAX_PAYLOAD_BYTES;

const FORMAT: &str = "1";

/// Of which payload a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PayloadId {
    /// A connection, by a random number.
    pub(super) sender: u64,
    /// A payload of that connection.
    pub(super) number: u64,
}

/// Which part of which payload this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartHeader {
    pub(super) id: PayloadId,
    /// From 0.
    pub(super) index: u32,
    /// At least 2.
    pub(super) count: u32,
    /// Bytes of the payload.
    pub(super) total: usize,
}

impl fmt::Display for PartHeader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PartHeader {
            id: PayloadId { sender, number },
            index,
            count,
            total,
        } = self;
        write!(
            formatter,
            "{FORMAT} {sender:x} {number:x} {index} {count} {total}"
        )
    }
}

/// Reads a header that anybody may have sent; `None` if it is not one, or claims what cannot be.
pub(super) fn parse_header(text: &str) -> Option<PartHeader> {
    let mut fields = text.split(' ');
    let mut next = || fields.next();
    if next()? != FORMAT {
        return None;
    }
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let header = PartHeader {
        id: PayloadId {
            sender: hexadecimal(next()?)?,
            number: hexadecimal(next()?)?,
        },
        index: next()?.parse().ok()?,
        count: next()?.parse().ok()?,
        total: next()?.parse().ok()?,
    };
    let is_possible = next().is_none()
        && (2..=MAX_PARTS).contains(&header.count)
        && header.index < header.count
        && header.total <= MAX_PAYLOAD_BYTES
        && header.total >= usize::try_from(header.count).ok()?;
    is_possible.then_some(header)
}
