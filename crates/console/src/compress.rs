//! Compresses pages for browsers that take gzip. Only whole HTML: streams, files and assets
//! pass as they are. Nothing here decides who may see a page; the cookie of a session never
//! comes with a request from another site, so nobody else can have pages compressed beside
//! text of their own.

use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http::{HeaderValue, StatusCode};

use crate::assets::{accepts_gzip, gzip};

/// Smaller pages fit into one packet anyway.
const MIN_BYTES: u64 = 1 << 10;
/// Larger ones are passed as they are; no page should be.
const MAX_BYTES: u64 = 8 << 20;

/// Compresses the response if the browser takes it.
pub(crate) async fn compress(request: Request, next: Next) -> Response {
    let accepts = accepts_gzip(request.headers());
    let mut response = next.run(request).await;
    if !is_page(&response) {
        return response;
    }
    let vary = HeaderValue::from_static("accept-encoding");
    response.headers_mut().append(VARY, vary);
    if !accepts {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // Its size is known, so it is in memory already.
    let Ok(page) = axum::body::to_bytes(body, usize::MAX).await else {
        parts.status = StatusCode::INTERNAL_SERVER_ERROR;
        return Response::from_parts(parts, Body::empty());
    };
    let compressed = gzip(&page);
    if compressed.is_empty() {
        return Response::from_parts(parts, Body::from(page));
    }
    parts.headers.remove(CONTENT_LENGTH);
    let encoding = HeaderValue::from_static("gzip");
    parts.headers.insert(CONTENT_ENCODING, encoding);
    Response::from_parts(parts, Body::from(compressed))
}

fn is_page(response: &Response) -> bool {
    let headers = response.headers();
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_html = content_type.is_some_and(|it| it.starts_with(b"text/html"));
    let size = response.body().size_hint().exact();
    let fits = size.is_some_and(|size| (MIN_BYTES..=MAX_BYTES).contains(&size));
    is_html && fits && !headers.contains_key(CONTENT_ENCODING)
}
