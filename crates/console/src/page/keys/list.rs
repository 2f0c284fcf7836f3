//! `GET /console/keys`

use askama::Template;
use axum::response::Response;
use serde_json::Value;

use super::chosen_tenant;
use super::fields::KeyFormFields;
use super::key_view::ShownKey;
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::{QueryFields, with_query};
use crate::render::html;
use crate::visitor::Visitor;

/// Keys on one page.
const PAGE_KEYS: &str = "50";

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    layout: Layout,
    keys: Vec<ShownKey>,
    fields: KeyFormFields,
    next: Option<String>,
    is_later: bool,
    is_operator: bool,
    /// The tenant of a new key, unless another is named.
    tenant: String,
    is_revoked: bool,
}

pub(super) async fn list(
    visitor: Visitor,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let page = query.get("page");
    let pairs = [
        ("limit", Some(PAGE_KEYS)),
        ("page", page),
        ("tenant", chosen_tenant(&visitor)),
    ];
    let path = with_query("/v1/admin/keys", &pairs);
    let answer: Value = visitor.api.get(&path).await?;
    let keys = answer.get("data").and_then(Value::as_array);
    let next = answer.get("next_page").and_then(Value::as_str);
    Ok(html(&KeysPage {
        layout: Layout::new(&visitor, "Keys", Nav::Keys).with_curl(&path),
        keys: keys.into_iter().flatten().map(ShownKey::read).collect(),
        fields: KeyFormFields::for_new_key(),
        next: next.map(|next| with_query("/console/keys", &[("page", Some(next))])),
        is_later: page.is_some(),
        is_operator: visitor.is_operator,
        tenant: chosen_tenant(&visitor).unwrap_or_default().to_owned(),
        is_revoked: query.is_set("revoked"),
    }))
}
