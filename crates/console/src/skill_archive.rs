//! The files of a version of a skill: their list, one of them, or all as an archive, which is read
//! within the limits of uploads; nothing is unpacked to a disk.

use std::sync::Arc;

use axum::body::Body;
use http::{Request, Response};
use prowess_server::UploadPermit;
use prowess_skill::{Bundle, BundleLimits};
use serde::Deserialize;

use crate::api::{Api, PageError};
use crate::query::{segment, with_query};

/// Bytes of an archive.
const MAX_ARCHIVE_BYTES: usize = 64 << 20;

/// A file of a version, without its content.
#[derive(Debug, Deserialize)]
pub(crate) struct SkillFileEntry {
    pub(crate) path: String,
    pub(crate) size_bytes: u64,
    pub(crate) executable: bool,
}

#[derive(Deserialize)]
struct FileList {
    data: Vec<SkillFileEntry>,
}

/// The files of a version: its number, id, label, `latest` or `default`.
pub(crate) async fn list_files(
    api: &Api,
    skill: &str,
    version: &str,
) -> Result<Vec<SkillFileEntry>, PageError> {
    let path = format!("{}/files", version_path(skill, version));
    let list: FileList = api.get(&path).await?;
    Ok(list.data)
}

/// One file of a version, as a response whose body is its content.
pub(crate) async fn open_file(
    api: &Api,
    skill: &str,
    version: &str,
    path: &str,
) -> Result<Response<Body>, PageError> {
    let place = format!("{}/file", version_path(skill, version));
    api.send(request(&with_query(&place, &[("path", Some(path))]))?)
        .await
}

/// All files of a version, with their content. The permit is held while they are unpacked.
pub(crate) async fn load_bundle(
    api: &Api,
    skill: &str,
    version: &str,
    permit: &Arc<UploadPermit>,
) -> Result<Bundle, PageError> {
    let path = format!("{}/content", version_path(skill, version));
    let body = api.send(request(&path)?).await?.into_body();
    let archive = axum::body::to_bytes(body, MAX_ARCHIVE_BYTES).await;
    let archive = archive.map_err(|error| PageError::internal("a skill cannot be read", &error))?;
    let read = move || Bundle::from_zip(&archive, &BundleLimits::default());
    let bundle = permit.run(read).await;
    let bundle = bundle.map_err(|error| PageError::internal("a skill cannot be read", &error))?;
    bundle.map_err(|error| PageError::internal("a skill cannot be read", &error))
}

fn version_path(skill: &str, version: &str) -> String {
    let (skill, version) = (segment(skill), segment(version));
    format!("/v1/skills/{skill}/versions/{version}")
}

fn request(path: &str) -> Result<Request<Body>, PageError> {
    let request = Request::get(path).body(Body::empty());
    request.map_err(|_| PageError::bad_request("this address does not name a skill"))
}
