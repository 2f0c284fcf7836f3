//! Reads a gzipped tar as it streams by.
//!
//! The tar crate splits the stream into raw entries; what an entry may be, which
//! of its names counts, and how much may be read is decided here. Only files and
//! folders are taken, under one name each: a long name or a pax path replaces the
//! short one, and whatever else such extensions say (owners, times, attributes)
//! is dropped.

mod extension;
mod stream;

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

use tar::{Archive, Entry, EntryType};

use super::archive_file::ArchiveFile;
use super::table::FileTable;
use super::{BundleError, BundleErrorKind, BundleFile};
use crate::limits::BundleLimits;
use crate::path::escape_text;
use extension::Extensions;
use stream::TarStream;

/// Where a header of POSIX has the beginning of a long name.
const PREFIX: Range<usize> = 345..500;

pub(super) fn read(
    gz: &[u8],
    limits: &BundleLimits,
    table: &mut FileTable<'_>,
) -> Result<(), BundleError> {
    let mut stream = TarStream::new(gz, limits);
    let walked = read_entries(&mut stream, limits, table);
    // What went wrong below explains what went wrong above.
    stream.take_fault()?;
    walked?;
    stream.finish()
}

fn read_entries(
    stream: &mut TarStream<'_>,
    limits: &BundleLimits,
    table: &mut FileTable<'_>,
) -> Result<(), BundleError> {
    let mut archive = Archive::new(stream);
    let mut extensions = Extensions::default();
    for entry in archive.entries().map_err(header_error)?.raw(true) {
        let mut entry = entry.map_err(header_error)?;
        table.count_entry()?;
        if extensions.read_extension(&mut entry, limits)? {
            continue;
        }
        if has_foreign_prefix(&entry) {
            let name = entry.path_bytes();
            return Err(BundleError::at(name, BundleErrorKind::NameAmbiguous));
        }
        let described = std::mem::take(&mut extensions);
        read_entry(&mut entry, described, table)?;
    }
    extensions.expect_none()
}

/// Shows each regular file with a readable name to `visit`; whatever else there is
/// is passed over.
pub(super) fn each_file(
    gz: &[u8],
    limits: &BundleLimits,
    mut visit: impl FnMut(&str, ArchiveFile<'_>) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    let mut stream = TarStream::new(gz, limits);
    let mut walk = || {
        let mut archive = Archive::new(&mut stream);
        let mut extensions = Extensions::default();
        for (count, entry) in archive
            .entries()
            .map_err(header_error)?
            .raw(true)
            .enumerate()
        {
            if count >= limits.entries {
                return Err(BundleErrorKind::TooManyEntries(limits.entries).into());
            }
            let mut entry = entry.map_err(header_error)?;
            if extensions.read_extension(&mut entry, limits)? {
                continue;
            }
            visit_file(&mut entry, std::mem::take(&mut extensions), &mut visit)?;
        }
        extensions.expect_none()
    };
    let walked = walk();
    stream.take_fault()?;
    walked?;
    stream.finish()
}

fn visit_file(
    entry: &mut Entry<'_, impl Read>,
    extensions: Extensions,
    visit: &mut impl FnMut(&str, ArchiveFile<'_>) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    if entry.header().entry_type() != EntryType::Regular {
        return Ok(());
    }
    let raw = match extensions.name() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(entry.path_bytes().into_owned()),
    };
    let size = entry.header().entry_size().map_err(header_error)?;
    let executable = entry.header().mode().map_err(header_error)? & 0o111 != 0;
    let at = |reason| BundleError::at(&raw, reason);
    extensions.check(size).map_err(at)?;
    match std::str::from_utf8(&raw) {
        Ok(name) if !name.ends_with('/') => {
            let is_ambiguous = has_foreign_prefix(entry);
            let mut read = || {
                if is_ambiguous {
                    return Err(BundleErrorKind::NameAmbiguous.into());
                }
                Ok((read_content(entry, size)?, executable))
            };
            visit(name, ArchiveFile::new(size, &mut read))
        }
        _ => Ok(()),
    }
}

/// Whether there is the beginning of a name where only headers of POSIX have one. Some tools read
/// it in all others too.
fn has_foreign_prefix(entry: &Entry<'_, impl Read>) -> bool {
    let header = entry.header();
    let prefix = header.as_bytes().get(PREFIX).unwrap_or_default();
    header.as_ustar().is_none() && prefix.iter().any(|byte| *byte != 0)
}

/// The tar crate may put the name of the entry into its words.
fn header_error(error: std::io::Error) -> BundleError {
    BundleErrorKind::TarHeader(escape_text(error.to_string().as_bytes())).into()
}

/// Takes one entry that is a thing of its own.
fn read_entry(
    entry: &mut Entry<'_, impl Read>,
    extensions: Extensions,
    table: &mut FileTable<'_>,
) -> Result<(), BundleError> {
    let raw = match extensions.name() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(entry.path_bytes().into_owned()),
    };
    let at = |reason| BundleError::at(&raw, reason);
    let kind = entry.header().entry_type();
    check_kind(kind).map_err(at)?;
    let size = entry.header().entry_size().map_err(header_error)?;
    extensions.check(size).map_err(at)?;

    let name = std::str::from_utf8(&raw).map_err(|_| at(BundleErrorKind::NameNotUtf8))?;
    if let Some(folder) = folder_name(name, kind) {
        if size != 0 {
            return Err(at(BundleErrorKind::FolderWithData));
        }
        return table.add_folder(folder);
    }
    table.reserve(&raw, size)?;
    let file = BundleFile {
        data: read_content(entry, size).map_err(at)?.into(),
        executable: entry.header().mode().map_err(header_error)? & 0o111 != 0,
    };
    table.add_file(name, file)
}

/// The name of a folder without its final slash. Before there was a type for
/// folders, the slash alone made one.
fn folder_name(name: &str, kind: EntryType) -> Option<&str> {
    match name.strip_suffix('/') {
        Some(folder) => Some(folder),
        None if kind.is_dir() => Some(name),
        None => None,
    }
}

fn check_kind(kind: EntryType) -> Result<(), BundleErrorKind> {
    match kind {
        EntryType::Regular | EntryType::Directory => Ok(()),
        EntryType::Symlink => Err(BundleErrorKind::Link("symbolic")),
        EntryType::Link => Err(BundleErrorKind::Link("hard")),
        EntryType::GNUSparse => Err(BundleErrorKind::Sparse),
        EntryType::Fifo => Err(BundleErrorKind::SpecialFile("named pipe")),
        EntryType::Char | EntryType::Block => Err(BundleErrorKind::SpecialFile("device")),
        _ => Err(BundleErrorKind::SpecialFile("file of unknown type")),
    }
}

/// The entry's bytes; `size` was allowed before.
fn read_content(entry: &mut impl Read, size: u64) -> Result<Vec<u8>, BundleErrorKind> {
    let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    let read = entry.take(size).read_to_end(&mut data);
    match read {
        Ok(_) if data.len() as u64 == size => Ok(data),
        _ => Err(BundleErrorKind::TarTruncated(size)),
    }
}
