//! Changes of one key: its limits, its secret, its end.

use axum::extract::Path;
use axum::response::{Redirect, Response};
use serde_json::{Value, json};

use super::{SecretPage, chosen_tenant, limits};
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::{FormFields, segment, with_query};
use crate::render::html;
use crate::visitor::Visitor;

const SECONDS_PER_HOUR: u64 = 3_600;

/// `POST /console/keys/{key}`
pub(super) async fn change_limits(
    visitor: Visitor,
    Path(key): Path<String>,
    FormFields(form): FormFields,
) -> Result<Redirect, PageError> {
    let body = Value::Object(limits::read(&form, true)?);
    let path = key_path(&visitor, &key, "");
    let _: Value = visitor.api.patch(&path, &body).await?;
    let key = segment(&key);
    Ok(Redirect::to(&format!("/console/keys/{key}?saved=1")))
}

/// `POST /console/keys/{key}/rotate`: a new secret, which is shown this once.
pub(super) async fn rotate(
    visitor: Visitor,
    Path(key): Path<String>,
    FormFields(form): FormFields,
) -> Result<Response, PageError> {
    let hours: Option<u64> = form.number("grace_hours")?;
    let grace = hours.unwrap_or_default().saturating_mul(SECONDS_PER_HOUR);
    let body = json!({ "grace_seconds": grace });
    let path = key_path(&visitor, &key, "/rotate");
    let rotated: Value = visitor.api.post(&path, &body).await?;
    let layout = Layout::new(&visitor, "New secret", Nav::Keys);
    Ok(html(&SecretPage::new(layout, &rotated, true)))
}

/// `POST /console/keys/{key}/revoke`
pub(super) async fn revoke(
    visitor: Visitor,
    Path(key): Path<String>,
) -> Result<Redirect, PageError> {
    visitor.api.delete(&key_path(&visitor, &key, "")).await?;
    Ok(Redirect::to("/console/keys?revoked=1"))
}

fn key_path(visitor: &Visitor, key: &str, below: &str) -> String {
    let path = format!("/v1/admin/keys/{}{below}", segment(key));
    with_query(&path, &[("tenant", chosen_tenant(visitor))])
}
