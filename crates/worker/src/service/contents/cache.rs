//! Contents on disk, by digest. The least recently used are evicted when they exceed the limit,
//! but none that a command is about to use.

use prowess_skill::Digest;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Contents that are kept, whatever their size.
const MAX_CONTENTS: usize = 50_000;

/// Prefix of a file that is being written.
const PARTIAL_PREFIX: &str = ".part-";

/// The cache.
#[derive(Debug)]
pub(crate) struct ContentCache {
    folder: PathBuf,
    max_bytes: u64,
    known: Mutex<KnownContents>,
    parts: AtomicU64,
}

#[derive(Debug, Default)]
struct KnownContents {
    contents: HashMap<Digest, KnownContent>,
    bytes: u64,
    uses: u64,
    /// How many commands are about to use a content.
    pins: HashMap<Digest, usize>,
}

#[derive(Debug)]
struct KnownContent {
    size: u64,
    /// The larger, the more recently used.
    used: u64,
}

/// Contents that are not evicted until this is dropped.
#[derive(Debug)]
pub(crate) struct PinnedContents {
    cache: Arc<ContentCache>,
    digests: Vec<Digest>,
}

impl PinnedContents {
    /// Opens a content. Whoever reads it checks it.
    pub(crate) fn open(&self, digest: Digest) -> io::Result<File> {
        File::open(self.cache.place(&digest))
    }

    /// Reads a content of this size, and checks it.
    pub(crate) fn read(&self, digest: Digest, size: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let limit = size.saturating_add(1);
        self.open(digest)?.take(limit).read_to_end(&mut bytes)?;
        if Digest::from_content(&bytes) != digest {
            self.cache.remove(&digest);
            let why = "a cached content has another digest";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(bytes)
    }
}

impl Drop for PinnedContents {
    fn drop(&mut self) {
        let mut known = self.cache.known();
        for digest in &self.digests {
            if let Some(pins) = known.pins.get_mut(digest) {
                *pins -= 1;
                if *pins == 0 {
                    known.pins.remove(digest);
                }
            }
        }
    }
}

impl ContentCache {
    /// Opens the cache in a folder, with what an earlier start left there.
    pub(crate) fn open(folder: &Path, max_bytes: u64) -> io::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let mut known = KnownContents::default();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let digest = name.to_str().map(|hex| format!("sha256:{hex}").parse());
            match (digest, entry.metadata()) {
                (Some(Ok(digest)), Ok(about)) if about.is_file() => known.add(digest, about.len()),
                // A part that was not completed.
                _ => drop(fs::remove_file(entry.path())),
            }
        }
        let cache = Self {
            folder: folder.to_owned(),
            max_bytes,
            known: Mutex::new(known),
            parts: AtomicU64::new(0),
        };
        cache.evict();
        Ok(cache)
    }

    /// Keeps contents from being evicted, whether or not they are there yet.
    pub(crate) fn pin(
        self: &Arc<Self>,
        digests: impl IntoIterator<Item = Digest>,
    ) -> PinnedContents {
        let digests: Vec<Digest> = digests.into_iter().collect();
        let mut known = self.known();
        for digest in &digests {
            *known.pins.entry(*digest).or_default() += 1;
        }
        drop(known);
        PinnedContents {
            cache: Arc::clone(self),
            digests,
        }
    }

    /// Whether a content is there. It counts as used.
    pub(crate) fn has(&self, digest: &Digest) -> bool {
        let mut known = self.known();
        known.uses += 1;
        let used = known.uses;
        let content = known.contents.get_mut(digest);
        content.map(|content| content.used = used).is_some()
    }

    /// Stores a content that is in memory; `None` if it is not the digest's.
    pub(crate) fn store(&self, digest: Digest, bytes: &[u8]) -> io::Result<Option<()>> {
        if Digest::from_content(bytes) != digest {
            return Ok(None);
        }
        let mut part = self.new_part()?;
        part.write(bytes)?;
        self.publish(part, digest).map(Some)
    }

    /// A file for a content that arrives in parts.
    pub(crate) fn new_part(&self) -> io::Result<PartialContent> {
        let number = self.parts.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{PARTIAL_PREFIX}{number}"));
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        Ok(PartialContent {
            file: options.open(&path)?,
            path,
            hash: Sha256::new(),
            size: 0,
        })
    }

    /// Stores a complete part if its digest is this one; `None` otherwise.
    pub(crate) fn finish(
        &self,
        mut part: PartialContent,
        digest: Digest,
    ) -> io::Result<Option<()>> {
        let hash = std::mem::take(&mut part.hash);
        if Digest::from_hash(hash.finalize().into()) != digest {
            return Ok(None);
        }
        self.publish(part, digest).map(Some)
    }

    fn publish(&self, part: PartialContent, digest: Digest) -> io::Result<()> {
        fs::rename(&part.path, self.place(&digest))?;
        self.known().add(digest, part.size);
        self.evict();
        Ok(())
    }

    /// Removes the least recently used contents until there is some room again.
    fn evict(&self) {
        let mut known = self.known();
        if known.bytes <= self.max_bytes && known.contents.len() <= MAX_CONTENTS {
            return;
        }
        // More than needed, so that the next one need not look at all again.
        let (bytes, count) = (self.max_bytes / 10 * 9, MAX_CONTENTS / 10 * 9);
        let unpinned = |(digest, content): (&Digest, &KnownContent)| {
            (!known.pins.contains_key(digest)).then_some((content.used, *digest))
        };
        let mut oldest: Vec<(u64, Digest)> = known.contents.iter().filter_map(unpinned).collect();
        oldest.sort_unstable_by_key(|(used, _)| *used);
        for (_, digest) in oldest {
            if known.bytes <= bytes && known.contents.len() <= count {
                break;
            }
            known.remove(&digest);
            // What cannot be removed is found at the next start.
            let _ = fs::remove_file(self.place(&digest));
        }
    }

    fn remove(&self, digest: &Digest) {
        self.known().remove(digest);
        let _ = fs::remove_file(self.place(digest));
    }

    fn place(&self, digest: &Digest) -> PathBuf {
        self.folder.join(digest.hex())
    }

    fn known(&self) -> MutexGuard<'_, KnownContents> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownContents {
    fn add(&mut self, digest: Digest, size: u64) {
        self.remove(&digest);
        self.uses += 1;
        self.bytes = self.bytes.saturating_add(size);
        let used = self.uses;
        self.contents.insert(digest, KnownContent { size, used });
    }

    fn remove(&mut self, digest: &Digest) {
        if let Some(content) = self.contents.remove(digest) {
            self.bytes = self.bytes.saturating_sub(content.size);
        }
    }
}

/// A content that is being written, removed when it is dropped before it is complete.
pub(crate) struct PartialContent {
    file: File,
    path: PathBuf,
    hash: Sha256,
    size: u64,
}

impl PartialContent {
    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.size = self.size.saturating_add(bytes.len() as u64);
        self.file.write_all(bytes)
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for PartialContent {
    fn drop(&mut self) {
        // A complete one has another name by now.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::from_content(text.as_bytes())
    }

    #[test]
    fn contents_are_found_again_and_nothing_is_stored_under_another_digest() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Arc::new(ContentCache::open(folder.path(), 1000).unwrap());
        assert!(!cache.has(&digest("one")));
        assert_eq!(cache.store(digest("one"), b"one").unwrap(), Some(()));
        assert_eq!(cache.store(digest("other"), b"forged").unwrap(), None);
        assert!(!cache.has(&digest("other")));
        let mut part = cache.new_part().unwrap();
        part.write(b"forged").unwrap();
        assert_eq!(cache.finish(part, digest("other")).unwrap(), None);
        let mut part = cache.new_part().unwrap();
        part.write(b"oth").unwrap();
        part.write(b"er").unwrap();
        assert_eq!(part.size(), 5);
        assert_eq!(cache.finish(part, digest("other")).unwrap(), Some(()));
        drop(cache);
        fs::write(folder.path().join(".part-9"), "left behind").unwrap();
        let cache = Arc::new(ContentCache::open(folder.path(), 1000).unwrap());
        let pinned = cache.pin([digest("one"), digest("other")]);
        assert!(cache.has(&digest("one")) && cache.has(&digest("other")));
        assert_eq!(pinned.read(digest("other"), 5).unwrap(), b"other");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // A disk that lost the end of a file.
        fs::write(folder.path().join(digest("one").hex()), "on").unwrap();
        pinned.read(digest("one"), 3).unwrap_err();
        assert!(!cache.has(&digest("one")));
    }

    #[test]
    fn the_least_recently_used_contents_are_evicted_but_none_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Arc::new(ContentCache::open(folder.path(), 100).unwrap());
        let content = |number: u8| vec![number; 40];
        let store = |number: u8| {
            let bytes = content(number);
            let digest = Digest::from_content(&bytes);
            cache.store(digest, &bytes).unwrap();
            digest
        };
        let (first, second) = (store(1), store(2));
        assert!(cache.has(&first));
        let third = store(3);
        assert!(cache.has(&first) && !cache.has(&second) && cache.has(&third));
        let pinned = cache.pin([first, third]);
        let fourth = store(4);
        assert!(cache.has(&first) && cache.has(&third) && !cache.has(&fourth));
        drop(pinned);
        let fifth = store(5);
        assert!(cache.has(&fifth));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
