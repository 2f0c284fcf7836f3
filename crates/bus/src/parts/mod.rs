//! Payloads that are larger than a message may be: split into parts, and put together again by
//! each receiver.
//!
//! A part is a message with the header [`HEADER`], which says of which payload it is which part.
//! Parts can be lost, repeated or out of order, and a hostile sender can claim anything, so a
//! receiver holds a bounded number of bytes for a bounded time.

mod assembler;
mod budget;
mod header;
mod split;
#[cfg(test)]
mod tests;

pub(crate) use assembler::Assembler;
pub(crate) use budget::PartsBudget;
pub(crate) use split::Splitter;

/// The name of the header of a part.
pub(crate) const HEADER: &str = "Prowess-Part";
/// What a header takes at most, with its name and NATS's own line.
pub(crate) const HEADER_ROOM: usize = 256;
/// Parts that a payload can have. Together with the maximum size of a payload, it decides how
/// small the messages of a server may be.
const MAX_PARTS: u32 = 1_024;
/// The smallest part into which payloads are split.
pub(crate) const MIN_PART_BYTES: usize = crate::MAX_PAYLOAD_BYTES / MAX_PARTS as usize;
