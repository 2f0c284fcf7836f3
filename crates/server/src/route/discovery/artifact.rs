//! `GET /.well-known/agent-skills/NAME.tar.gz` and `…/NAME/SKILL.md`

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use prowess_skill::Bundle;

use super::{archives, catalogue, not_found_error, public_response, single_files};
use crate::app::App;
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn archive(
    State(app): State<App>,
    PathParams(file): PathParams<String>,
) -> Result<Response, HttpError> {
    catalogue::public_tenant(&app)?;
    let name = file
        .strip_suffix(".tar.gz")
        .ok_or_else(|| not_found_error(&file))?;
    let resolved = catalogue::find_skill(&app, name).await?;
    let (archive, size) = archives::archive(&app, &resolved).await?;
    let mut response = public_response("application/gzip", archive);
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    Ok(response)
}

pub(crate) async fn skill_md(
    State(app): State<App>,
    PathParams(name): PathParams<String>,
) -> Result<Response, HttpError> {
    let resolved = catalogue::find_skill(&app, &name).await?;
    let kind = "text/markdown; charset=utf-8";
    let main = |bundle: &Bundle| {
        bundle
            .get(bundle.skill_file().as_str())
            .map(|file| file.data.clone())
    };
    let found = single_files::send(&app, &resolved, kind, main).await?;
    found.ok_or_else(|| not_found_error(&name))
}
