//! `GET /v1beta/files/{file}` and `GET /v1beta/files/{file}:download`, with which Google's
//! SDKs fetch generated files.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::FileRecord;
use serde_json::{Value, json};

use super::ProviderFileRequest;
use super::content::content;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::PathParams;

/// Suffix of a path that requests the content.
const DOWNLOAD_SUFFIX: &str = ":download";

pub(super) async fn get(
    app: State<App>,
    dialect: ApiDialect,
    principal: Principal,
    provider_request: ProviderFileRequest,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    if let Some(id) = id.strip_suffix(DOWNLOAD_SUFFIX) {
        return content(
            app,
            dialect,
            principal,
            provider_request,
            PathParams(id.to_owned()),
        )
        .await;
    }
    principal.require(Permission::ReadFiles)?;
    let file = app.store().file(&principal.tenant, &id).await?;
    Ok(Json(file_json(&file)).into_response())
}

/// A file in Google's format, in which sizes are strings.
fn file_json(file: &FileRecord) -> Value {
    let name = format!("files/{}", file.id);
    let time = |seconds: i64| {
        let at = jiff::Timestamp::from_second(seconds).unwrap_or_default();
        at.to_string()
    };
    json!({
        "name": name,
        "displayName": file.name,
        "mimeType": file.mime,
        "sizeBytes": file.size.to_string(),
        "createTime": time(file.created_at.as_seconds()),
        "expirationTime": file.expires_at.map(|at| time(at.as_seconds())),
        "uri": name,
        "downloadUri": format!("{name}{DOWNLOAD_SUFFIX}"),
        "state": "ACTIVE",
        "source": if file.downloadable { "GENERATED" } else { "UPLOADED" },
    })
}
