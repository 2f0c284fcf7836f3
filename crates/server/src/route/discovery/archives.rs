//! Digests of the archives that the index points to.
//!
//! An archive is packed from its version whenever it is asked for: the same version
//! gives the same bytes. Only digests are remembered, so that an index of many skills
//! packs each of them once.

use std::collections::HashMap;
use std::sync::Mutex;

use prowess_skill::{Digest, Layout};
use prowess_store::ResolvedSkill;

use crate::app::App;
use crate::error::ApiError;

/// Digests remembered; beyond that all are forgotten.
const REMEMBERED: usize = 10_000;

/// Digests of archives by version id.
#[derive(Default)]
pub(crate) struct Archives(Mutex<HashMap<String, Digest>>);

impl Archives {
    fn get(&self, version: &str) -> Option<Digest> {
        self.0.lock().ok()?.get(version).copied()
    }

    fn put(&self, version: &str, digest: Digest) {
        if let Ok(mut digests) = self.0.lock() {
            if digests.len() >= REMEMBERED {
                digests.clear();
            }
            digests.insert(version.to_owned(), digest);
        }
    }
}

/// The digest of a version's archive.
pub(super) async fn digest(app: &App, resolved: &ResolvedSkill) -> Result<Digest, ApiError> {
    let version = &resolved.detail.version.id;
    if let Some(digest) = app.archives().get(version) {
        return Ok(digest);
    }
    let digest = Digest::of(&pack(app, resolved).await?);
    app.archives().put(version, digest);
    Ok(digest)
}

/// A version's archive, with SKILL.md at its root as the index wants it.
pub(super) async fn pack(app: &App, resolved: &ResolvedSkill) -> Result<Vec<u8>, ApiError> {
    let skill = app.store().load(resolved).await?;
    let packed = tokio::task::spawn_blocking(move || skill.bundle.to_tar_gz(&Layout::FLAT)).await;
    packed
        .map_err(|error| ApiError::internal("pack", &error))?
        .map_err(|error| ApiError::internal("pack", &error))
}
