//! `POST /console/runs/{run}/cancel`

use axum::extract::Path;
use axum::response::Redirect;
use serde_json::{Value, json};

use super::answer::run_path;
use crate::api::PageError;
use crate::query::{FormFields, segment, with_query};
use crate::visitor::Visitor;

/// Stops a run, and shows what it has done.
pub(crate) async fn cancel(
    visitor: Visitor,
    Path(run): Path<String>,
    FormFields(form): FormFields,
) -> Result<Redirect, PageError> {
    let path = format!("{}/cancel", run_path(&run));
    let _: Value = visitor.api.post(&path, &json!({})).await?;
    let page = format!("/console/runs/{}", segment(&run));
    let page = with_query(&page, &[("beside", form.get("beside"))]);
    Ok(Redirect::to(&page))
}
