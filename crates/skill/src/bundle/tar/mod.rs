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

use tar::{Archive, Entry, EntryType};

use super::table::Table;
use super::tree::Passing;
use super::{BundleError, File, Reason};
use crate::limits::Limits;
use crate::path::readable;
use extension::Extensions;
use stream::Stream;

pub(super) fn read(gz: &[u8], limits: &Limits, table: &mut Table<'_>) -> Result<(), BundleError> {
    let mut stream = Stream::new(gz, limits);
    let walked = walk(&mut stream, limits, table);
    // What went wrong below explains what went wrong above.
    stream.take_fault()?;
    walked?;
    stream.finish()
}

fn walk(
    stream: &mut Stream<'_>,
    limits: &Limits,
    table: &mut Table<'_>,
) -> Result<(), BundleError> {
    let mut archive = Archive::new(stream);
    let mut extensions = Extensions::default();
    for entry in archive.entries().map_err(header)?.raw(true) {
        let mut entry = entry.map_err(header)?;
        table.count()?;
        if extensions.absorb(&mut entry, limits)? {
            continue;
        }
        let described = std::mem::take(&mut extensions);
        take(&mut entry, described, table)?;
    }
    extensions.expect_none()
}

/// Shows each regular file with a readable name to `visit`; whatever else there is
/// is passed over.
pub(super) fn each_file(
    gz: &[u8],
    limits: &Limits,
    mut visit: impl FnMut(&str, Passing<'_>) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    let mut stream = Stream::new(gz, limits);
    let mut walk = || {
        let mut archive = Archive::new(&mut stream);
        let mut extensions = Extensions::default();
        for (count, entry) in archive.entries().map_err(header)?.raw(true).enumerate() {
            if count >= limits.entries {
                return Err(Reason::TooManyEntries(limits.entries).into());
            }
            let mut entry = entry.map_err(header)?;
            if extensions.absorb(&mut entry, limits)? {
                continue;
            }
            pass(&mut entry, std::mem::take(&mut extensions), &mut visit)?;
        }
        extensions.expect_none()
    };
    let walked = walk();
    stream.take_fault()?;
    walked?;
    stream.finish()
}

fn pass(
    entry: &mut Entry<'_, impl Read>,
    extensions: Extensions,
    visit: &mut impl FnMut(&str, Passing<'_>) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    if entry.header().entry_type() != EntryType::Regular {
        return Ok(());
    }
    let raw = match extensions.name() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(entry.path_bytes().into_owned()),
    };
    let size = entry.header().entry_size().map_err(header)?;
    let executable = entry.header().mode().map_err(header)? & 0o111 != 0;
    let at = |reason| BundleError::at(&raw, reason);
    extensions.check(size).map_err(at)?;
    match std::str::from_utf8(&raw) {
        Ok(name) if !name.ends_with('/') => {
            let mut read = || Ok((content(entry, size)?, executable));
            visit(name, Passing::new(size, &mut read))
        }
        _ => Ok(()),
    }
}

/// The tar crate may put the name of the entry into its words.
fn header(error: std::io::Error) -> BundleError {
    Reason::TarHeader(readable(error.to_string().as_bytes())).into()
}

/// Takes one entry that is a thing of its own.
fn take(
    entry: &mut Entry<'_, impl Read>,
    extensions: Extensions,
    table: &mut Table<'_>,
) -> Result<(), BundleError> {
    let raw = match extensions.name() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(entry.path_bytes().into_owned()),
    };
    let at = |reason| BundleError::at(&raw, reason);
    let kind = entry.header().entry_type();
    check_kind(kind).map_err(at)?;
    let size = entry.header().entry_size().map_err(header)?;
    extensions.check(size).map_err(at)?;

    let name = std::str::from_utf8(&raw).map_err(|_| at(Reason::NameNotUtf8))?;
    if let Some(folder) = folder_name(name, kind) {
        if size != 0 {
            return Err(at(Reason::FolderWithData));
        }
        return table.add_folder(folder);
    }
    table.claim(&raw, size)?;
    let file = File {
        data: content(entry, size).map_err(at)?.into(),
        executable: entry.header().mode().map_err(header)? & 0o111 != 0,
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

fn check_kind(kind: EntryType) -> Result<(), Reason> {
    match kind {
        EntryType::Regular | EntryType::Directory => Ok(()),
        EntryType::Symlink => Err(Reason::Link("symbolic")),
        EntryType::Link => Err(Reason::Link("hard")),
        EntryType::GNUSparse => Err(Reason::Sparse),
        EntryType::Fifo => Err(Reason::SpecialFile("named pipe")),
        EntryType::Char | EntryType::Block => Err(Reason::SpecialFile("device")),
        _ => Err(Reason::SpecialFile("file of unknown type")),
    }
}

/// The entry's bytes; `size` was allowed before.
fn content(entry: &mut impl Read, size: u64) -> Result<Vec<u8>, Reason> {
    let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    let read = entry.take(size).read_to_end(&mut data);
    match read {
        Ok(_) if data.len() as u64 == size => Ok(data),
        _ => Err(Reason::TarTruncated(size)),
    }
}
