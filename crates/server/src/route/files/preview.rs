//! `GET /v1/files/{file}/preview?page=…`: a page of a PDF file as a picture. No vendor has such
//! a route, so all dialects get the same.

use axum::extract::State;
use axum::response::Response;

use super::ProviderFileRequest;
use super::content::content;
use crate::app::App;
use crate::auth::Principal;
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::route::pdf_preview::{draw_page, page_number};

pub(crate) async fn preview(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    provider_request: ProviderFileRequest,
    id: PathParams<String>,
    query: Query,
) -> Result<Response, HttpError> {
    let number = page_number(&query)?;
    let tenant = principal.tenant.clone();
    let content = content(State(app.clone()), dialect, principal, provider_request, id);
    draw_page(&app, &tenant, content.await?, number).await
}
