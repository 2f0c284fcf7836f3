//! All files of a container at one moment, and what single operations change of them. It reads
//! and stores nothing.

use std::collections::HashMap;
use std::sync::OnceLock;

use prowess_sandbox::{Error, FileInfo, Snapshot, SnapshotChanges, SnapshotContent, SnapshotEntry};
use prowess_skill::Digest;

/// Permissions of a folder and of a file that a client puts into a container.
const FOLDER_MODE: i64 = 0o755;
const FILE_MODE: i64 = 0o644;

/// All files of a container, by path.
#[derive(Debug)]
pub(crate) struct FileSet {
    entries: Vec<SnapshotEntry>,
    digest: OnceLock<Digest>,
    contents: OnceLock<HashMap<Digest, u64>>,
}

impl FileSet {
    pub(crate) fn new(mut entries: Vec<SnapshotEntry>) -> Self {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Self {
            entries,
            digest: OnceLock::new(),
            contents: OnceLock::new(),
        }
    }

    /// All entries, by path.
    pub(crate) fn entries(&self) -> &[SnapshotEntry] {
        &self.entries
    }

    /// The digest of all of them, by which workers name the files they have.
    pub(crate) fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| self.snapshot().digest())
    }

    /// The same as a snapshot.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::from_entries(self.entries.clone())
    }

    /// The size of a content that some file has.
    pub(crate) fn content_size(&self, digest: &Digest) -> Option<u64> {
        let contents = self.contents.get_or_init(|| {
            let files = self.entries.iter().filter_map(|entry| match entry.content {
                SnapshotContent::File(digest) => Some((digest, entry.size)),
                _ => None,
            });
            files.collect()
        });
        contents.get(digest).copied()
    }

    /// The entry of a path.
    pub(crate) fn get(&self, path: &str) -> Option<&SnapshotEntry> {
        self.entries.get(self.find(path).ok()?)
    }

    /// The digest and size of a regular file.
    pub(crate) fn file(&self, path: &str) -> Result<(Digest, u64), Error> {
        match self.get(path) {
            Some(SnapshotEntry {
                content: SnapshotContent::File(digest),
                size,
                ..
            }) => Ok((*digest, *size)),
            _ => Err(Error::FileNotFound {
                path: path.to_owned(),
            }),
        }
    }

    /// Every regular file.
    pub(crate) fn list(&self) -> Vec<FileInfo> {
        let files = self
            .entries
            .iter()
            .filter(|entry| matches!(entry.content, SnapshotContent::File(_)));
        let files = files.map(|entry| FileInfo {
            path: entry.path.clone(),
            size: entry.size,
        });
        files.collect()
    }

    /// Entries after a path, at most `max_entries` with `max_bytes` of text; at least one if
    /// there is one.
    pub(crate) fn page(
        &self,
        after: Option<&str>,
        max_entries: usize,
        max_bytes: usize,
    ) -> (&[SnapshotEntry], bool) {
        let begin = match after {
            None => 0,
            Some(path) => self.find(path).map_or_else(|at| at, |at| at + 1),
        };
        let rest = self.entries.get(begin..).unwrap_or_default();
        let mut bytes = 0_usize;
        let fits = |entry: &&SnapshotEntry| {
            let target = match &entry.content {
                SnapshotContent::Link(target) => target.len(),
                _ => 0,
            };
            bytes = bytes.saturating_add(entry.path.len() + target);
            bytes <= max_bytes
        };
        let fitting = rest.iter().take(max_entries).take_while(fits_first(fits));
        let count = fitting.count();
        let (page, more) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        (page, !more.is_empty())
    }

    /// The files after a change.
    pub(crate) fn with_changes(&self, changes: &SnapshotChanges) -> Self {
        let changed: HashMap<&str, &SnapshotEntry> = changes
            .changed
            .iter()
            .map(|entry| (entry.path.as_str(), entry))
            .collect();
        let removed: std::collections::HashSet<&str> =
            changes.removed.iter().map(String::as_str).collect();
        let kept = self.entries.iter().filter(|entry| {
            let path = entry.path.as_str();
            !changed.contains_key(path) && !removed.contains(path)
        });
        // All that the change names, so that one that names a path twice is refused.
        Self::new(kept.chain(&changes.changed).cloned().collect())
    }

    /// What changes when a client puts a file of this content at a path: folders on the way are
    /// made, and whatever has the name is replaced.
    pub(crate) fn put(&self, path: &str, digest: Digest, size: u64) -> SnapshotChanges {
        let mut changes = SnapshotChanges::default();
        for (at, _) in path.match_indices('/') {
            let Some(folder) = path.get(..at) else {
                continue;
            };
            let known = self.get(folder).map(|entry| &entry.content);
            if known != Some(&SnapshotContent::Directory) {
                changes.changed.push(SnapshotEntry {
                    path: folder.to_owned(),
                    content: SnapshotContent::Directory,
                    size: 0,
                    mode: FOLDER_MODE,
                });
            }
        }
        changes.removed = self.paths_below(path);
        changes.changed.push(SnapshotEntry {
            path: path.to_owned(),
            content: SnapshotContent::File(digest),
            size,
            mode: FILE_MODE,
        });
        changes
    }

    fn paths_below(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        let (Ok(begin) | Err(begin)) = self.find(&prefix);
        let below = self.entries.get(begin..).unwrap_or_default().iter();
        below
            .take_while(|entry| entry.path.starts_with(&prefix))
            .map(|entry| entry.path.clone())
            .collect()
    }

    fn find(&self, path: &str) -> Result<usize, usize> {
        self.entries
            .binary_search_by(|entry| entry.path.as_str().cmp(path))
    }
}

/// A condition that the first item always meets.
fn fits_first<T>(mut condition: impl FnMut(&T) -> bool) -> impl FnMut(&T) -> bool {
    let mut is_first = true;
    move |item| condition(item) | std::mem::take(&mut is_first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SnapshotEntry {
        SnapshotEntry {
            path: path.into(),
            content: SnapshotContent::File(Digest::from_content(text.as_bytes())),
            size: text.len() as u64,
            mode: FILE_MODE,
        }
    }

    fn folder(path: &str) -> SnapshotEntry {
        SnapshotEntry {
            path: path.into(),
            content: SnapshotContent::Directory,
            size: 0,
            mode: 0o700,
        }
    }

    fn paths(files: &FileSet) -> Vec<&str> {
        files
            .entries()
            .iter()
            .map(|entry| entry.path.as_str())
            .collect()
    }

    #[test]
    fn a_file_replaces_what_has_its_name_and_makes_folders() {
        let files = FileSet::new(vec![
            folder("a"),
            file("a/b", "1"),
            folder("a/c"),
            file("a/c/d", "2"),
            file("a-b", "3"),
        ]);
        let put = |path: &str| {
            let digest = Digest::from_content(b"new");
            files.with_changes(&files.put(path, digest, 3))
        };
        assert_eq!(
            paths(&put("a/b/x/y")),
            ["a", "a-b", "a/b", "a/b/x", "a/b/x/y", "a/c", "a/c/d"]
        );
        assert_eq!(put("a/b/x").get("a/b").unwrap().mode, FOLDER_MODE);
        let replaced = put("a");
        assert_eq!(paths(&replaced), ["a", "a-b"]);
        assert_eq!(replaced.file("a").unwrap().1, 3);
        let kept = put("a/b");
        assert_eq!(kept.get("a").unwrap().mode, 0o700);
        assert_eq!(kept.list().len(), 3);
        assert!(kept.file("a").is_err());
        assert_ne!(kept.digest(), files.digest());
        assert_eq!(files.content_size(&Digest::from_content(b"2")), Some(1));
        assert_eq!(files.content_size(&Digest::from_content(b"new")), None);
    }

    #[test]
    fn pages_have_all_entries_once() {
        let files = FileSet::new(
            (0..50)
                .map(|n| file(&format!("file-{n:02}"), "x"))
                .collect(),
        );
        for (max_entries, max_bytes) in [(1, 1000), (7, 1000), (100, 20), (100, 1), (100, 1000)] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let (page, more) = files.page(after.as_deref(), max_entries, max_bytes);
                assert!(!page.is_empty() && page.len() <= max_entries);
                found.extend(page.iter().cloned());
                after = page.last().map(|entry| entry.path.clone());
                if !more {
                    break;
                }
            }
            assert_eq!(found, files.entries());
        }
        assert_eq!(
            FileSet::new(Vec::new()).page(None, 10, 10),
            ([].as_slice(), false)
        );
        // After a path that is not there.
        assert_eq!(files.page(Some("file-48a"), 10, 1000).0.len(), 1);
    }
}
