//! The end record: where the directory lies and how many entries it lists.

use std::cmp::Ordering;
use std::ops::Range;

use super::super::{BundleError, Reason};
use super::fields::Fields;

const SIGNATURE: &[u8] = b"PK\x05\x06";
const ZIP64_LOCATOR: &[u8] = b"PK\x06\x07";
const RECORD: usize = 22;
/// The record may be followed by a comment of up to this many bytes.
const COMMENT: usize = u16::MAX as usize;

pub(super) struct End {
    /// The bytes of the directory.
    pub(super) directory: Range<usize>,
    pub(super) entries: usize,
}

/// Whether bytes end as a zip does.
pub(in super::super) fn has_end(bytes: &[u8]) -> bool {
    positions(bytes).any(|at| reaches_end(bytes, at))
}

/// Finds the end record and checks it against the place it was found at.
pub(super) fn find(zip: &[u8]) -> Result<End, BundleError> {
    let at = positions(zip).next().ok_or(Reason::ZipNoEnd)?;
    if !reaches_end(zip, at) {
        return Err(Reason::ZipTrailing.into());
    }
    // Tools that search from the front would stop at an earlier record whose
    // comment swallows this one.
    if positions(zip).skip(1).any(|other| reaches_end(zip, other)) {
        return Err(Reason::ZipSeveralEnds.into());
    }
    let locator = at.checked_sub(20).and_then(|from| zip.get(from..at));
    if locator.is_some_and(|bytes| bytes.starts_with(ZIP64_LOCATOR)) {
        return Err(Reason::Zip64.into());
    }
    let record = parse(zip, at).ok_or(Reason::ZipNoEnd)?;
    let directory = record.directory()?;
    match directory.end.cmp(&at) {
        Ordering::Equal => Ok(End {
            directory,
            entries: usize::from(record.entries),
        }),
        // The offsets are right for an archive that began later in the file.
        Ordering::Less if !zip.starts_with(b"PK\x03\x04") => Err(Reason::ZipPrefix.into()),
        Ordering::Less => Err(Reason::ZipDirectory("it ends before its end record").into()),
        Ordering::Greater => Err(Reason::ZipDirectory("it reaches past its end record").into()),
    }
}

/// Where the signature stands, the last place first, as far back as a comment
/// allows.
fn positions(zip: &[u8]) -> impl Iterator<Item = usize> {
    let from = zip.len().saturating_sub(RECORD + COMMENT);
    let tail = zip.get(from..).unwrap_or_default();
    let found = tail.windows(SIGNATURE.len()).enumerate().rev();
    found.filter_map(move |(at, bytes)| (bytes == SIGNATURE).then_some(from + at))
}

fn reaches_end(zip: &[u8], at: usize) -> bool {
    let comment = Fields::at(zip, at + RECORD - 2).and_then(|mut fields| fields.u16());
    comment.is_some_and(|len| at + RECORD + usize::from(len) == zip.len())
}

struct Record {
    disk: u16,
    directory_disk: u16,
    entries_here: u16,
    entries: u16,
    size: u32,
    offset: u32,
}

fn parse(zip: &[u8], at: usize) -> Option<Record> {
    let mut fields = Fields::at(zip, at + SIGNATURE.len())?;
    Some(Record {
        disk: fields.u16()?,
        directory_disk: fields.u16()?,
        entries_here: fields.u16()?,
        entries: fields.u16()?,
        size: fields.u32()?,
        offset: fields.u32()?,
    })
}

impl Record {
    /// Where it says the directory is.
    fn directory(&self) -> Result<Range<usize>, BundleError> {
        if self.entries == u16::MAX || self.size == u32::MAX || self.offset == u32::MAX {
            return Err(Reason::Zip64.into());
        }
        if self.disk != 0 || self.directory_disk != 0 || self.entries_here != self.entries {
            return Err(Reason::ZipSplit.into());
        }
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        Ok(start..start.saturating_add(size))
    }
}
