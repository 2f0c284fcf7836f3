//! `GET /.well-known/agent-skills/NAME.tar.gz` and `…/NAME/SKILL.md`

use axum::extract::State;
use axum::response::Response;

use super::{archives, catalogue, not_here, public};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Path;

pub(crate) async fn archive(
    State(app): State<App>,
    Path(file): Path<String>,
) -> Result<Response, ApiError> {
    catalogue::tenant(&app)?;
    let name = file
        .strip_suffix(".tar.gz")
        .ok_or_else(|| not_here(&file))?;
    let resolved = catalogue::one(&app, name).await?;
    let archive = archives::pack(&app, &resolved).await?;
    Ok(public("application/gzip", archive))
}

pub(crate) async fn skill_md(
    State(app): State<App>,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    let resolved = catalogue::one(&app, &name).await?;
    let skill = app.store().load(&resolved).await?;
    let text = bytes::Bytes::copy_from_slice(skill.bundle.skill_md());
    Ok(public("text/markdown; charset=utf-8", text))
}
