//! Changes that their run commits itself, with its steps. Until then they are in the memory of
//! this gateway, and are lost with it: the run is then resumed from its last step.
//!
//! It does not know how changes are made or committed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use prowess_sandbox::{Snapshot, SnapshotContent};
use prowess_skill::Digest;
use prowess_store::StagedContent;

use crate::file_set::FileSet;

/// A content that no stored file has yet.
#[derive(Debug, Clone)]
pub(crate) enum PendingContent {
    /// In memory.
    Bytes(Bytes),
    /// In the blob storage.
    Staged(Arc<StagedContent>),
}

/// The contents that no stored file has yet.
pub(crate) type PendingContents = Arc<HashMap<Digest, PendingContent>>;

/// Containers whose changes are deferred.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeferredContainers(Arc<SharedContainers>);

#[derive(Debug, Default)]
struct SharedContainers {
    containers: Mutex<HashMap<String, DeferredContainer>>,
    guards: AtomicU64,
}

#[derive(Debug, Clone)]
struct DeferredContainer {
    owner: String,
    /// Of the guard that it exists for.
    guard: u64,
    state: DeferredState,
}

/// What is deferred of a container.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeferredState {
    /// Its files, if they are not those that are stored.
    pub(crate) files: Option<Arc<FileSet>>,
    /// Contents of those files that are not stored.
    pub(crate) contents: PendingContents,
    /// Whether its commands may have been run before, by a gateway that died.
    pub(crate) is_resumed: bool,
}

/// Discards what is deferred when it is dropped.
#[derive(Debug)]
pub(crate) struct DeferGuard {
    containers: DeferredContainers,
    id: String,
    number: u64,
}

impl DeferredContainers {
    /// Defers the changes of a container until the guard is dropped. Those that an earlier guard
    /// has left are discarded.
    pub(crate) fn defer(&self, owner: &str, id: &str) -> DeferGuard {
        let number = self.0.guards.fetch_add(1, Ordering::Relaxed);
        let container = DeferredContainer {
            owner: owner.to_owned(),
            guard: number,
            state: DeferredState::default(),
        };
        self.lock().insert(id.to_owned(), container);
        DeferGuard {
            containers: self.clone(),
            id: id.to_owned(),
            number,
        }
    }

    /// What is deferred of a container; none if its changes are not deferred.
    pub(crate) fn state(&self, owner: &str, id: &str) -> Option<DeferredState> {
        let containers = self.lock();
        let known = containers.get(id).filter(|known| known.owner == owner)?;
        Some(known.state.clone())
    }

    /// Replaces the files of a container, which have these new contents. Returns false if its
    /// changes are not deferred any more.
    pub(crate) fn set_files(
        &self,
        owner: &str,
        id: &str,
        files: Arc<FileSet>,
        new: HashMap<Digest, PendingContent>,
    ) -> bool {
        self.with(owner, id, |state| {
            let contents = Arc::make_mut(&mut state.contents);
            contents.extend(new);
            // Those of files that were changed again are not needed.
            contents.retain(|digest, _| files.content_size(digest).is_some());
            state.files = Some(files);
        })
    }

    /// A run goes on with the files that are stored.
    pub(crate) fn resume(&self, owner: &str, id: &str) {
        self.with(owner, id, |state| {
            *state = DeferredState {
                is_resumed: true,
                ..DeferredState::default()
            };
        });
    }

    /// The step that was resumed is stored: no gateway before this one has sent the commands that
    /// follow.
    pub(crate) fn step_stored(&self, owner: &str, id: &str) {
        self.with(owner, id, |state| state.is_resumed = false);
    }

    /// These files are stored now. Returns the same as a set, if nothing has changed since.
    pub(crate) fn committed(
        &self,
        owner: &str,
        id: &str,
        files: &Snapshot,
    ) -> Option<Arc<FileSet>> {
        let mut stored = None;
        self.with(owner, id, |state| {
            let Some(current) = &state.files else {
                return;
            };
            if current.digest() == files.digest() {
                stored = state.files.take();
                state.contents = PendingContents::default();
                return;
            }
            let contents = Arc::make_mut(&mut state.contents);
            for entry in files.entries() {
                if let SnapshotContent::File(digest) = &entry.content {
                    contents.remove(digest);
                }
            }
        });
        stored
    }

    fn with(&self, owner: &str, id: &str, change: impl FnOnce(&mut DeferredState)) -> bool {
        let mut containers = self.lock();
        let known = containers.get_mut(id).filter(|known| known.owner == owner);
        match known {
            Some(known) => {
                change(&mut known.state);
                true
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, DeferredContainer>> {
        let containers = &self.0.containers;
        containers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeferredState {
    /// Bytes of contents in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let contents = self.contents.values().map(|content| match content {
            PendingContent::Bytes(bytes) => bytes.len(),
            PendingContent::Staged(_) => 0,
        });
        contents.sum()
    }
}

impl Drop for DeferGuard {
    fn drop(&mut self) {
        let mut containers = self.containers.lock();
        if containers
            .get(&self.id)
            .is_some_and(|known| known.guard == self.number)
        {
            containers.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_sandbox::SnapshotEntry;

    fn files(texts: &[&str]) -> Arc<FileSet> {
        let entry = |(number, text): (usize, &&str)| SnapshotEntry {
            path: format!("file-{number}"),
            content: SnapshotContent::File(Digest::from_content(text.as_bytes())),
            size: text.len() as u64,
            mode: 0o644,
        };
        Arc::new(FileSet::new(texts.iter().enumerate().map(entry).collect()))
    }

    fn contents(texts: &[&'static str]) -> HashMap<Digest, PendingContent> {
        let content = |text: &&'static str| {
            let bytes = Bytes::from_static(text.as_bytes());
            (Digest::from_content(&bytes), PendingContent::Bytes(bytes))
        };
        texts.iter().map(content).collect()
    }

    #[test]
    fn what_is_not_committed_is_discarded_with_the_guard() {
        let all = DeferredContainers::default();
        assert!(all.state("o", "c").is_none());
        let guard = all.defer("o", "c");
        assert!(all.state("other", "c").is_none());
        assert!(all.set_files("o", "c", files(&["a", "b"]), contents(&["a", "b"])));
        assert_eq!(all.state("o", "c").unwrap().memory_bytes(), 2);
        // Of a file that was changed again, only the new content is kept.
        assert!(all.set_files("o", "c", files(&["a", "cc"]), contents(&["cc"])));
        assert_eq!(all.state("o", "c").unwrap().contents.len(), 2);
        drop(guard);
        assert!(all.state("o", "c").is_none());
        assert!(!all.set_files("o", "c", files(&["a"]), HashMap::new()));
    }

    #[test]
    fn committed_files_are_read_from_the_store() {
        let all = DeferredContainers::default();
        let _guard = all.defer("o", "c");
        all.resume("o", "c");
        assert!(all.state("o", "c").unwrap().is_resumed);
        all.set_files("o", "c", files(&["a"]), contents(&["a"]));
        let earlier = files(&["a"]).snapshot();
        all.set_files("o", "c", files(&["a", "b"]), contents(&["b"]));
        assert!(all.committed("o", "c", &earlier).is_none());
        let state = all.state("o", "c").unwrap();
        assert_eq!(state.contents.len(), 1);
        assert!(state.is_resumed);
        all.step_stored("o", "c");
        assert!(!all.state("o", "c").unwrap().is_resumed);
        let stored = all.committed("o", "c", &files(&["a", "b"]).snapshot());
        assert_eq!(stored.unwrap().list().len(), 2);
        let state = all.state("o", "c").unwrap();
        assert!(state.files.is_none() && state.contents.is_empty());
    }

    #[test]
    fn an_earlier_guard_discards_nothing_of_a_later_one() {
        let all = DeferredContainers::default();
        let earlier = all.defer("o", "c");
        let later = all.defer("o", "c");
        all.set_files("o", "c", files(&["a"]), contents(&["a"]));
        drop(earlier);
        assert!(all.state("o", "c").unwrap().files.is_some());
        drop(later);
        assert!(all.state("o", "c").is_none());
    }
}
