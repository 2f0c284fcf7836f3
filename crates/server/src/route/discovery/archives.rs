//! The archives in the index, and their digests.
//!
//! An archive is packed from its version on each request: the same version gives the same
//! bytes. It is in memory until it was sent, and anybody may request it, so it needs a permit.

use axum::body::Body;
use prowess_skill::{ArchiveLayout, Digest};
use prowess_store::ResolvedSkill;

use crate::app::App;
use crate::connections::current;
use crate::error::HttpError;
use crate::form::transfers::{PublicPermit, body_with_permit};
use crate::permitted_work::run_with_permit;

/// The digest of a version's archive.
pub(super) async fn digest(app: &App, resolved: &ResolvedSkill) -> Result<Digest, HttpError> {
    let version = &resolved.detail.version.id;
    if let Some(digest) = app.archive_digests().get(version) {
        return Ok(digest);
    }
    let permit = acquire_permit(app).await?;
    // Another request may have packed it meanwhile.
    if let Some(digest) = app.archive_digests().get(version) {
        return Ok(digest);
    }
    let (archive, permit) = pack(app, resolved, permit).await?;
    let hashed = run_with_permit(permit, move || Digest::from_content(&archive)).await;
    let (digest, _permit) = hashed.map_err(|error| HttpError::internal("pack", &error))?;
    app.archive_digests().put(version, digest);
    Ok(digest)
}

/// A version's archive, and its size.
pub(super) async fn archive(
    app: &App,
    resolved: &ResolvedSkill,
) -> Result<(Body, usize), HttpError> {
    let permit = acquire_permit(app).await?;
    let (archive, permit) = pack(app, resolved, permit).await?;
    let size = archive.len();
    Ok((body_with_permit(archive.into(), permit), size))
}

/// A permit to have a skill in memory for somebody without a key.
pub(super) async fn acquire_permit(app: &App) -> Result<PublicPermit, HttpError> {
    let transfers = app.transfers();
    transfers.acquire_public_download(current::network()).await
}

/// Packs a version's archive, with SKILL.md at its root as the index requires. Returns the permit
/// with it.
async fn pack(
    app: &App,
    resolved: &ResolvedSkill,
    permit: PublicPermit,
) -> Result<(Vec<u8>, PublicPermit), HttpError> {
    let skill = app.store().load(resolved).await?;
    let pack = move || skill.bundle.to_tar_gz(&ArchiveLayout::FLAT);
    let packed = run_with_permit(permit, pack).await;
    let (archive, permit) = packed.map_err(|error| HttpError::internal("pack", &error))?;
    let archive = archive.map_err(|error| HttpError::internal("pack", &error))?;
    Ok((archive, permit))
}
