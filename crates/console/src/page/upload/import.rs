//! `POST /console/upload/import`: skills from a URL, by the API.

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};

use crate::api::PageError;
use crate::format::text;
use crate::layout::{Layout, Nav};
use crate::query::{FormFields, segment};
use crate::render::html;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "import.html")]
struct ImportPage {
    layout: Layout,
    url: String,
    rows: Vec<ImportRow>,
}

struct ImportRow {
    name: String,
    outcome: String,
    /// The colour of the outcome.
    badge: &'static str,
    href: Option<String>,
    version: String,
    error: String,
}

pub(super) async fn import(
    visitor: Visitor,
    FormFields(form): FormFields,
) -> Result<Response, PageError> {
    let url = form.get("url");
    let url = url.ok_or_else(|| PageError::bad_request("url: this field is empty"))?;
    let mut body = json!({ "url": url });
    if let (Some(skill), Some(body)) = (form.get("skill"), body.as_object_mut()) {
        body.insert("skill_id".to_owned(), skill.into());
    }
    let answer: Value = visitor.api.post("/v1/skills/import", &body).await?;
    let rows = answer.get("data").and_then(Value::as_array);
    Ok(html(&ImportPage {
        layout: Layout::new(&visitor, "Import", Nav::Skills),
        url: url.to_owned(),
        rows: rows.into_iter().flatten().map(ImportRow::read).collect(),
    }))
}

impl ImportRow {
    fn read(value: &Value) -> ImportRow {
        let outcome = text(value, "outcome");
        let badge = match outcome.as_str() {
            "created" => "ok",
            "unchanged" => "muted",
            _ => "bad",
        };
        let id = Some(text(value, "skill_id")).filter(|id| !id.is_empty());
        ImportRow {
            name: text(value, "name"),
            badge,
            outcome: match outcome.as_str() {
                "unchanged" => "nothing changed".to_owned(),
                _ => outcome,
            },
            href: id.map(|id| format!("/console/skills/{}", segment(&id))),
            version: text(value, "version"),
            error: text(value, "error"),
        }
    }
}
