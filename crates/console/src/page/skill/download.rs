//! `GET /console/skills/{skill}/versions/{version}/download`: a version as a zip.

use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
};
use http::{HeaderMap, HeaderValue, Request};

use crate::api::PageError;
use crate::query::segment;
use crate::visitor::Visitor;

pub(super) async fn download(
    visitor: Visitor,
    Path((skill, version)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let (skill, version) = (segment(&skill), segment(&version));
    let path = format!("/v1/skills/{skill}/versions/{version}/content");
    let request = Request::get(path).body(Body::empty());
    let request =
        request.map_err(|_| PageError::bad_request("this address does not name a skill"))?;
    let answer = visitor.api.send(request).await?;
    let mut headers = HeaderMap::new();
    for name in [CONTENT_DISPOSITION, CONTENT_LENGTH] {
        if let Some(value) = answer.headers().get(&name) {
            headers.insert(name, value.clone());
        }
    }
    let fixed = [
        (CONTENT_TYPE, "application/zip"),
        (CACHE_CONTROL, "private, no-cache"),
        (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok((headers, answer.into_body()).into_response())
}
