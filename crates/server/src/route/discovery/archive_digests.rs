//! A cache of the digests of archives in the index, so that an index of many skills packs each
//! of them once.
//!
//! Part of the server's state, so it must not know it.

use std::collections::HashMap;
use std::sync::Mutex;

use prowess_skill::Digest;

/// Cached digests; when exceeded, the cache is cleared.
const MAX_CACHED_DIGESTS: usize = 10_000;

/// Digests of archives by version id.
#[derive(Default)]
pub(crate) struct ArchiveDigests(Mutex<HashMap<String, Digest>>);

impl ArchiveDigests {
    pub(super) fn get(&self, version: &str) -> Option<Digest> {
        self.0.lock().ok()?.get(version).copied()
    }

    pub(super) fn put(&self, version: &str, digest: Digest) {
        if let Ok(mut digests) = self.0.lock() {
            if digests.len() >= MAX_CACHED_DIGESTS {
                digests.clear();
            }
            digests.insert(version.to_owned(), digest);
        }
    }
}
