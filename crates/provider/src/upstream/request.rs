//! Parts of requests that several kinds of providers share.

use bytes::Bytes;
use http::{HeaderMap, Method};
use url::Url;

use crate::http::{Destination, HttpRequest};

/// Appends path segments to the base address, encoded as needed; validation has ensured
/// that the base has a path.
pub(crate) fn append_segments<'s>(base: &Url, segments: impl IntoIterator<Item = &'s str>) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

pub(crate) fn post(to: impl Into<Destination>, headers: HeaderMap, body: Bytes) -> HttpRequest {
    HttpRequest {
        method: Method::POST,
        destination: to.into(),
        headers,
        body: body.into(),
    }
}

pub(crate) fn get(to: impl Into<Destination>, headers: HeaderMap) -> HttpRequest {
    HttpRequest {
        method: Method::GET,
        destination: to.into(),
        headers,
        body: Bytes::new().into(),
    }
}
