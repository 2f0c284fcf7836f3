//! Local headers and data: that they agree with the directory and lie end to end.

use std::cmp::Ordering;
use std::ops::Range;

use super::super::{BundleError, BundleErrorKind};
use super::central::{self, ZipEntry};
use super::fields::ZipFields;
use super::name;

const SIGNATURE: &[u8] = b"PK\x03\x04";
const DESCRIPTOR_SIGNATURE: &[u8] = b"PK\x07\x08";
const SIZES_AFTER_DATA: u16 = 1 << 3;

/// Where the packed bytes of each entry lie, in the order of `entries`.
///
/// The entries must fill the archive from its first byte to `directory` with no
/// gap and no overlap, so that one byte is never read as two things.
pub(super) fn check(
    zip: &[u8],
    entries: &[ZipEntry<'_>],
    directory: usize,
) -> Result<Vec<Range<usize>>, BundleError> {
    let mut order: Vec<(usize, &ZipEntry<'_>)> = entries.iter().enumerate().collect();
    order.sort_by_key(|(_, entry)| entry.offset);
    let next_starts = order.iter().skip(1).map(|(_, entry)| entry.offset);
    let ends: Vec<u64> = next_starts.chain([directory as u64]).collect();

    let mut spans = vec![0..0; entries.len()];
    let mut at = 0;
    for ((index, entry), end) in order.into_iter().zip(ends) {
        let refuse = |reason| BundleError::at(&entry.name, reason);
        if at == 0 && entry.offset > 0 {
            return Err(BundleErrorKind::ZipPrefix.into());
        }
        check_offset(entry, at).map_err(refuse)?;
        let end = usize::try_from(end).unwrap_or(usize::MAX).min(directory);
        let (span, after) = locate_data(zip, entry, at, end).map_err(refuse)?;
        if let Some(slot) = spans.get_mut(index) {
            *slot = span;
        }
        at = after;
    }
    match at == directory {
        true => Ok(spans),
        false if entries.is_empty() => Err(BundleErrorKind::ZipPrefix.into()),
        false => Err(BundleErrorKind::ZipDirectory("bytes before it belong to no entry").into()),
    }
}

fn check_offset(entry: &ZipEntry<'_>, at: usize) -> Result<(), BundleErrorKind> {
    match entry.offset.cmp(&(at as u64)) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(BundleErrorKind::ZipOverlap),
        Ordering::Greater => Err(BundleErrorKind::ZipGap),
    }
}

/// The data of the entry at `at`, and where the next one must begin. `end` is
/// where the directory says the next one does.
fn locate_data(
    zip: &[u8],
    entry: &ZipEntry<'_>,
    at: usize,
    end: usize,
) -> Result<(Range<usize>, usize), BundleErrorKind> {
    let local = LocalHeader::read(zip, at).ok_or(BundleErrorKind::ZipHeader(
        "no entry begins where it should",
    ))?;
    local.check(entry)?;
    let packed = usize::try_from(entry.packed).unwrap_or(usize::MAX);
    let after = local.data.checked_add(packed).filter(|&after| after <= end);
    let after = after.ok_or(BundleErrorKind::ZipOverlap)?;
    if entry.flags & SIZES_AFTER_DATA == 0 {
        return Ok((local.data..after, after));
    }
    let descriptor = zip.get(after..end).unwrap_or_default();
    if !descriptor_matches(descriptor, entry) {
        return Err(BundleErrorKind::HeaderMismatch(
            "size or checksum after its data",
        ));
    }
    Ok((local.data..after, end))
}

/// Whether the bytes after the data are its checksum and sizes. The format
/// leaves both a signature and the width of the sizes to the writer; as nothing
/// else may follow, the length decides.
fn descriptor_matches(descriptor: &[u8], entry: &ZipEntry<'_>) -> bool {
    let bare = match descriptor.len() {
        16 | 24 => descriptor.strip_prefix(DESCRIPTOR_SIGNATURE),
        _ => Some(descriptor),
    };
    let mut fields = ZipFields(bare.unwrap_or_default());
    let crc = fields.u32();
    let sizes = match fields.0.len() {
        8 => [fields.u32().map(u64::from), fields.u32().map(u64::from)],
        16 => [fields.u64(), fields.u64()],
        _ => return false,
    };
    crc == Some(entry.crc) && sizes == [Some(entry.packed), Some(entry.size)]
}

/// The header beside an entry's data.
struct LocalHeader<'a> {
    flags: u16,
    method: u16,
    crc: u32,
    packed: u32,
    size: u32,
    name: &'a [u8],
    extra: &'a [u8],
    /// The offset of the data.
    data: usize,
}

impl<'a> LocalHeader<'a> {
    fn read(zip: &'a [u8], at: usize) -> Option<Self> {
        let mut fields = ZipFields::at(zip, at)?;
        if fields.take(4)? != SIGNATURE {
            return None;
        }
        fields.skip(2)?; // version
        let (flags, method) = (fields.u16()?, fields.u16()?);
        fields.skip(4)?; // time
        let (crc, packed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let (name, extra) = (fields.u16()?, fields.u16()?);
        let (name, extra) = (fields.take(name.into())?, fields.take(extra.into())?);
        Some(LocalHeader {
            flags,
            method,
            crc,
            packed,
            size,
            name,
            extra,
            data: zip.len() - fields.0.len(),
        })
    }

    fn check(&self, entry: &ZipEntry<'_>) -> Result<(), BundleErrorKind> {
        let mismatch = |field| Err(BundleErrorKind::HeaderMismatch(field));
        if self.name != entry.raw_name {
            return mismatch("name");
        }
        if self.flags != entry.flags {
            return mismatch("flags");
        }
        if self.method != entry.method {
            return mismatch("method");
        }
        if name::decode(self.name, self.flags, self.extra)? != entry.name {
            return Err(BundleErrorKind::NameAmbiguous);
        }
        self.check_sizes(entry)
    }

    /// A writer that did not know the sizes yet left zeros here and put them
    /// after the data; anything it did write must be true.
    fn check_sizes(&self, entry: &ZipEntry<'_>) -> Result<(), BundleErrorKind> {
        let later = entry.flags & SIZES_AFTER_DATA != 0;
        let [size, packed] = if later {
            [self.size, self.packed].map(u64::from)
        } else {
            central::read_zip64_sizes(self.extra, [self.size, self.packed])?
        };
        let blank = |value: u64| later && (value == 0 || value == u64::from(u32::MAX));
        if size != entry.size && !blank(size) {
            return Err(BundleErrorKind::HeaderMismatch("size"));
        }
        if packed != entry.packed && !blank(packed) {
            return Err(BundleErrorKind::HeaderMismatch("packed size"));
        }
        if self.crc != entry.crc && !blank(self.crc.into()) {
            return Err(BundleErrorKind::HeaderMismatch("checksum"));
        }
        Ok(())
    }
}
