//! The archives in the index, and their digests.
//!
//! An archive is packed from its version on each request: the same version gives the same
//! bytes.

use prowess_skill::{ArchiveLayout, Digest};
use prowess_store::ResolvedSkill;

use crate::app::App;
use crate::error::HttpError;

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
