//! A version of a skill as a zip. The same version gives the same bytes.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use prowess_skill::{Layout, Skill};
use prowess_store::VersionSelector;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::ids;

/// It is sent in pieces of so many bytes, so that its turn lasts until it was read.
const PIECE: usize = 64 << 10;

pub(super) async fn archive(
    app: &App,
    caller: &Caller,
    id: &str,
    selector: &VersionSelector,
) -> Result<Response, ApiError> {
    caller.may(Need::ReadSkills)?;
    let turn = app.transfers().archive(&caller.tenant).await?;
    let store = app.store();
    let resolved = store
        .resolve(&caller.tenant, ids::skill(id), selector)
        .await?;
    let skill = store.load(&resolved).await?;
    let digest = resolved.detail.version.digest;
    // Uploads are held to portable names; nothing else may stand in a header.
    let name = match prowess_skill::upload::is_portable_name(&skill.name) {
        true => skill.name.clone(),
        false => "skill".to_owned(),
    };
    let packed = tokio::task::spawn_blocking({
        let name = name.clone();
        move || pack(&skill, &name)
    });
    let packed = packed.await;
    let zip = packed.map_err(|error| ApiError::internal("pack", &error))??;
    let headers = [
        (CONTENT_TYPE, "application/zip".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}.zip\""),
        ),
        (ETAG, format!("\"{digest}\"")),
        (CONTENT_LENGTH, zip.len().to_string()),
    ];
    let pieces = stream::unfold((Bytes::from(zip), turn), async |(mut zip, turn)| {
        let piece = zip.split_to(zip.len().min(PIECE));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), (zip, turn)))
    });
    Ok((headers, Body::from_stream(pieces)).into_response())
}

fn pack(skill: &Skill, folder: &str) -> Result<Vec<u8>, ApiError> {
    let layout = Layout::wrapped(folder);
    let layout = layout.map_err(|error| ApiError::internal("pack", &error))?;
    let zip = skill.bundle.to_zip(&layout);
    zip.map_err(|error| ApiError::internal("pack", &error))
}
