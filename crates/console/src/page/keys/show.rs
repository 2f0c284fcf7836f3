//! `GET /console/keys/{key}`

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use serde_json::Value;

use super::chosen_tenant;
use super::fields::KeyFormFields;
use super::key_view::ShownKey;
use super::spent::{self, BudgetMeter};
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::{QueryFields, segment, with_query};
use crate::render::html;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    layout: Layout,
    fields: KeyFormFields,
    key: ShownKey,
    budget: Option<BudgetMeter>,
    is_saved: bool,
}

pub(super) async fn show(
    visitor: Visitor,
    Path(key): Path<String>,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let path = format!("/v1/admin/keys/{}", segment(&key));
    let path = with_query(&path, &[("tenant", chosen_tenant(&visitor))]);
    let answer: Value = visitor.api.get(&path).await?;
    let key = ShownKey::read(&answer);
    let budget = spent::find(&visitor, &key).await?;
    Ok(html(&KeyPage {
        layout: Layout::new(&visitor, key.name.clone(), Nav::Keys).with_curl(&path),
        fields: KeyFormFields::from_key(&key),
        key,
        budget,
        is_saved: query.is_set("saved"),
    }))
}
