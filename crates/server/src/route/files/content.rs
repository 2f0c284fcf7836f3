//! `GET /v1/files/{file}/content`

use std::fmt::Write as _;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use prowess_store::Error as StoreError;

use super::ProviderFileRequest;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn content(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    provider_request: ProviderFileRequest,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::ReadFiles)?;
    let (file, content) = match app.store().read_file(&principal.tenant, &id).await {
        Err(missing @ StoreError::NotFound { .. }) => {
            let found = provider_request
                .find_file(&app, &principal, &id, missing)
                .await?;
            return found.content().await;
        }
        found => found?,
    };
    if matches!(dialect, ApiDialect::Anthropic(_)) && !file.downloadable {
        let message =
            format!("file `{id}` was uploaded; only files created by a run can be downloaded");
        return Err(HttpError::bad_request("file_not_downloadable", message));
    }
    // Browsers must save it and not execute it.
    let headers = [
        (CONTENT_TYPE, file.mime.clone()),
        (CONTENT_LENGTH, file.size.to_string()),
        (CONTENT_DISPOSITION, content_disposition(&file.name)),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    Ok((headers, Body::from_stream(content)).into_response())
}

/// The file name in the encoding for any text (RFC 6266).
fn content_disposition(name: &str) -> String {
    let mut header = "attachment; filename*=UTF-8''".to_owned();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') {
            header.push(char::from(byte));
        } else {
            let _ = write!(header, "%{byte:02X}");
        }
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_fits_in_the_header() {
        let header = content_disposition("résumé \"q\".pdf");
        assert_eq!(
            header,
            "attachment; filename*=UTF-8''r%C3%A9sum%C3%A9%20%22q%22.pdf"
        );
    }
}
