//! `GET /v1/skills/{skill}/versions/{version}/preview?path=…&page=…`: a page of a PDF file of a
//! version as a picture. No vendor has such a route, so all dialects get the same.

use axum::extract::State;
use axum::response::Response;

use super::file::file;
use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::route::pdf_preview::{draw_page, page_number};

pub(crate) async fn preview(
    State(app): State<App>,
    principal: Principal,
    ids: PathParams<(String, String)>,
    query: Query,
) -> Result<Response, HttpError> {
    let number = page_number(&query)?;
    let tenant = principal.tenant.clone();
    let content = file(State(app.clone()), principal, ids, query).await?;
    draw_page(&app, &tenant, content, number).await
}
