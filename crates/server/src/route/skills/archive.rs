//! A version of a skill as a zip. The same version gives the same bytes.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use prowess_skill::{ArchiveLayout, Skill};
use prowess_store::VersionSelector;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::ids;

/// Sent in chunks of this size, so that the permit is held until it was read.
const CHUNK_BYTES: usize = 64 << 10;

pub(super) async fn archive_response(
    app: &App,
    principal: &Principal,
    id: &str,
    selector: &VersionSelector,
) -> Result<Response, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let permit = app
        .transfers()
        .acquire_skill_download(&principal.tenant)
        .await?;
    let store = app.store();
    let resolved = store
        .resolve(&principal.tenant, ids::canonical_skill_id(id), selector)
        .await?;
    let skill = store.load(&resolved).await?;
    let digest = resolved.detail.version.digest;
    // Uploads have portable names; nothing else may be used in a header.
    let name = if prowess_skill::upload::is_portable_name(&skill.name) {
        skill.name.clone()
    } else {
        "skill".to_owned()
    };
    let packed = tokio::task::spawn_blocking({
        let name = name.clone();
        move || pack(&skill, &name)
    });
    let packed = packed.await;
    let zip = packed.map_err(|error| HttpError::internal("pack", &error))??;
    let headers = [
        (CONTENT_TYPE, "application/zip".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}.zip\""),
        ),
        (ETAG, format!("\"{digest}\"")),
        (CONTENT_LENGTH, zip.len().to_string()),
    ];
    let chunks = stream::unfold((Bytes::from(zip), permit), async |(mut zip, permit)| {
        let chunk = zip.split_to(zip.len().min(CHUNK_BYTES));
        (!chunk.is_empty()).then_some((Ok::<_, Infallible>(chunk), (zip, permit)))
    });
    Ok((headers, Body::from_stream(chunks)).into_response())
}

fn pack(skill: &Skill, folder: &str) -> Result<Vec<u8>, HttpError> {
    let layout = ArchiveLayout::wrapped(folder);
    let layout = layout.map_err(|error| HttpError::internal("pack", &error))?;
    let zip = skill.bundle.to_zip(&layout);
    zip.map_err(|error| HttpError::internal("pack", &error))
}
