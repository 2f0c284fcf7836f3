//! `GET /console/audit/export`: the entries as lines of JSON, for a file.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::Request;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};

use super::AuditForm;
use crate::api::PageError;
use crate::query::QueryFields;
use crate::visitor::Visitor;

const LINES: &str = "application/x-ndjson";

pub(super) async fn export(
    visitor: Visitor,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let path = AuditForm::read(&query).api_path(&visitor, None);
    let request = Request::get(path).header(ACCEPT, LINES);
    let request = request
        .body(Body::empty())
        .map_err(|_| PageError::bad_request("this search cannot be exported"))?;
    let answer = visitor.api.send(request).await?;
    let headers = [
        (CONTENT_TYPE, LINES),
        (CONTENT_DISPOSITION, "attachment; filename=\"audit.ndjson\""),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, answer.into_body()).into_response())
}
