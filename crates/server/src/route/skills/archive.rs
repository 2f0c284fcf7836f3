//! A version of a skill as a zip. The same version gives the same bytes.

use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, ETAG};
use axum::response::{IntoResponse, Response};
use prowess_skill::{Layout, Skill};
use prowess_store::VersionSelector;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::ids;

pub(super) async fn archive(
    app: &App,
    caller: &Caller,
    id: &str,
    selector: &VersionSelector,
) -> Result<Response, ApiError> {
    caller.may(Need::ReadSkills)?;
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
    ];
    Ok((headers, zip).into_response())
}

fn pack(skill: &Skill, folder: &str) -> Result<Vec<u8>, ApiError> {
    let layout = Layout::wrapped(folder);
    let layout = layout.map_err(|error| ApiError::internal("pack", &error))?;
    let zip = skill.bundle.to_zip(&layout);
    zip.map_err(|error| ApiError::internal("pack", &error))
}
