//! Previews as parts of pages, for files whose content a page does not have.

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use axum::routing::get;
use bytes::BytesMut;
use futures_util::StreamExt as _;
use http::Request;
use serde::Deserialize;

use super::Preview;
use super::raw::{container_file_url, file_url};
use crate::api::{Api, PageError};
use crate::query::segment;
use crate::render::html;
use crate::state::ConsoleState;
use crate::visitor::Visitor;

/// Bytes of a file that are read for its preview.
const MAX_PREVIEW_BYTES: usize = 256 << 10;

/// The address of the preview of a stored file.
pub(crate) fn file_preview_url(file: &str) -> String {
    format!("/console/preview/files/{}", segment(file))
}

/// The address of the preview of a file in a container.
pub(crate) fn container_file_preview_url(container: &str, file: &str) -> String {
    let (container, file) = (segment(container), segment(file));
    format!("/console/preview/containers/{container}/{file}")
}

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/preview/files/{file}", get(stored_file))
        .route(
            "/console/preview/containers/{container}/{file}",
            get(container_file),
        )
}

async fn stored_file(visitor: Visitor, Path(file): Path<String>) -> Result<Response, PageError> {
    let path = format!("/v1/files/{}", segment(&file));
    show(&visitor.api, &path, file_url(&file)).await
}

async fn container_file(
    visitor: Visitor,
    Path((container, file)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let url = container_file_url(&container, &file);
    let (container, file) = (segment(&container), segment(&file));
    let path = format!("/v1/containers/{container}/files/{file}");
    show(&visitor.api, &path, url).await
}

/// Stored files have a name, those in containers a path; each API has its word for the size.
#[derive(Deserialize)]
struct ShownFile {
    filename: Option<String>,
    path: Option<String>,
    size_bytes: Option<u64>,
    bytes: Option<u64>,
}

async fn show(api: &Api, path: &str, url: String) -> Result<Response, PageError> {
    let about: ShownFile = api.get(path).await?;
    let name = about.filename.or(about.path).unwrap_or_default();
    let request = Request::get(format!("{path}/content")).body(Body::empty());
    let request = request.map_err(|_| PageError::bad_request("this is no address of a file"))?;
    let body = api.send(request).await?.into_body();
    let (content, is_whole) = read_beginning(body).await?;
    let preview = Preview::new(name, url, &content, is_whole);
    Ok(html(&match about.size_bytes.or(about.bytes) {
        Some(size) => preview.with_size(size),
        None => preview,
    }))
}

/// As much of a file as its preview needs, and whether that is all.
pub(crate) async fn read_beginning(body: Body) -> Result<(BytesMut, bool), PageError> {
    let mut body = body.into_data_stream();
    let mut content = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| PageError::internal("a file cannot be read", &error))?;
        content.extend_from_slice(&chunk);
        if content.len() > MAX_PREVIEW_BYTES {
            content.truncate(MAX_PREVIEW_BYTES);
            return Ok((content, false));
        }
    }
    Ok((content, true))
}
