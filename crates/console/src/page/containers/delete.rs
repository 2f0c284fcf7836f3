//! `POST /console/containers/{container}/delete`

use axum::extract::Path;
use axum::response::Redirect;

use crate::api::PageError;
use crate::query::segment;
use crate::visitor::Visitor;

pub(crate) async fn delete(
    visitor: Visitor,
    Path(container): Path<String>,
) -> Result<Redirect, PageError> {
    let path = format!("/v1/containers/{}", segment(&container));
    visitor.api.delete(&path).await?;
    Ok(Redirect::to("/console/containers"))
}
