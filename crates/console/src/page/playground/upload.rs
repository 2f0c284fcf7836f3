//! Files that are sent along: stored by the API before the run starts.

use axum::body::Body;
use bytes::{BufMut as _, BytesMut};
use http::Request;
use http::header::CONTENT_TYPE;
use serde::Deserialize;

use super::form::FileUpload;
use crate::api::{Api, PageError};

/// Between the parts of the form. A file that contains it is refused.
const BOUNDARY: &str = "prowess-console-form-7d1f0c52a94e4b7bb0d2";
/// Bytes of answers about a file.
const MAX_ANSWER_BYTES: usize = 64 << 10;

#[derive(Deserialize)]
struct StoredFile {
    id: String,
}

/// Stores a file, and returns its id.
pub(crate) async fn upload(api: &Api, file: &FileUpload) -> Result<String, PageError> {
    let boundary = BOUNDARY.as_bytes();
    let mut parts = file.content.windows(boundary.len());
    if parts.any(|part| part == boundary) {
        let message = format!("{}: this file cannot be sent by a form", file.name);
        return Err(PageError::bad_request(message));
    }
    let request = Request::post("/v1/files")
        .header(
            CONTENT_TYPE,
            format!("multipart/form-data; boundary={BOUNDARY}"),
        )
        .body(Body::from(form_body(file).freeze()));
    let request = request.map_err(|error| PageError::internal("a form cannot be made", &error))?;
    let response = api.send(request).await?;
    let body = axum::body::to_bytes(response.into_body(), MAX_ANSWER_BYTES).await;
    let body = body.map_err(|error| {
        PageError::internal("the response of the API could not be read", &error)
    })?;
    let stored: StoredFile = serde_json::from_slice(&body).map_err(|error| {
        PageError::internal("the response of the API has an unexpected form", &error)
    })?;
    Ok(stored.id)
}

fn form_body(file: &FileUpload) -> BytesMut {
    // A quote or a line end would end the name.
    let is_safe = |one: &char| !one.is_control() && !matches!(one, '"' | '\\' | '/');
    let name: String = file.name.chars().filter(is_safe).take(200).collect();
    let mut body = BytesMut::with_capacity(file.content.len() + 512);
    let purpose = "content-disposition: form-data; name=\"purpose\"\r\n\r\nuser_data";
    body.put_slice(format!("--{BOUNDARY}\r\n{purpose}\r\n").as_bytes());
    let head = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         content-type: application/octet-stream\r\n\r\n"
    );
    body.put_slice(head.as_bytes());
    body.put_slice(&file.content);
    body.put_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    body
}
