//! Pictures of pages of PDF files, for `<img>`: PNG files that the server's API has drawn in the
//! sandbox. They are sent like other files of others, under a policy that lets nothing run.

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

use super::pdf::PdfPlace;
use super::place::{container_pdf, skill_pdf, stored_pdf};
use super::raw::POLICY;
use crate::api::{Api, PageError};
use crate::query::QueryFields;
use crate::state::ConsoleState;
use crate::visitor::Visitor;

/// The routes of pictures.
pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/picture/files/{file}", get(stored_file))
        .route(
            "/console/picture/containers/{container}/{file}",
            get(container_file),
        )
        .route(
            "/console/picture/skills/{skill}/{version}/{*path}",
            get(skill_file),
        )
}

async fn stored_file(
    visitor: Visitor,
    Path(file): Path<String>,
    query: QueryFields,
) -> Result<Response, PageError> {
    send(&visitor.api, &stored_pdf(&file), &query).await
}

async fn container_file(
    visitor: Visitor,
    Path((container, file)): Path<(String, String)>,
    query: QueryFields,
) -> Result<Response, PageError> {
    send(&visitor.api, &container_pdf(&container, &file), &query).await
}

async fn skill_file(
    visitor: Visitor,
    Path((skill, version, path)): Path<(String, String, String)>,
    query: QueryFields,
) -> Result<Response, PageError> {
    let place = skill_pdf(&skill, &version, &path, "");
    send(&visitor.api, &place, &query).await
}

async fn send(api: &Api, place: &PdfPlace, query: &QueryFields) -> Result<Response, PageError> {
    let number = query.0.number("page")?.unwrap_or(1);
    let answer = api.send(place.request(number)?).await?;
    let headers = [
        (CONTENT_TYPE, "image/png"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "private, no-cache"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    Ok((headers, answer.into_body()).into_response())
}
