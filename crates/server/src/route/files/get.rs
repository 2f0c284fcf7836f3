//! `GET /v1/files/{file}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::Error as StoreError;

use super::{FileShape, ProviderFileRequest, google};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::{ApiDialect, IsGoogle};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::render;

pub(crate) async fn get(
    State(app): State<App>,
    dialect: ApiDialect,
    IsGoogle(is_google): IsGoogle,
    principal: Principal,
    provider_request: ProviderFileRequest,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    if is_google {
        return google::get(
            State(app),
            dialect,
            principal,
            provider_request,
            PathParams(id),
        )
        .await;
    }
    principal.require(Permission::ReadFiles)?;
    let file = match app.store().file(&principal.tenant, &id).await {
        Err(missing @ StoreError::NotFound { .. }) => {
            let found = provider_request
                .find_file(&app, &principal, &id, missing)
                .await?;
            return found.metadata(FileShape::File).await;
        }
        found => found?,
    };
    let body = match dialect {
        ApiDialect::Anthropic(_) => render::anthropic::file(&file),
        ApiDialect::OpenAi => render::openai::file(&file),
    };
    Ok(Json(body).into_response())
}
