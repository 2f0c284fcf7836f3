//! `DELETE /v1/files/{file}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::Error as StoreError;

use super::{FileShape, ProviderFileRequest};
use crate::app::App;
use crate::audit::{AuditedStore, ChangedElsewhere};
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::render;

pub(crate) async fn delete(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    provider_request: ProviderFileRequest,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::WriteFiles)?;
    match store.delete_file(&principal.tenant, &id).await {
        Err(missing @ StoreError::NotFound { .. }) => {
            let found = provider_request
                .find_file(&app, &principal, &id, missing)
                .await?;
            let mut response = found.delete(FileShape::File).await?;
            response.extensions_mut().insert(ChangedElsewhere);
            return Ok(response);
        }
        deleted => deleted?,
    }
    let body = match dialect {
        ApiDialect::Anthropic(_) => render::anthropic::deleted(&id, "file_deleted"),
        ApiDialect::OpenAi => render::openai::deleted(&id, "file"),
    };
    Ok(Json(body).into_response())
}
