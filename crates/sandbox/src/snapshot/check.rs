//! Checks entries that another host reports: names, nesting, sizes, permissions and limits.

use super::plan::RestorePlan;
use super::{SnapshotContent, SnapshotEntry, link_target};
use crate::collect::MAX_FOLDER_DEPTH;
use crate::error::Error;
use crate::name;
use crate::policy::SandboxLimits;

/// All permissions that an entry can have.
const PERMISSIONS: std::ops::RangeInclusive<i64> = 0..=0o777;

/// How much of its limits a container uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FilesUsage {
    /// Bytes of files and of the targets of links.
    pub bytes: u64,
    /// Files, folders and links.
    pub entries: u64,
    /// What they take on a disk, with an amount for each entry.
    pub disk_bytes: u64,
}

/// Checks that a container with these limits can have exactly these entries, in any order, and
/// that they are written as [`Snapshot`](crate::Snapshot) writes them. Contents are not known
/// here: whether a file has its digest and size is found when it is read.
///
/// # Errors
/// [`Error::BadName`] with the path that is wrong, [`Error::OverQuota`] when there are too many,
/// or too large ones.
pub fn check_entries(
    entries: &[SnapshotEntry],
    limits: &SandboxLimits,
) -> Result<FilesUsage, Error> {
    // First, so that no more than that is copied.
    if entries.len() as u64 > limits.container_entries {
        return Err(Error::OverQuota {
            path: entries
                .last()
                .map_or_else(String::new, |last| last.path.clone()),
            allowed: limits.container_entries,
            unit: "files and folders",
        });
    }
    for entry in entries {
        check_form(entry)?;
    }
    let usage = RestorePlan::new(entries.to_vec(), limits)?.usage;
    Ok(FilesUsage {
        bytes: usage.bytes,
        entries: usage.entries,
        disk_bytes: usage.on_disk(),
    })
}

/// Checks the path of a file that is to be written into a container: relative, without `.` and
/// `..`, at most 1024 bytes, without control characters.
///
/// # Errors
/// [`Error::BadName`] with what is wrong.
pub fn check_file_path(path: &str) -> Result<(), Error> {
    let names = name::split_path(path)?;
    if names.len() > MAX_FOLDER_DEPTH {
        return Err(bad_entry(
            path,
            "it is nested deeper than a container allows",
        ));
    }
    Ok(())
}

/// Checks size and permissions of an entry.
fn check_form(entry: &SnapshotEntry) -> Result<(), Error> {
    let bad = |why| Err(bad_entry(&entry.path, why));
    if !PERMISSIONS.contains(&entry.mode) {
        return bad("it has other bits than permissions");
    }
    match &entry.content {
        SnapshotContent::File(_) => Ok(()),
        SnapshotContent::Directory if entry.size != 0 => bad("a folder has no size"),
        SnapshotContent::Directory => Ok(()),
        SnapshotContent::Link(_) if entry.mode != 0 => bad("a link has no permissions"),
        SnapshotContent::Link(target) => {
            let target = link_target::decode(&entry.path, target)?;
            if target.len() as u64 != entry.size {
                return bad("its size is not that of the link's target");
            }
            Ok(())
        }
    }
}

fn bad_entry(path: &str, why: &'static str) -> Error {
    Error::BadName {
        what: "path",
        name: path.chars().take(1024).collect(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_skill::Digest;

    fn entry(path: &str, content: SnapshotContent, size: u64, mode: i64) -> SnapshotEntry {
        SnapshotEntry {
            path: path.to_owned(),
            content,
            size,
            mode,
        }
    }

    fn file(path: &str, size: u64) -> SnapshotEntry {
        let content = SnapshotContent::File(Digest::from_content(b""));
        entry(path, content, size, 0o644)
    }

    fn link(target: &str, size: u64, mode: i64) -> SnapshotEntry {
        entry("l", SnapshotContent::Link(target.to_owned()), size, mode)
    }

    fn folder(path: &str) -> SnapshotEntry {
        entry(path, SnapshotContent::Directory, 0, 0o755)
    }

    fn code(entries: &[SnapshotEntry]) -> Result<FilesUsage, &'static str> {
        let limits = SandboxLimits {
            data_bytes: 100,
            container_entries: 4,
            ..SandboxLimits::default()
        };
        check_entries(entries, &limits).map_err(|error| error.code())
    }

    #[test]
    fn what_a_container_can_have_is_counted() {
        let entries = [file("d/a", 60), folder("d"), link("a\\xff", 2, 0)];
        let usage = code(&entries).unwrap();
        assert_eq!((usage.bytes, usage.entries), (62, 3));
        assert!(usage.disk_bytes > usage.bytes);
        assert_eq!(code(&[]), Ok(FilesUsage::default()));
    }

    #[test]
    fn anything_else_is_refused() {
        let setuid = |path| entry(path, SnapshotContent::Directory, 0, 0o4755);
        let sized = entry("d", SnapshotContent::Directory, 5, 0o755);
        for entries in [
            vec![file("../a", 1)],
            vec![file("/a", 1)],
            vec![file("", 1)],
            vec![file("a\n", 1)],
            vec![file(&"a".repeat(1025), 1)],
            vec![file(&"a/".repeat(40), 1)],
            vec![file("d/a", 1)],
            vec![file("d", 1), file("d/a", 1)],
            vec![link("x", 1, 0), file("l/a", 1)],
            vec![file("a", 1), file("a", 1)],
            vec![link("", 0, 0)],
            vec![link("a", 2, 0)],
            vec![link("a", 1, 0o777)],
            vec![link("\\q", 1, 0)],
            vec![setuid("d")],
            vec![entry("d", SnapshotContent::Directory, 0, -1)],
            vec![sized],
        ] {
            assert_eq!(code(&entries), Err("bad-name"), "{entries:?}");
        }
        let five: Vec<_> = (0..5).map(|number| folder(&number.to_string())).collect();
        for entries in [
            five,
            vec![file("a", 60), file("b", 41)],
            vec![file("a", u64::MAX); 2],
        ] {
            assert_eq!(code(&entries), Err("over-quota"), "{entries:?}");
        }
    }

    #[test]
    fn paths_of_files_are_checked_alone() {
        assert!(check_file_path("a/b c/ü.txt").is_ok());
        for path in [
            "",
            "/a",
            "a/../b",
            "a//b",
            "a\0",
            &"a/".repeat(40),
            &"a".repeat(1025),
        ] {
            let refused = check_file_path(path).unwrap_err();
            assert_eq!(refused.code(), "bad-name", "{path:?}");
        }
    }
}
