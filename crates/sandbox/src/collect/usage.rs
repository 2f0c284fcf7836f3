//! Measures a folder: entries of any kind, and their bytes. No link is followed and the
//! depth is limited, so that measuring files of hostile code, even while it runs, is
//! bounded.

use super::folder::{EntryKind, FileEntry, FolderHandle};
use crate::error::{Error, ErrorContext};
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// Disk usage of an entry in addition to its bytes: an inode and a name.
pub(crate) const ENTRY_BYTES: u64 = 4096;

/// Maximum nesting that is measured. Deeper folders are not stored in a container.
const MAX_DEPTH: usize = 64;

/// Allocated bytes beyond twice a file's length before they are counted.
const ALLOCATION_SLACK_BYTES: u64 = 64 << 10;

/// The same for what all files that code writes to the disk itself have beyond their lengths.
const TOTAL_SLACK_BYTES: u64 = 64 << 20;

/// Content of a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DiskUsage {
    /// Lengths of files and of links' targets, and folders beyond [`ENTRY_BYTES`].
    pub(crate) bytes: u64,
    /// Files, folders, links and anything else that has a name.
    pub(crate) entries: u64,
}

impl DiskUsage {
    /// No limit.
    pub(crate) const MAX: Self = Self {
        bytes: u64::MAX,
        entries: u64::MAX,
    };

    /// Minimum disk usage.
    pub(crate) fn on_disk(self) -> u64 {
        self.bytes
            .saturating_add(self.entries.saturating_mul(ENTRY_BYTES))
    }

    fn add(&mut self, entry: &FileEntry) {
        self.entries = self.entries.saturating_add(1);
        self.bytes = self.bytes.saturating_add(counted_bytes(entry));
    }

    fn is_above(self, most: Self) -> bool {
        self.bytes > most.bytes || self.entries > most.entries
    }
}

/// The bytes that an entry counts as.
///
/// A file counts with its length, because a copy of it writes out its holes; or with its
/// allocated size where that is far larger, because blocks can be reserved beyond a file's
/// end. On many file systems a folder does not shrink when entries are removed.
pub(crate) fn counted_bytes(entry: &FileEntry) -> u64 {
    match entry.kind {
        EntryKind::File => {
            let expected = entry.size.saturating_mul(2);
            if entry.allocated > expected.saturating_add(ALLOCATION_SLACK_BYTES) {
                entry.allocated
            } else {
                entry.size
            }
        }
        EntryKind::Symlink => entry.size,
        EntryKind::Folder => entry.size.saturating_sub(ENTRY_BYTES),
        EntryKind::Deleted | EntryKind::Special => 0,
    }
}

/// The result of measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measurement {
    pub(crate) usage: DiskUsage,
    /// Whether the folder is nested too deep, or exceeds the given limit.
    pub(crate) exceeds_limit: bool,
}

/// Measures a folder of a container until it exceeds `most`, calling `visit` with each
/// regular file's path and size.
pub(crate) fn measure(
    folder: &Path,
    most: DiskUsage,
    visit: &mut dyn FnMut(&str, u64),
) -> Result<Measurement, Error> {
    measure_with_slack(folder, most, u64::MAX, visit)
}

/// Measures a folder that code writes to directly, until it exceeds `most`. There, a little can be
/// reserved beyond the ends of very many files.
pub(crate) fn measure_written(folder: &Path, most: DiskUsage) -> Result<Measurement, Error> {
    measure_with_slack(folder, most, TOTAL_SLACK_BYTES, &mut |_, _| {})
}

fn measure_with_slack(
    folder: &Path,
    most: DiskUsage,
    slack: u64,
    visit: &mut dyn FnMut(&str, u64),
) -> Result<Measurement, Error> {
    let mut measurer = Measurer {
        usage: DiskUsage::default(),
        most,
        slack,
        is_too_deep: false,
        visit,
    };
    let opened =
        FolderHandle::open_path(folder).at("cannot read the files of the container", folder)?;
    let ended = measurer
        .add(&opened, "", 0)
        .at("cannot read the files of the container", folder)?;
    Ok(Measurement {
        usage: measurer.usage,
        exceeds_limit: measurer.is_too_deep || ended.is_break(),
    })
}

struct Measurer<'a> {
    usage: DiskUsage,
    most: DiskUsage,
    /// Bytes beyond the lengths of files that are not counted yet.
    slack: u64,
    is_too_deep: bool,
    visit: &'a mut dyn FnMut(&str, u64),
}

impl Measurer<'_> {
    fn add(
        &mut self,
        folder: &FolderHandle,
        path: &str,
        depth: usize,
    ) -> io::Result<ControlFlow<()>> {
        folder.for_each_entry(&mut |entry| {
            self.usage.add(&entry);
            self.add_beyond_slack(&entry);
            if self.usage.is_above(self.most) {
                return Ok(ControlFlow::Break(()));
            }
            let name = entry.name.to_string_lossy();
            let here = if path.is_empty() {
                name.into_owned()
            } else {
                format!("{path}/{name}")
            };
            match entry.kind {
                EntryKind::File => (self.visit)(&here, entry.size),
                EntryKind::Folder if depth >= MAX_DEPTH => self.is_too_deep = true,
                EntryKind::Folder => match folder.enter(&entry.name) {
                    Ok(inner) => return self.add(&inner, &here, depth + 1),
                    Err(error) if has_changed(&error) => {}
                    Err(error) => return Err(error),
                },
                EntryKind::Symlink | EntryKind::Deleted | EntryKind::Special => {}
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Counts what is allocated to a file beyond its length, unless it is counted already or
    /// within the slack of all files.
    fn add_beyond_slack(&mut self, entry: &FileEntry) {
        if entry.kind != EntryKind::File || counted_bytes(entry) != entry.size {
            return;
        }
        // Its last block is a part of every file.
        let length = entry.size.saturating_add(ENTRY_BYTES);
        let beyond = entry.allocated.saturating_sub(length);
        let uncounted = beyond.min(self.slack);
        self.slack -= uncounted;
        self.usage.bytes = self.usage.bytes.saturating_add(beyond - uncounted);
    }
}

/// Whether a folder was removed or replaced.
fn has_changed(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|code| gone.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn measured(folder: &Path, most: DiskUsage) -> Measurement {
        measure(folder, most, &mut |_, _| {}).unwrap()
    }

    #[test]
    fn links_and_folders_and_fifos_count_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        fs::create_dir(place("sub")).unwrap();
        fs::write(place("sub/file"), [0; 100]).unwrap();
        fs::hard_link(place("sub/file"), place("again")).unwrap();
        symlink("x".repeat(4000), place("long")).unwrap();
        symlink("/usr", place("usr")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(
            rustix::fs::CWD,
            place("fifo"),
            fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        let counted = measured(folder.path(), DiskUsage::MAX);
        assert_eq!(counted.usage.entries, 6);
        assert_eq!(counted.usage.bytes, 100 + 100 + 4000 + 4);
        assert!(!counted.exceeds_limit);
        assert_eq!(counted.usage.on_disk(), 4204 + 6 * 4096);
    }

    #[test]
    fn a_sparse_file_counts_its_length_and_reserved_blocks_count_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::create(folder.path().join("sparse")).unwrap();
        file.set_len(10 << 20).unwrap();
        assert_eq!(
            measured(folder.path(), DiskUsage::MAX).usage.bytes,
            10 << 20
        );
        file.set_len(0).unwrap();
        let entry = FileEntry {
            allocated: 8 << 20,
            ..FolderHandle::open_path(folder.path())
                .unwrap()
                .entry(c"sparse")
                .unwrap()
        };
        assert_eq!(counted_bytes(&entry), 8 << 20);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_little_beyond_the_ends_of_many_files_counts_where_code_writes() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..30 {
            let file = fs::File::create(folder.path().join(number.to_string())).unwrap();
            let flags = rustix::fs::FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(&file, flags, 0, 48 << 10).unwrap();
        }
        let counted = |slack: u64| {
            let most = DiskUsage::MAX;
            let measured = measure_with_slack(folder.path(), most, slack, &mut |_, _| {});
            measured.unwrap().usage.bytes
        };
        assert_eq!(counted(u64::MAX), 0);
        let all = counted(0);
        assert!(all > 1 << 20, "{all}");
        assert_eq!(counted(100_000), all - 100_000);
        assert_eq!(counted(TOTAL_SLACK_BYTES), 0);
    }

    #[test]
    fn measuring_stops_at_its_bound_and_at_its_depth() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..100 {
            fs::write(folder.path().join(number.to_string()), "x").unwrap();
        }
        let most = DiskUsage {
            entries: 10,
            ..DiskUsage::MAX
        };
        let counted = measured(folder.path(), most);
        assert!(counted.exceeds_limit && counted.usage.entries == 11);
        let deep = tempfile::tempdir().unwrap();
        fs::create_dir_all(deep.path().join("d/".repeat(MAX_DEPTH + 10))).unwrap();
        let counted = measured(deep.path(), DiskUsage::MAX);
        assert!(counted.exceeds_limit && counted.usage.entries == MAX_DEPTH as u64 + 1);
    }
}
