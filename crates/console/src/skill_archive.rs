//! The files of a version of a skill. The API has them as one archive, which is read within the
//! limits of uploads; nothing is unpacked to a disk.

use axum::body::Body;
use http::Request;
use prowess_skill::{Bundle, BundleLimits};

use crate::api::{Api, PageError};
use crate::query::segment;

/// Bytes of an archive.
const MAX_ARCHIVE_BYTES: usize = 64 << 20;

/// The files of a version: its number, id, label, `latest` or `default`.
pub(crate) async fn load_bundle(
    api: &Api,
    skill: &str,
    version: &str,
) -> Result<Bundle, PageError> {
    let (skill, version) = (segment(skill), segment(version));
    let path = format!("/v1/skills/{skill}/versions/{version}/content");
    let request = Request::get(path).body(Body::empty());
    let request = request.map_err(|_| PageError::bad_request("this is no address of a skill"))?;
    let body = api.send(request).await?.into_body();
    let archive = axum::body::to_bytes(body, MAX_ARCHIVE_BYTES).await;
    let archive = archive.map_err(|error| PageError::internal("a skill cannot be read", &error))?;
    let read = move || Bundle::from_zip(&archive, &BundleLimits::default());
    let bundle = tokio::task::spawn_blocking(read).await;
    let bundle = bundle.map_err(|error| PageError::internal("a skill cannot be read", &error))?;
    bundle.map_err(|error| PageError::internal("a skill cannot be read", &error))
}
