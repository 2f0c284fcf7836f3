//! `POST /console/keys`: a new key, whose secret is shown this once.

use axum::response::Response;
use serde_json::Value;

use super::{SecretPage, limits};
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::FormFields;
use crate::render::html;
use crate::visitor::Visitor;

pub(super) async fn create(
    visitor: Visitor,
    FormFields(form): FormFields,
) -> Result<Response, PageError> {
    let mut body = limits::read(&form, false)?;
    let name = form.get("name").unwrap_or_default();
    body.insert("name".to_owned(), name.into());
    let days: Option<u32> = form.number("expires_in_days")?;
    if let Some(days) = days {
        body.insert("expires_in_days".to_owned(), days.into());
    }
    if let Some(tenant) = form.get("tenant") {
        body.insert("tenant".to_owned(), tenant.into());
    }
    let created: Value = visitor
        .api
        .post("/v1/admin/keys", &Value::Object(body))
        .await?;
    let layout = Layout::new(&visitor, "Key created", Nav::Keys);
    Ok(html(&SecretPage::new(layout, &created, false)))
}
