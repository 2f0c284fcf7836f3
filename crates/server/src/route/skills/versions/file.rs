//! `GET /v1/skills/{skill}/versions/{version}/file?path=…`: one file of a version. No vendor has
//! such a route, so all dialects get the same. Whatever the file is, browsers are told to save
//! it.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use prowess_store::VersionSelector;
use prowess_wire::excerpt;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::ids;

pub(crate) async fn file(
    State(app): State<App>,
    principal: Principal,
    PathParams((id, version)): PathParams<(String, String)>,
    query: Query,
) -> Result<Response, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let selector = VersionSelector::parse(&version)?;
    let transfers = app.transfers();
    let _permit = transfers.acquire_skill_download(&principal.tenant).await?;
    let (store, id) = (app.store(), ids::canonical_skill_id(&id));
    let resolved = store.resolve(&principal.tenant, id, &selector).await?;
    let skill = store.load(&resolved).await?;
    let bundle = &skill.bundle;
    let path = query.get("path").unwrap_or(bundle.skill_file().as_str());
    let file = bundle.get(path).ok_or_else(|| {
        let message = format!(
            "path: version `{}` has no file `{}`",
            resolved.detail.version.id,
            excerpt(path)
        );
        HttpError::new(StatusCode::NOT_FOUND, "skill-file-not-found", message)
            .with_detail("param", "path")
    })?;
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_DISPOSITION, "attachment".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (CONTENT_LENGTH, file.data.len().to_string()),
    ];
    Ok((headers, file.data.clone()).into_response())
}
