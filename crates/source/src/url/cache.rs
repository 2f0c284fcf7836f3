//! The cache of fetched content on disk.
//!
//! ```text
//! urls/<digest of the URL>.json   digest of its bytes, and until when they are fresh
//! bytes/<digest of the bytes>     the bytes
//! ```
//!
//! Files are written beside their place and renamed into it, so several processes
//! need no lock and a crash leaves nothing half written; bytes are hashed whenever
//! they are read, so a torn or changed file is a missing one. Only what passed the
//! guard and the size limits is cached; whether it is a skill is checked each time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use prowess_skill::Digest;
use serde::{Deserialize, Serialize};

use super::error::FetchError;
use super::http::Validators;
use super::options::CacheOptions;

/// Files that a crashed process left unfinished are removed after this long.
const UNFINISHED_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum bytes of a record.
const MAX_RECORD_BYTES: u64 = 64 << 10;

/// A cache in a folder.
pub(super) struct Cache {
    options: CacheOptions,
}

/// The cache record of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CacheRecord {
    /// Compared when read, because file names are digests.
    url: String,
    pub(super) digest: Digest,
    etag: Option<String>,
    last_modified: Option<String>,
    /// Seconds since 1970.
    #[serde(rename = "asked_at")]
    checked_at: u64,
    fresh_seconds: u64,
    /// Whether private addresses were allowed when it was fetched. If so, it is not used
    /// where they are not allowed.
    private: bool,
}

impl CacheRecord {
    pub(super) fn new(
        url: &str,
        digest: Digest,
        validators: Validators,
        fresh: Duration,
        private: bool,
    ) -> Self {
        CacheRecord {
            url: url.to_owned(),
            digest,
            etag: validators.etag,
            last_modified: validators.last_modified,
            checked_at: now(),
            fresh_seconds: fresh.as_secs(),
            private,
        }
    }

    /// Whether it may be used without a request. A clock that was set back makes nothing
    /// fresh.
    pub(super) fn is_fresh(&self) -> bool {
        let age = now().checked_sub(self.checked_at);
        age.is_some_and(|age| age < self.fresh_seconds)
    }

    pub(super) fn validators(&self) -> Validators {
        Validators {
            etag: self.etag.clone(),
            last_modified: self.last_modified.clone(),
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

impl Cache {
    /// Opens the cache, and creates its folder.
    pub(super) fn open(options: CacheOptions) -> Result<Self, FetchError> {
        let cache = Cache { options };
        let made = [cache.urls(), cache.bytes()]
            .iter()
            .try_for_each(|folder| create_private_folder(folder));
        made.map_err(|error| cache.unusable(&error))?;
        Ok(cache)
    }

    pub(super) fn options(&self) -> &CacheOptions {
        &self.options
    }

    fn urls(&self) -> PathBuf {
        self.options.folder.join("urls")
    }

    fn bytes(&self) -> PathBuf {
        self.options.folder.join("bytes")
    }

    fn record_file(&self, url: &str) -> PathBuf {
        let name = Digest::from_content(url.as_bytes()).hex();
        self.urls().join(format!("{name}.json"))
    }

    fn unusable(&self, error: &io::Error) -> FetchError {
        FetchError::Cache {
            folder: self.options.folder.clone(),
            why: error.to_string(),
        }
    }

    /// The record of a URL. An unreadable record counts as none.
    pub(super) fn find(&self, url: &str, allow_private: bool) -> Option<CacheRecord> {
        let text = read_capped(&self.record_file(url), MAX_RECORD_BYTES).ok()?;
        let record: CacheRecord = serde_json::from_slice(&text).ok()?;
        let open = allow_private || !record.private;
        (open && record.url == url).then_some(record)
    }

    /// The bytes of a digest, if they are cached and match it. At most `cap`.
    pub(super) fn read(&self, digest: Digest, cap: u64) -> Option<Bytes> {
        let path = self.bytes().join(digest.hex());
        let data = read_capped(&path, cap).ok()?;
        if Digest::from_content(&data) != digest {
            return None;
        }
        // Marks it as used; another process may just have removed it.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(data.into())
    }

    /// Stores bytes and the record of their URL, and evicts old ones.
    pub(super) fn keep(&self, record: &CacheRecord, data: &[u8]) -> Result<(), FetchError> {
        let place = self.bytes().join(record.digest.hex());
        let kept = write_atomically(&place, data)
            .and_then(|()| self.write_record(record))
            .and_then(|()| self.evict(&record.digest.hex()));
        kept.map_err(|error| self.unusable(&error))
    }

    /// Records that a URL still has the same content.
    pub(super) fn renew(&self, record: &CacheRecord) -> Result<(), FetchError> {
        let written = self.write_record(record);
        written.map_err(|error| self.unusable(&error))
    }

    fn write_record(&self, record: &CacheRecord) -> io::Result<()> {
        let text = serde_json::to_vec(record).map_err(io::Error::other)?;
        write_atomically(&self.record_file(&record.url), &text)
    }

    /// Removes the least recently used until the limits hold; never the newest.
    fn evict(&self, newest: &str) -> io::Result<()> {
        let mut kept = files_by_last_use(&self.bytes())?;
        let mut total: u64 = kept.iter().map(|file| file.size).sum();
        kept.retain(|file| !file.path.ends_with(newest));
        for file in kept {
            if total <= self.options.max_bytes {
                break;
            }
            remove(&file.path)?;
            total = total.saturating_sub(file.size);
        }
        let records = files_by_last_use(&self.urls())?;
        let over = records.len().saturating_sub(self.options.max_records);
        records
            .iter()
            .take(over)
            .try_for_each(|file| remove(&file.path))
    }
}

struct CachedFile {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

/// The files of a folder, least recently used first, without those still being written.
fn files_by_last_use(folder: &Path) -> io::Result<Vec<CachedFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // Another process may have removed it since.
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        let used = meta.modified().unwrap_or(UNIX_EPOCH);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(".unfinished-") {
            let age = SystemTime::now().duration_since(used).unwrap_or_default();
            if age > UNFINISHED_MAX_AGE {
                remove(&path)?;
            }
            continue;
        }
        let size = meta.len();
        files.push(CachedFile { path, size, used });
    }
    files.sort_by_key(|file| file.used);
    Ok(files)
}

/// Removes a file, if it still exists.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads a file of at most `cap` bytes.
fn read_capped(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut data = Vec::new();
    File::open(path)?.take(cap + 1).read_to_end(&mut data)?;
    if data.len() as u64 > cap {
        return Err(io::Error::other("too large"));
    }
    Ok(data)
}

/// Writes a temporary file, then renames it.
fn write_atomically(place: &Path, data: &[u8]) -> io::Result<()> {
    let folder = place.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".unfinished-")
        .tempfile_in(folder)?;
    file.write_all(data)?;
    file.persist(place).map_err(|error| error.error)?;
    Ok(())
}

/// Creates a folder that only its owner can read: URLs may contain secrets.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &Path, most_bytes: u64) -> Cache {
        Cache::open(CacheOptions {
            max_bytes: most_bytes,
            max_records: 3,
            ..CacheOptions::in_folder(folder)
        })
        .unwrap()
    }

    fn keep(cache: &Cache, url: &str, data: &[u8]) -> CacheRecord {
        let fresh = Duration::from_secs(60);
        let record = CacheRecord::new(
            url,
            Digest::from_content(data),
            Validators::default(),
            fresh,
            true,
        );
        cache.keep(&record, data).unwrap();
        record
    }

    /// Sets the time of last use, so that an order does not depend on the clock.
    fn used(cache: &Cache, record: &CacheRecord, second: u64) {
        let file = File::open(cache.bytes().join(record.digest.hex())).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(second))
            .unwrap();
    }

    #[test]
    fn what_was_kept_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 1000);
        let record = keep(&cache, "http://a.test/x", b"hello");
        assert_eq!(cache.find("http://a.test/x", true), Some(record.clone()));
        assert_eq!(cache.find("http://a.test/x", false), None, "was private");
        assert!(record.is_fresh());
        assert_eq!(cache.read(record.digest, 5).unwrap(), "hello");
        assert_eq!(cache.read(record.digest, 4), None, "more than wanted");
        assert_eq!(cache.find("http://a.test/y", true), None);
    }

    #[test]
    fn bytes_that_are_not_what_they_were_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 1000);
        let record = keep(&cache, "http://a.test/x", b"hello");
        fs::write(cache.bytes().join(record.digest.hex()), "hel").unwrap();
        assert_eq!(cache.read(record.digest, 100), None);
        fs::write(cache.record_file("http://a.test/x"), "{\"url\":").unwrap();
        assert_eq!(cache.find("http://a.test/x", true), None);
    }

    #[test]
    fn the_longest_unused_are_evicted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 10);
        let a = keep(&cache, "http://a.test/a", b"aaaa");
        let b = keep(&cache, "http://a.test/b", b"bbbb");
        used(&cache, &a, 2);
        used(&cache, &b, 1);
        let c = keep(&cache, "http://a.test/c", b"cccc");
        let here = |record: &CacheRecord| cache.read(record.digest, 100).is_some();
        assert_eq!([here(&a), here(&b), here(&c)], [true, false, true]);
        for n in 0..5 {
            keep(&cache, &format!("http://a.test/{n}"), b"cccc");
        }
        assert_eq!(fs::read_dir(cache.urls()).unwrap().count(), 3);
    }

    #[test]
    fn unfinished_files_are_no_part_of_it_and_go_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 10);
        let (old, new) = (
            cache.bytes().join(".unfinished-old"),
            cache.bytes().join(".unfinished-new"),
        );
        fs::write(&old, "x").unwrap();
        fs::write(&new, vec![0; 100]).unwrap();
        File::options()
            .write(true)
            .open(&old)
            .unwrap()
            .set_modified(UNIX_EPOCH)
            .unwrap();
        keep(&cache, "http://a.test/a", b"aaaa");
        assert!(!old.exists() && new.exists());
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nothing_fresh() {
        let record = CacheRecord {
            checked_at: now() + 1000,
            ..CacheRecord::new(
                "u",
                Digest::from_content(b""),
                Validators::default(),
                Duration::from_secs(9),
                false,
            )
        };
        assert!(!record.is_fresh());
    }

    #[test]
    fn several_writers_of_one_cache_do_not_harm_each_other() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let folder = folder.path();
                scope.spawn(move || {
                    let cache = cache(folder, 40);
                    for n in 0..25 {
                        let data = format!("{:8}", n % 7);
                        let url = format!("http://a.test/{}", (n + writer) % 5);
                        let record = keep(&cache, &url, data.as_bytes());
                        // It may be evicted by now, but is never wrong.
                        let read = cache.read(record.digest, 100);
                        assert!(read.is_none_or(|read| read == data));
                    }
                });
            }
        });
        let total: u64 = files_by_last_use(&folder.path().join("bytes"))
            .unwrap()
            .iter()
            .map(|file| file.size)
            .sum();
        assert!(total <= 40 + 4 * 8, "{total}");
    }
}
