//! Digests of the archives in the index.
//!
//! An archive is packed from its version on each request: the same version gives the same
//! bytes. Only digests are cached, so that an index of many skills packs each of them once.

use std::collections::HashMap;
use std::sync::Mutex;

use prowess_skill::{ArchiveLayout, Digest};
use prowess_store::ResolvedSkill;

use crate::app::App;
use crate::error::HttpError;

/// Cached digests; when exceeded, the cache is cleared.
const MAX_CACHED_DIGESTS: usize = 10_000;

/// Digests of archives by version id.
#[derive(Default)]
pub(crate) struct ArchiveDigests(Mutex<HashMap<String, Digest>>);

impl ArchiveDigests {
    fn get(&self, version: &str) -> Option<Digest> {
        self.0.lock().ok()?.get(version).copied()
    }

    fn put(&self, version: &str, digest: Digest) {
        if let Ok(mut digests) = self.0.lock() {
            if digests.len() >= MAX_CACHED_DIGESTS {
                digests.clear();
            }
            digests.insert(version.to_owned(), digest);
        }
    }
}

/// The digest of a version's archive.
pub(super) async fn digest(app: &App, resolved: &ResolvedSkill) -> Result<Digest, HttpError> {
    let version = &resolved.detail.version.id;
    if let Some(digest) = app.archive_digests().get(version) {
        return Ok(digest);
    }
    let digest = Digest::from_content(&pack(app, resolved).await?);
    app.archive_digests().put(version, digest);
    Ok(digest)
}

/// Packs a version's archive, with SKILL.md at its root as the index requires.
pub(super) async fn pack(app: &App, resolved: &ResolvedSkill) -> Result<Vec<u8>, HttpError> {
    let skill = app.store().load(resolved).await?;
    let packed =
        tokio::task::spawn_blocking(move || skill.bundle.to_tar_gz(&ArchiveLayout::FLAT)).await;
    packed
        .map_err(|error| HttpError::internal("pack", &error))?
        .map_err(|error| HttpError::internal("pack", &error))
}
