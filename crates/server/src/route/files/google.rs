//! `GET /v1beta/files/{file}` and `GET /v1beta/files/{file}:download`, as Google's SDKs ask
//! for files that a model made.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::FileRecord;
use serde_json::{Value, json};

use super::Visitor;
use super::content::content;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::Path;

/// How a path ends that asks for the bytes.
const DOWNLOAD: &str = ":download";

pub(super) async fn get(
    app: State<App>,
    dialect: Dialect,
    caller: Caller,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    if let Some(id) = id.strip_suffix(DOWNLOAD) {
        return content(app, dialect, caller, visitor, Path(id.to_owned())).await;
    }
    caller.may(Need::ReadFiles)?;
    let file = app.store().file(&caller.tenant, &id).await?;
    Ok(Json(told(&file)).into_response())
}

/// A file as Google's API tells of one. Sizes are text there.
fn told(file: &FileRecord) -> Value {
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
        "downloadUri": format!("{name}{DOWNLOAD}"),
        "state": "ACTIVE",
        "source": if file.downloadable { "GENERATED" } else { "UPLOADED" },
    })
}
