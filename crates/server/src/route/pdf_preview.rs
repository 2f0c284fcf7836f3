//! The picture of a page of a PDF file, from the response that would send the file: so who may
//! download a file may see its pages, and nobody else. Routes of files, of files in containers
//! and of files of skills use it.

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
use prowess_store::TenantId;
use prowess_wire::excerpt;

use crate::app::App;
use crate::error::HttpError;
use crate::extract::Query;
use crate::openapi::parameters::MAX_PAGE_NUMBER;

/// How many pages the file has.
const PAGES_HEADER: HeaderName = HeaderName::from_static("prowess-pages");
/// Bytes of a file of which pages are drawn.
const MAX_PDF_BYTES: u64 = 32 << 20;

/// Retry delay sent to clients.
const RETRY_SECONDS: u64 = 5;

/// The page that a request asks for, counted from 1.
pub(super) fn page_number(query: &Query) -> Result<u32, HttpError> {
    let Some(text) = query.all("page").next() else {
        return Ok(1);
    };
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=MAX_PAGE_NUMBER).contains(number));
    number.ok_or_else(|| {
        let text = excerpt(text);
        let message = format!("page: `{text}` is not a number from 1 to {MAX_PAGE_NUMBER}");
        HttpError::bad_request("query-invalid", message).with_detail("param", "page")
    })
}

/// Draws a page of the file that a response sends.
pub(super) async fn draw_page(
    app: &App,
    tenant: &TenantId,
    content: Response,
    number: u32,
) -> Result<Response, HttpError> {
    if !content.status().is_success() {
        return Ok(content);
    }
    let most = MAX_PDF_BYTES.min(app.body_budget().max_body_bytes() as u64);
    let size = content_size(&content).unwrap_or(most);
    if size > most {
        return Err(too_large(most));
    }
    let permit = Box::pin(app.pdf_pages().acquire(tenant)).await?;
    // The whole file is in memory until its page is drawn.
    let mut reservation = app.body_budget().reserve(tenant);
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    reservation.grow(size).await?;
    let pdf = to_bytes(content.into_body(), size).await;
    let pdf = pdf.map_err(|error| match is_too_long(&error) {
        true => too_large(most),
        false => {
            let message = format!("the file cannot be read: {error}");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            HttpError::new(status, "preview-not-read", message).retry_after(RETRY_SECONDS)
        }
    })?;
    if !pdf.starts_with(b"%PDF-") {
        let message = "only pages of PDF files are drawn, and this is not a PDF file: download it";
        return Err(HttpError::bad_request("preview-not-pdf", message));
    }
    let drawing = app
        .pdf_pages()
        .page(permit, app.engine(), tenant, pdf.into(), number);
    let page = Box::pin(drawing).await?;
    let headers = [
        (CONTENT_TYPE, "image/png".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (PAGES_HEADER, page.pages.to_string()),
    ];
    Ok((headers, Body::from(page.png)).into_response())
}

/// The size of the file, if it is known before it is read.
fn content_size(content: &Response) -> Option<u64> {
    let named = content.headers().get(CONTENT_LENGTH);
    let named = named.and_then(|length| length.to_str().ok()?.parse().ok());
    named.or(content.body().size_hint().exact())
}

fn is_too_long(error: &axum::Error) -> bool {
    let source = std::error::Error::source(error);
    source.is_some_and(|source| source.is::<LengthLimitError>())
}

fn too_large(most: u64) -> HttpError {
    let message = format!(
        "pages are drawn of PDF files of up to {most} bytes, and this file is larger: download it"
    );
    HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "preview-too-large", message)
}
