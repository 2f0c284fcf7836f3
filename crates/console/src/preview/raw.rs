//! Files as they are, for `<img>` and for downloads. A browser shows raster images only; all
//! else is saved. Every file is sandboxed: opened by its address, it can run and load nothing.

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::kind::PreviewKind;
use crate::api::{Api, PageError};
use crate::query::{QueryFields, segment};
use crate::skill_archive::open_file;
use crate::state::ConsoleState;
use crate::visitor::Visitor;

/// No scripts, no forms, no frames, nothing loaded, and no origin.
pub(super) const POLICY: &str = "sandbox; default-src 'none'";
/// Bytes that tell what a file is.
const SNIFFED_BYTES: usize = 16;

/// The address of a stored file.
pub(crate) fn file_url(file: &str) -> String {
    format!("/console/raw/files/{}", segment(file))
}

/// The address of a file in a container.
pub(crate) fn container_file_url(container: &str, file: &str) -> String {
    let (container, file) = (segment(container), segment(file));
    format!("/console/raw/containers/{container}/{file}")
}

/// The address of a file of a skill.
pub(crate) fn skill_file_url(skill: &str, version: &str, path: &str) -> String {
    let (skill, version) = (segment(skill), segment(version));
    let path: Vec<String> = path.split('/').map(segment).collect();
    format!("/console/raw/skills/{skill}/{version}/{}", path.join("/"))
}

/// The routes of files.
pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/raw/files/{file}", get(stored_file))
        .route(
            "/console/raw/containers/{container}/{file}",
            get(container_file),
        )
        .route(
            "/console/raw/skills/{skill}/{version}/{*path}",
            get(skill_file),
        )
}

/// What is needed of a file's description: stored files have a name, those in containers a path.
#[derive(Deserialize)]
struct FileName {
    filename: Option<String>,
    path: Option<String>,
}

async fn stored_file(
    visitor: Visitor,
    Path(file): Path<String>,
    query: QueryFields,
) -> Result<Response, PageError> {
    let path = format!("/v1/files/{}", segment(&file));
    send_file(&visitor.api, &path, &query).await
}

async fn container_file(
    visitor: Visitor,
    Path((container, file)): Path<(String, String)>,
    query: QueryFields,
) -> Result<Response, PageError> {
    let (container, file) = (segment(&container), segment(&file));
    let path = format!("/v1/containers/{container}/files/{file}");
    send_file(&visitor.api, &path, &query).await
}

async fn skill_file(
    visitor: Visitor,
    Path((skill, version, path)): Path<(String, String, String)>,
    query: QueryFields,
) -> Result<Response, PageError> {
    let response = open_file(&visitor.api, &skill, &version, &path).await?;
    send_content(&path, response, &query).await
}

/// Sends a file of the API with headers of our own.
async fn send_file(api: &Api, path: &str, query: &QueryFields) -> Result<Response, PageError> {
    let about: FileName = api.get(path).await?;
    let name = about.filename.or(about.path).unwrap_or_default();
    let request = Request::get(format!("{path}/content")).body(Body::empty());
    let request =
        request.map_err(|_| PageError::bad_request("this address does not name a file"))?;
    send_content(&name, api.send(request).await?, query).await
}

/// Sends the content of a file with headers of our own.
async fn send_content(
    name: &str,
    response: http::Response<Body>,
    query: &QueryFields,
) -> Result<Response, PageError> {
    let length = response.headers().get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let (head, rest) = read_head(response.into_body().into_data_stream()).await?;
    let headers = file_headers(name, &head, length, query);
    let body = stream::once(async { Ok::<_, axum::Error>(head) }).chain(rest);
    Ok((headers, Body::from_stream(body)).into_response())
}

/// The beginning of a body, enough to tell what it is, and its rest.
async fn read_head(mut body: BodyDataStream) -> Result<(Bytes, BodyDataStream), PageError> {
    let mut head = BytesMut::new();
    while head.len() < SNIFFED_BYTES
        && let Some(chunk) = body.next().await
    {
        let chunk = chunk.map_err(|error| PageError::internal("a file cannot be read", &error))?;
        head.extend_from_slice(&chunk);
    }
    Ok((head.freeze(), body))
}

fn file_headers(name: &str, head: &[u8], length: Option<usize>, query: &QueryFields) -> HeaderMap {
    let is_download = query.0.all("download").next().is_some();
    let shown = PreviewKind::detect(name, head).inline_type();
    let shown = shown.filter(|_| !is_download);
    let way = if shown.is_some() {
        "inline"
    } else {
        "attachment"
    };
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
    let mut headers = HeaderMap::new();
    let kind = shown.unwrap_or("application/octet-stream");
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    // The name is encoded, so it is a valid header.
    if let Ok(value) = HeaderValue::from_str(&format!("{way}; filename*=UTF-8''{name}")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    if let Some(length) = length {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Fields;

    fn header(name: &str, head: &[u8], query: &str, header_name: http::HeaderName) -> String {
        let query = QueryFields(Fields::parse(query.as_bytes()));
        let headers = file_headers(name, head, None, &query);
        headers
            .get(header_name)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn only_raster_images_are_shown() {
        let png = b"\x89PNG\r\n\x1a\n";
        assert_eq!(header("a/b.png", png, "", CONTENT_TYPE), "image/png");
        assert_eq!(
            header("a/b.png", png, "", CONTENT_DISPOSITION),
            "inline; filename*=UTF-8''b%2Epng"
        );
        for (name, head, query) in [
            ("a.png", &png[..], "download"),
            ("a.svg", b"<svg/>", ""),
            ("a.html", b"<html>", ""),
            ("a.xml", b"<?xml?>", ""),
            ("a.txt", b"text", ""),
            ("a.pdf", b"%PDF-1", ""),
        ] {
            let kind = header(name, head, query, CONTENT_TYPE);
            assert_eq!(kind, "application/octet-stream", "{name}");
            let way = header(name, head, query, CONTENT_DISPOSITION);
            assert!(way.starts_with("attachment"), "{name}: {way}");
            assert_eq!(header(name, head, query, CONTENT_SECURITY_POLICY), POLICY);
        }
    }

    #[test]
    fn a_path_stays_within_its_skill() {
        assert_eq!(
            skill_file_url("skill_1", "latest", "a b/../c.md"),
            "/console/raw/skills/skill_1/latest/a%20b/%2E%2E/c.md"
        );
    }
}
