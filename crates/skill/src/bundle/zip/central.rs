//! The directory: one header for each entry.

use super::super::{BundleError, BundleErrorKind};
use super::end::EndOfDirectory;
use super::fields::{self, ZipFields};
use super::name;

const SIGNATURE: &[u8] = b"PK\x01\x02";
const ZIP64_EXTRA_ID: u16 = 0x0001;

/// An entry of the directory.
pub(super) struct ZipEntry<'a> {
    /// The name as text; ends in `/` for a folder. Not yet a safe path.
    pub(super) name: String,
    /// The name as written.
    pub(super) raw_name: &'a [u8],
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    /// Bytes in the archive.
    pub(super) packed: u64,
    /// Bytes when unpacked.
    pub(super) size: u64,
    /// The offset of the local header.
    pub(super) offset: u64,
    /// Unix file type and permissions, 0 when the writer knew none.
    pub(super) mode: u32,
}

/// Reads all headers; they must fill the directory exactly.
pub(super) fn read<'a>(
    zip: &'a [u8],
    end: &EndOfDirectory,
) -> Result<Vec<ZipEntry<'a>>, BundleError> {
    let mut fields = ZipFields(zip.get(end.directory.clone()).unwrap_or_default());
    let mut entries = Vec::new();
    for _ in 0..end.entries {
        let header = CentralHeader::read(&mut fields).ok_or(BundleErrorKind::ZipDirectory(
            "it lists fewer entries than it states",
        ))?;
        let entry = header
            .resolve()
            .map_err(|reason| BundleError::at(header.name, reason))?;
        entries.push(entry);
    }
    if !fields.0.is_empty() {
        return Err(
            BundleErrorKind::ZipDirectory("it has more bytes than its entries need").into(),
        );
    }
    Ok(entries)
}

struct CentralHeader<'a> {
    flags: u16,
    method: u16,
    crc: u32,
    packed: u32,
    size: u32,
    disk: u16,
    attributes: u32,
    offset: u32,
    name: &'a [u8],
    extra: &'a [u8],
}

impl<'a> CentralHeader<'a> {
    fn read(fields: &mut ZipFields<'a>) -> Option<Self> {
        if fields.take(4)? != SIGNATURE {
            return None;
        }
        fields.skip(4)?; // versions
        let (flags, method) = (fields.u16()?, fields.u16()?);
        fields.skip(4)?; // time
        let (crc, packed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
        let disk = fields.u16()?;
        fields.skip(2)?; // internal attributes
        let (attributes, offset) = (fields.u32()?, fields.u32()?);
        let (name, extra) = (fields.take(name.into())?, fields.take(extra.into())?);
        fields.skip(comment.into())?;
        Some(CentralHeader {
            flags,
            method,
            crc,
            packed,
            size,
            disk,
            attributes,
            offset,
            name,
            extra,
        })
    }

    fn resolve(&self) -> Result<ZipEntry<'a>, BundleErrorKind> {
        if self.disk != 0 {
            return Err(BundleErrorKind::ZipSplit);
        }
        let [size, packed, offset] =
            read_zip64_sizes(self.extra, [self.size, self.packed, self.offset])?;
        Ok(ZipEntry {
            name: name::decode(self.name, self.flags, self.extra)?,
            raw_name: self.name,
            flags: self.flags,
            method: self.method,
            crc: self.crc,
            packed,
            size,
            offset,
            mode: self.attributes >> 16,
        })
    }
}

/// Fields that are all ones stand, in this order, in the ZIP64 extra field, which
/// streaming writers use even for small files.
pub(super) fn read_zip64_sizes<const N: usize>(
    extra: &[u8],
    narrow: [u32; N],
) -> Result<[u64; N], BundleErrorKind> {
    let mut wide = narrow.map(u64::from);
    if !narrow.contains(&u32::MAX) {
        return Ok(wide);
    }
    const BROKEN: BundleErrorKind = BundleErrorKind::ZipHeader("its ZIP64 sizes are missing");
    let content = fields::find_extra(extra, ZIP64_EXTRA_ID).map_err(|()| BROKEN)?;
    let mut content = ZipFields(content.ok_or(BROKEN)?);
    for value in &mut wide {
        if *value == u64::from(u32::MAX) {
            *value = content.u64().ok_or(BROKEN)?;
        }
    }
    Ok(wide)
}
