//! Previews of files whose content a page does not have: as parts of pages for scripts, and as
//! pages for browsers without them.

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use axum::routing::get;
use bytes::BytesMut;
use futures_util::StreamExt as _;
use http::{HeaderMap, Request};
use serde::Deserialize;

use super::Preview;
use super::pdf::PdfPlace;
use super::place::{container_pdf, stored_pdf};
use super::raw::{container_file_url, file_url};
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::{QueryFields, segment};
use crate::render::html;
use crate::state::ConsoleState;
use crate::visitor::{HX_REQUEST, Visitor};

/// Bytes of a file that are read for its preview.
const MAX_PREVIEW_BYTES: usize = 256 << 10;

/// A preview as a page of its own.
#[derive(Template)]
#[template(path = "preview_page.html")]
struct PreviewPage {
    layout: Layout,
    preview: Preview,
}

/// A file that is asked for.
struct RequestedFile {
    /// Where the API describes it.
    path: String,
    /// Where its bytes are, below `/console/raw/`.
    url: String,
    pdf: PdfPlace,
    nav: Nav,
}

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/preview/files/{file}", get(stored_file))
        .route(
            "/console/preview/containers/{container}/{file}",
            get(container_file),
        )
}

async fn stored_file(
    visitor: Visitor,
    Path(file): Path<String>,
    query: QueryFields,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let file = RequestedFile {
        path: format!("/v1/files/{}", segment(&file)),
        url: file_url(&file),
        pdf: stored_pdf(&file),
        nav: Nav::Runs,
    };
    show(&visitor, file, &query, &headers).await
}

async fn container_file(
    visitor: Visitor,
    Path((container, file)): Path<(String, String)>,
    query: QueryFields,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let file = RequestedFile {
        url: container_file_url(&container, &file),
        pdf: container_pdf(&container, &file),
        path: format!(
            "/v1/containers/{}/files/{}",
            segment(&container),
            segment(&file)
        ),
        nav: Nav::Containers,
    };
    show(&visitor, file, &query, &headers).await
}

/// Stored files have a name, those in containers a path; each API has its word for the size.
#[derive(Deserialize)]
struct ShownFile {
    filename: Option<String>,
    path: Option<String>,
    size_bytes: Option<u64>,
    bytes: Option<u64>,
}

async fn show(
    visitor: &Visitor,
    file: RequestedFile,
    query: &QueryFields,
    headers: &HeaderMap,
) -> Result<Response, PageError> {
    let number = query.0.number("page")?.unwrap_or(1);
    let (api, path) = (&visitor.api, &file.path);
    let about: ShownFile = api.get(path).await?;
    let name = about.filename.or(about.path).unwrap_or_default();
    let request = Request::get(format!("{path}/content")).body(Body::empty());
    let request =
        request.map_err(|_| PageError::bad_request("this address does not name a file"))?;
    let body = api.send(request).await?.into_body();
    let (content, is_whole) = read_beginning(body).await?;
    let preview = Preview::new(name.as_str(), file.url, &content, is_whole);
    let preview = match about.size_bytes.or(about.bytes) {
        Some(size) => preview.with_size(size),
        None => preview,
    };
    let preview = preview.with_page(api, &file.pdf, number).await?;
    if headers.contains_key(HX_REQUEST) {
        return Ok(html(&preview));
    }
    Ok(html(&PreviewPage {
        layout: Layout::new(visitor, name, file.nav).with_curl(path),
        preview,
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
