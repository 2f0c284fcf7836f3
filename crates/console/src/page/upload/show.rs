//! `GET /console/upload`

use askama::Template;
use axum::response::Response;
use serde_json::Value;

use super::checked::CheckedUpload;
use crate::api::PageError;
use crate::format::text;
use crate::layout::{Layout, Nav};
use crate::query::{QueryFields, segment};
use crate::render::html;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "upload.html")]
pub(super) struct UploadPage {
    pub(super) layout: Layout,
    /// The skill that gets a version; its id and name.
    pub(super) target: Option<(String, String)>,
    /// What was checked, if anything was.
    pub(super) checked: Option<CheckedUpload>,
}

pub(super) async fn show(
    visitor: Visitor,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let target = find_target(&visitor, query.get("skill")).await?;
    Ok(html(&UploadPage::new(&visitor, target, None)))
}

impl UploadPage {
    pub(super) fn new(
        visitor: &Visitor,
        target: Option<(String, String)>,
        checked: Option<CheckedUpload>,
    ) -> UploadPage {
        UploadPage {
            layout: Layout::new(visitor, "Upload", Nav::Skills),
            target,
            checked,
        }
    }
}

/// The skill that the address names.
pub(super) async fn find_target(
    visitor: &Visitor,
    id: Option<&str>,
) -> Result<Option<(String, String)>, PageError> {
    let Some(id) = id else {
        return Ok(None);
    };
    let path = format!("/v1/skills/{}", segment(id));
    let skill: Value = visitor.api.get(&path).await?;
    Ok(Some((text(&skill, "id"), text(&skill, "name"))))
}
