//! `GET /v1/containers/{container}/files/{file}/preview?page=…`: a page of a PDF file in a
//! container as a picture. OpenAI's API has no such route.

use axum::extract::State;
use axum::response::Response;

use super::content::content;
use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::route::files::ProviderFileRequest;
use crate::route::pdf_preview::{draw_page, page_number};

pub(crate) async fn preview(
    State(app): State<App>,
    principal: Principal,
    provider_request: ProviderFileRequest,
    ids: PathParams<(String, String)>,
    query: Query,
) -> Result<Response, HttpError> {
    let number = page_number(&query)?;
    let tenant = principal.tenant.clone();
    let content = content(State(app.clone()), principal, provider_request, ids);
    draw_page(&app, &tenant, content.await?, number).await
}
