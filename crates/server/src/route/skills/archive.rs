//! A version of a skill as a zip. The same version gives the same bytes.

use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use axum::response::{IntoResponse, Response};
use prowess_skill::{ArchiveLayout, Skill};
use prowess_store::VersionSelector;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::form::transfers::body_with_permit;
use crate::ids;
use crate::permitted_work::run_with_permit;

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
    let packed = run_with_permit(permit, {
        let name = name.clone();
        move || pack(&skill, &name)
    });
    let packed = packed.await;
    let (zip, permit) = packed.map_err(|error| HttpError::internal("pack", &error))?;
    let zip = zip?;
    let headers = [
        (CONTENT_TYPE, "application/zip".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}.zip\""),
        ),
        (ETAG, format!("\"{digest}\"")),
        (CONTENT_LENGTH, zip.len().to_string()),
    ];
    Ok((headers, body_with_permit(zip.into(), permit)).into_response())
}

fn pack(skill: &Skill, folder: &str) -> Result<Vec<u8>, HttpError> {
    let layout = ArchiveLayout::wrapped(folder);
    let layout = layout.map_err(|error| HttpError::internal("pack", &error))?;
    let zip = skill.bundle.to_zip(&layout);
    zip.map_err(|error| HttpError::internal("pack", &error))
}
