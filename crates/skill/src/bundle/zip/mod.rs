//! Reads a zip that every tool would read alike.
//!
//! A zip says most things twice: each entry has a header beside its data and one
//! in the directory at the end, and tools differ in which they believe. Here an
//! archive is accepted only if both agree, and if entries, directory and end
//! record cover the file from its first byte to its last without gap or overlap.
//! To check that, every header has to be parsed here anyway; a second parser
//! could only disagree with this one, so there is none. Inflating and checksums
//! are flate2's.
//!
//! Nothing is inflated before the stated sizes are within limits, and nothing is
//! inflated beyond what was stated.

mod central;
mod end;
mod fields;
mod inflate;
mod layout;
mod name;

pub(super) use end::has_end;

use super::archive_file::ArchiveFile;
use super::table::FileTable;
use super::{BundleError, BundleErrorKind, BundleFile, names_interpreter};
use crate::limits::BundleLimits;
use central::ZipEntry;
use end::EndOfDirectory;
use inflate::Inflater;

pub(super) fn read(
    zip: &[u8],
    limits: &BundleLimits,
    table: &mut FileTable<'_>,
) -> Result<(), BundleError> {
    let end = end::find(zip)?;
    let entries = read_directory(zip, &end, limits)?;
    for entry in &entries {
        check_entry(entry, limits)?;
        table.count_entry()?;
        table.reserve(&entry.name, entry.size)?;
    }
    check_ratio(zip, &entries, limits)?;
    let spans = layout::check(zip, &entries, end.directory.start)?;
    let mut inflater = Inflater::default();
    for (entry, span) in entries.iter().zip(spans) {
        let packed = zip.get(span).unwrap_or_default();
        let data = inflater
            .unpack(entry, packed)
            .map_err(|reason| BundleError::at(&entry.name, reason))?;
        add_entry(table, entry, data)?;
    }
    Ok(())
}

/// The headers of the directory, which is no larger than the limits allow.
fn read_directory<'z>(
    zip: &'z [u8],
    end: &EndOfDirectory,
    limits: &BundleLimits,
) -> Result<Vec<ZipEntry<'z>>, BundleError> {
    if end.directory.len() as u64 > limits.directory_bytes {
        return Err(BundleErrorKind::DirectoryTooLarge(limits.directory_bytes).into());
    }
    if end.entries > limits.entries {
        return Err(BundleErrorKind::TooManyEntries(limits.entries).into());
    }
    central::read(zip, end)
}

/// The unpacked bytes of all entries, which are not out of proportion to the archive.
fn check_ratio(
    zip: &[u8],
    entries: &[ZipEntry<'_>],
    limits: &BundleLimits,
) -> Result<u64, BundleError> {
    let sizes = entries.iter().map(|entry| entry.size);
    let total = sizes.fold(0, u64::saturating_add);
    if total > limits.max_unpacked_bytes(zip.len() as u64) {
        return Err(BundleErrorKind::Ratio(limits.ratio).into());
    }
    Ok(total)
}

/// Shows each entry but folders to `visit`. Reading one that could be no skill's file, such
/// as a link or one that is encrypted, fails; the archive itself must hold together like
/// any other.
pub(super) fn each_file(
    zip: &[u8],
    limits: &BundleLimits,
    mut visit: impl FnMut(&str, ArchiveFile<'_>) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    let end = end::find(zip)?;
    let entries = read_directory(zip, &end, limits)?;
    if check_ratio(zip, &entries, limits)? > limits.total_bytes {
        return Err(BundleErrorKind::TotalTooLarge(limits.total_bytes).into());
    }
    let spans = layout::check(zip, &entries, end.directory.start)?;
    let mut inflater = Inflater::default();
    for (entry, span) in entries.iter().zip(spans) {
        if entry.name.ends_with('/') {
            continue;
        }
        let packed = zip.get(span).unwrap_or_default();
        let mut read = || {
            check_entry(entry, limits)?;
            let data = inflater.unpack(entry, packed);
            let data = data.map_err(|reason| BundleError::at(&entry.name, reason))?;
            let executable = is_executable(entry, &data);
            Ok((data, executable))
        };
        visit(&entry.name, ArchiveFile::new(entry.size, &mut read))?;
    }
    Ok(())
}

fn add_entry(
    table: &mut FileTable<'_>,
    entry: &ZipEntry<'_>,
    data: Vec<u8>,
) -> Result<(), BundleError> {
    if let Some(folder) = entry.name.strip_suffix('/') {
        return table.add_folder(folder);
    }
    let file = BundleFile {
        executable: is_executable(entry, &data),
        data: data.into(),
    };
    table.add_file(&entry.name, file)
}

/// Whether a file may be executed. Archives made on Windows do not say it.
fn is_executable(entry: &ZipEntry<'_>, data: &[u8]) -> bool {
    entry.mode & 0o111 != 0 || entry.mode == 0 && names_interpreter(data)
}

/// Everything that an entry's directory header alone can be refused for.
fn check_entry(entry: &ZipEntry<'_>, limits: &BundleLimits) -> Result<(), BundleError> {
    let refuse = |reason| Err(BundleError::at(&entry.name, reason));
    const ENCRYPTION_FLAGS: u16 = 1 | 1 << 6 | 1 << 13;
    // The compressor's effort (1, 2), sizes after the data (3), UTF-8 names (11).
    const KNOWN_FLAGS: u16 = 0b110 | 1 << 3 | 1 << 11;
    if entry.flags & ENCRYPTION_FLAGS != 0 {
        return refuse(BundleErrorKind::Encrypted);
    }
    if entry.flags & !KNOWN_FLAGS != 0 {
        return refuse(BundleErrorKind::Flags(entry.flags));
    }
    if !matches!(entry.method, inflate::STORED | inflate::DEFLATED) {
        return refuse(BundleErrorKind::Method(entry.method));
    }
    let folder = entry.name.ends_with('/');
    match entry.mode & 0o170_000 {
        0 | 0o100_000 => {}
        0o040_000 if folder => {}
        0o040_000 => return refuse(BundleErrorKind::SpecialFile("folder under a file's name")),
        0o120_000 => return refuse(BundleErrorKind::Link("symbolic")),
        0o010_000 => return refuse(BundleErrorKind::SpecialFile("named pipe")),
        0o020_000 | 0o060_000 => return refuse(BundleErrorKind::SpecialFile("device")),
        0o140_000 => return refuse(BundleErrorKind::SpecialFile("socket")),
        _ => return refuse(BundleErrorKind::SpecialFile("file of unknown type")),
    }
    if folder && entry.size != 0 {
        return refuse(BundleErrorKind::FolderWithData);
    }
    if entry.size > limits.max_unpacked_bytes(entry.packed) {
        return refuse(BundleErrorKind::Ratio(limits.ratio));
    }
    Ok(())
}
