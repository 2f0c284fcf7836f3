//! Snapshots of folders that hostile code could have written.

use super::*;
use crate::error::Error;
use crate::policy::SandboxLimits;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Mutex;

/// Contents by digest, and for which paths they were opened.
#[derive(Default)]
struct Contents {
    by_digest: BTreeMap<String, Vec<u8>>,
    opened: Mutex<Vec<String>>,
}

impl Contents {
    /// The contents of all files of a folder.
    fn read(folder: &Path, snapshot: &Snapshot) -> Self {
        let mut contents = Self::default();
        for entry in snapshot.entries() {
            if let SnapshotContent::File(digest) = &entry.content {
                let bytes = fs::read(folder.join(&entry.path)).unwrap();
                contents.by_digest.insert(digest.to_string(), bytes);
            }
        }
        contents
    }

    fn open(&self, entry: &SnapshotEntry) -> io::Result<ContentReader> {
        self.opened.lock().unwrap().push(entry.path.clone());
        let SnapshotContent::File(digest) = &entry.content else {
            panic!("{entry:?}")
        };
        let bytes = self.by_digest.get(&digest.to_string());
        let bytes = bytes.ok_or_else(|| io::Error::other("unknown content"))?;
        Ok(Box::new(io::Cursor::new(bytes.clone())))
    }
}

fn take_all(folder: &Path) -> Snapshot {
    take(folder, &SandboxLimits::default(), None).unwrap()
}

fn restore_to(folder: &Path, snapshot: &Snapshot, contents: &Contents) -> Result<(), Error> {
    let entries = snapshot.entries().cloned().collect();
    let limits = SandboxLimits::default();
    let target = RestoreTarget {
        folder,
        owner: None,
        found: &take_all(folder),
        contents: &|entry| contents.open(entry),
    };
    restore(&RestorePlan::new(entries, &limits)?, &target)
}

fn file(path: &str, content: &[u8]) -> SnapshotEntry {
    SnapshotEntry {
        path: path.to_owned(),
        content: SnapshotContent::File(Digest::from_content(content)),
        size: content.len() as u64,
        mode: 0o644,
    }
}

/// A folder with every kind of entry.
fn sample() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::create_dir_all(place("deep/er/empty")).unwrap();
    fs::write(place("deep/er/file"), "deep").unwrap();
    fs::write(place("program"), "#!/bin/sh").unwrap();
    fs::set_permissions(place("program"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(place("empty"), "").unwrap();
    fs::write(place("ü \\ ' $(x)"), "odd").unwrap();
    symlink("/etc/passwd", place("secret")).unwrap();
    symlink("..", place("deep/up")).unwrap();
    folder
}

#[test]
fn a_folder_is_restored_exactly_and_contents_are_opened_only_for_what_differs() {
    let folder = sample();
    let place = |name: &str| folder.path().join(name);
    let before = take_all(folder.path());
    let contents = Contents::read(folder.path(), &before);
    let paths: Vec<&str> = before.entries().map(|entry| entry.path.as_str()).collect();
    let expected = [
        "deep",
        "deep/er",
        "deep/er/empty",
        "deep/er/file",
        "deep/up",
        "empty",
        "program",
        "secret",
        "ü \\ ' $(x)",
    ];
    assert_eq!(paths, expected);

    fs::remove_file(place("empty")).unwrap();
    fs::write(place("deep/er/file"), "DEEP").unwrap();
    fs::set_permissions(place("program"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir_all(place("new/folder")).unwrap();
    fs::write(place("new/folder/file"), "new").unwrap();
    fs::remove_dir(place("deep/er/empty")).unwrap();
    fs::remove_file(place("secret")).unwrap();
    symlink("/etc/shadow", place("secret")).unwrap();
    // What an interrupted write leaves.
    fs::write(place("deep/\u{1}part"), "part").unwrap();
    let changes = take_all(folder.path()).changes_since(Some(&before));
    let changed: Vec<&str> = changes
        .changed
        .iter()
        .map(|one| one.path.as_str())
        .collect();
    assert_eq!(
        changed,
        [
            "deep/er/file",
            "new",
            "new/folder",
            "new/folder/file",
            "program",
            "secret"
        ]
    );
    assert_eq!(changes.removed, ["deep/er/empty", "empty"]);

    restore_to(folder.path(), &before, &contents).unwrap();
    assert!(
        take_all(folder.path())
            .changes_since(Some(&before))
            .is_empty()
    );
    assert!(!place("deep/\u{1}part").exists() && !place("new").exists());
    assert_eq!(
        fs::read_link(place("secret")).unwrap(),
        Path::new("/etc/passwd")
    );
    assert_eq!(fs::read(place("deep/er/file")).unwrap(), b"deep");
    let opened = contents.opened.lock().unwrap().clone();
    assert_eq!(opened, ["deep/er/file", "empty"]);
}

#[test]
fn a_file_becomes_a_folder_and_a_folder_a_file_or_a_link() {
    let folder = sample();
    let place = |name: &str| folder.path().join(name);
    let before = take_all(folder.path());
    let contents = Contents::read(folder.path(), &before);
    fs::remove_file(place("program")).unwrap();
    fs::create_dir(place("program")).unwrap();
    symlink("/", place("program/root")).unwrap();
    fs::remove_dir_all(place("deep/er")).unwrap();
    fs::write(place("deep/er"), "a file now").unwrap();
    let after = take_all(folder.path());
    let after_contents = Contents::read(folder.path(), &after);
    restore_to(folder.path(), &before, &contents).unwrap();
    assert!(
        take_all(folder.path())
            .changes_since(Some(&before))
            .is_empty()
    );
    restore_to(folder.path(), &after, &after_contents).unwrap();
    assert!(
        take_all(folder.path())
            .changes_since(Some(&after))
            .is_empty()
    );
    // A folder whose name became a link to a place outside is not entered.
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("er"), "precious").unwrap();
    fs::remove_dir_all(place("deep")).unwrap();
    symlink(outside.path(), place("deep")).unwrap();
    restore_to(folder.path(), &before, &contents).unwrap();
    assert_eq!(fs::read(outside.path().join("er")).unwrap(), b"precious");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert!(
        take_all(folder.path())
            .changes_since(Some(&before))
            .is_empty()
    );
}

#[test]
fn an_interrupted_restore_is_completed_by_another() {
    let folder = sample();
    let before = take_all(folder.path());
    let contents = Contents::read(folder.path(), &before);
    let other = tempfile::tempdir().unwrap();
    for count in 0..contents.by_digest.len() {
        let allowed = Mutex::new(count);
        let entries = before.entries().cloned().collect();
        let target = RestoreTarget {
            folder: other.path(),
            owner: None,
            found: &take_all(other.path()),
            contents: &|entry| {
                let mut left = allowed.lock().unwrap();
                *left = left.checked_sub(1).ok_or_else(|| io::Error::other("no"))?;
                contents.open(entry)
            },
        };
        let plan = RestorePlan::new(entries, &SandboxLimits::default()).unwrap();
        let _ = restore(&plan, &target);
    }
    restore_to(other.path(), &before, &contents).unwrap();
    assert!(
        take_all(other.path())
            .changes_since(Some(&before))
            .is_empty()
    );
}

#[test]
fn content_that_is_not_what_was_stored_does_not_become_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "as it was").unwrap();
    let snapshot = Snapshot::from_entries(vec![file("a", b"good")]);
    let mut contents = Contents::default();
    for wrong in [&b"evil"[..], b"goo", b"good, and more"] {
        let digest = Digest::from_content(b"good").to_string();
        contents.by_digest.insert(digest, wrong.to_vec());
        let error = restore_to(folder.path(), &snapshot, &contents).unwrap_err();
        assert!(error.to_string().contains("another digest"), "{error}");
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1);
        assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"as it was");
    }
}

#[test]
fn entries_that_leave_the_folder_or_exceed_a_limit_are_refused_before_anything_changes() {
    let folder = sample();
    let before = take_all(folder.path());
    let directory = |path: &str| SnapshotEntry {
        content: SnapshotContent::Directory,
        size: 0,
        mode: 0o755,
        path: path.to_owned(),
    };
    let link = |path: &str, target: &str| SnapshotEntry {
        content: SnapshotContent::Link(target.to_owned()),
        ..directory(path)
    };
    let deep = (0..33).map(|_| "d").collect::<Vec<_>>().join("/");
    for (entries, code) in [
        (vec![file("../x", b"")], "bad-name"),
        (vec![file("/x", b"")], "bad-name"),
        (vec![file("a//x", b"")], "bad-name"),
        (vec![file("a\n", b"")], "bad-name"),
        (vec![file("", b"")], "bad-name"),
        (vec![file("missing/x", b"")], "bad-name"),
        (vec![link("l", "/tmp"), file("l/x", b"")], "bad-name"),
        (vec![file("f", b""), file("f/x", b"")], "bad-name"),
        (vec![file("x", b"1"), file("x", b"2")], "bad-name"),
        (vec![link("l", "")], "bad-name"),
        (vec![file(&deep, b"")], "bad-name"),
        (
            vec![SnapshotEntry {
                size: u64::MAX,
                ..file("x", b"")
            }],
            "over-quota",
        ),
        (
            (0..50_001).map(|n| directory(&n.to_string())).collect(),
            "over-quota",
        ),
    ] {
        let snapshot = Snapshot::from_entries(entries);
        let refused = restore_to(folder.path(), &snapshot, &Contents::default());
        assert_eq!(
            refused.unwrap_err().code(),
            code,
            "{:?}",
            snapshot.entries().next()
        );
    }
    assert!(
        take_all(folder.path())
            .changes_since(Some(&before))
            .is_empty()
    );
}

#[test]
fn a_snapshot_is_bounded_by_the_limits_of_the_container() {
    let folder = sample();
    let limits = |change: fn(&mut SandboxLimits)| {
        let mut limits = SandboxLimits::default();
        change(&mut limits);
        limits
    };
    for limits in [
        limits(|limits| limits.container_entries = 8),
        limits(|limits| limits.data_bytes = 10),
    ] {
        let error = take(folder.path(), &limits, None).unwrap_err();
        assert_eq!(error.code(), "over-quota");
    }
    let limits = limits(|limits| limits.container_entries = 9);
    assert!(take(folder.path(), &limits, None).is_ok());
}

#[test]
fn a_path_that_is_too_long_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let name = "n".repeat(250);
    let deep = folder.path().join(&name).join(&name).join(&name);
    fs::create_dir_all(deep.join(&name)).unwrap();
    fs::write(deep.join(&name).join(&name), "x").unwrap();
    let snapshot = take_all(folder.path());
    assert_eq!((snapshot.entries().count(), snapshot.omitted()), (4, 1));
}

/// Files that were hashed long enough before are recognised, and any change is noticed.
#[test]
fn ten_thousand_files_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let place = |number: usize| {
        let parent = folder.path().join(format!("{}", number / 500));
        (parent.clone(), parent.join(format!("{number}")))
    };
    for number in 0..10_000 {
        let (parent, file) = place(number);
        fs::create_dir_all(parent).unwrap();
        fs::write(file, number.to_string()).unwrap();
    }
    let mut first = take_all(folder.path());
    // As if it had been taken later than the coarse clock of the file system can confuse.
    first.taken_at += 1_000_000_000;
    // Recorded contents are used for what did not change: these are made up.
    let made_up = Digest::from_content(b"made up");
    for recorded in &mut first.entries {
        if let SnapshotContent::File(digest) = &mut recorded.entry.content {
            *digest = made_up;
        }
    }
    let (_, changed) = place(4_711);
    fs::write(&changed, "47xx").unwrap();
    let (_, replaced) = place(5_000);
    fs::remove_file(&replaced).unwrap();
    fs::write(&replaced, "5xxx").unwrap();
    let limits = SandboxLimits::default();
    let second = take(folder.path(), &limits, Some(&first)).unwrap();
    let changes = second.changes_since(Some(&first));
    let paths: Vec<&str> = changes
        .changed
        .iter()
        .map(|one| one.path.as_str())
        .collect();
    assert_eq!(paths, ["10/5000", "9/4711"]);
    assert_eq!(
        changes.changed[0].content,
        SnapshotContent::File(Digest::from_content(b"5xxx"))
    );
    // What was written just before the first snapshot is read again.
    first.taken_at = 0;
    let third = take(folder.path(), &limits, Some(&first)).unwrap();
    assert_eq!(third.changes_since(Some(&first)).changed.len(), 10_000);
}
