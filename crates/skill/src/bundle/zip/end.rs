//! The end record: where the directory lies and how many entries it lists.

use std::cmp::Ordering;
use std::ops::Range;

use super::super::{BundleError, BundleErrorKind};
use super::fields::ZipFields;

const SIGNATURE: &[u8] = b"PK\x05\x06";
const ZIP64_LOCATOR: &[u8] = b"PK\x06\x07";
const RECORD_BYTES: usize = 22;
/// The record may be followed by a comment of up to this many bytes.
const MAX_COMMENT_BYTES: usize = u16::MAX as usize;

pub(super) struct EndOfDirectory {
    /// The bytes of the directory.
    pub(super) directory: Range<usize>,
    pub(super) entries: usize,
}

/// Whether bytes end as a zip does.
pub(in super::super) fn has_end(bytes: &[u8]) -> bool {
    record_positions(bytes).any(|at| reaches_end(bytes, at))
}

/// Finds the end record and checks it against the place it was found at.
pub(super) fn find(zip: &[u8]) -> Result<EndOfDirectory, BundleError> {
    let at = record_positions(zip)
        .next()
        .ok_or(BundleErrorKind::ZipNoEnd)?;
    if !reaches_end(zip, at) {
        return Err(BundleErrorKind::ZipTrailing.into());
    }
    // Tools that search from the front would stop at an earlier record whose
    // comment swallows this one.
    if record_positions(zip)
        .skip(1)
        .any(|other| reaches_end(zip, other))
    {
        return Err(BundleErrorKind::ZipSeveralEnds.into());
    }
    let locator = at.checked_sub(20).and_then(|from| zip.get(from..at));
    if locator.is_some_and(|bytes| bytes.starts_with(ZIP64_LOCATOR)) {
        return Err(BundleErrorKind::Zip64.into());
    }
    let record = parse(zip, at).ok_or(BundleErrorKind::ZipNoEnd)?;
    let directory = record.directory()?;
    match directory.end.cmp(&at) {
        Ordering::Equal => Ok(EndOfDirectory {
            directory,
            entries: usize::from(record.entries),
        }),
        // The offsets are right for an archive that began later in the file.
        Ordering::Less if !zip.starts_with(b"PK\x03\x04") => Err(BundleErrorKind::ZipPrefix.into()),
        Ordering::Less => {
            Err(BundleErrorKind::ZipDirectory("it ends before its end record").into())
        }
        Ordering::Greater => {
            Err(BundleErrorKind::ZipDirectory("it reaches past its end record").into())
        }
    }
}

/// The positions of the signature, the last one first, as far back as a comment
/// allows.
fn record_positions(zip: &[u8]) -> impl Iterator<Item = usize> {
    let from = zip.len().saturating_sub(RECORD_BYTES + MAX_COMMENT_BYTES);
    let tail = zip.get(from..).unwrap_or_default();
    let found = tail.windows(SIGNATURE.len()).enumerate().rev();
    found.filter_map(move |(at, bytes)| (bytes == SIGNATURE).then_some(from + at))
}

fn reaches_end(zip: &[u8], at: usize) -> bool {
    let comment = ZipFields::at(zip, at + RECORD_BYTES - 2).and_then(|mut fields| fields.u16());
    comment.is_some_and(|len| at + RECORD_BYTES + usize::from(len) == zip.len())
}

struct EndRecord {
    disk: u16,
    directory_disk: u16,
    entries_here: u16,
    entries: u16,
    size: u32,
    offset: u32,
}

fn parse(zip: &[u8], at: usize) -> Option<EndRecord> {
    let mut fields = ZipFields::at(zip, at + SIGNATURE.len())?;
    Some(EndRecord {
        disk: fields.u16()?,
        directory_disk: fields.u16()?,
        entries_here: fields.u16()?,
        entries: fields.u16()?,
        size: fields.u32()?,
        offset: fields.u32()?,
    })
}

impl EndRecord {
    /// Where it says the directory is.
    fn directory(&self) -> Result<Range<usize>, BundleError> {
        if self.entries == u16::MAX || self.size == u32::MAX || self.offset == u32::MAX {
            return Err(BundleErrorKind::Zip64.into());
        }
        if self.disk != 0 || self.directory_disk != 0 || self.entries_here != self.entries {
            return Err(BundleErrorKind::ZipSplit.into());
        }
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        Ok(start..start.saturating_add(size))
    }
}
