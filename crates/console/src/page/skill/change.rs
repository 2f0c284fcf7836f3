//! What the forms on the page of a skill do. The API checks scopes and values; afterwards the
//! browser is sent back to the page, so that reloading it does nothing twice.

use axum::extract::Path;
use axum::response::Redirect;
use serde_json::{Value, json};

use crate::api::PageError;
use crate::query::{Fields, FormFields, segment};
use crate::visitor::Visitor;

type SkillIdPath = Path<String>;
type VersionPath = Path<(String, String)>;

pub(super) async fn set_default(
    visitor: Visitor,
    Path(skill): SkillIdPath,
    FormFields(form): FormFields,
) -> Result<Redirect, PageError> {
    let body = json!({ "default_version": required(&form, "version")? });
    let path = format!("/v1/skills/{}", segment(&skill));
    let _: Value = visitor.api.post(&path, &body).await?;
    Ok(back(&skill, "default"))
}

pub(super) async fn set_label(
    visitor: Visitor,
    Path(skill): SkillIdPath,
    FormFields(form): FormFields,
) -> Result<Redirect, PageError> {
    let path = label_path(&skill, required(&form, "label")?);
    let body = json!({ "version": required(&form, "version")? });
    let _: Value = visitor.api.post(&path, &body).await?;
    Ok(back(&skill, "label"))
}

pub(super) async fn delete_label(
    visitor: Visitor,
    Path(skill): SkillIdPath,
    FormFields(form): FormFields,
) -> Result<Redirect, PageError> {
    let path = label_path(&skill, required(&form, "label")?);
    visitor.api.delete(&path).await?;
    Ok(back(&skill, "label-deleted"))
}

pub(super) async fn set_notes(
    visitor: Visitor,
    Path((skill, version)): VersionPath,
    FormFields(form): FormFields,
) -> Result<Redirect, PageError> {
    let body = json!({ "notes": form.get("notes") });
    let path = version_path(&skill, &version);
    let _: Value = visitor.api.post(&path, &body).await?;
    Ok(back(&skill, "notes"))
}

pub(super) async fn revoke(
    visitor: Visitor,
    Path((skill, version)): VersionPath,
    FormFields(form): FormFields,
) -> Result<Redirect, PageError> {
    let mut body = json!({ "reason": required(&form, "reason")? });
    if let (Some(to), Some(body)) = (form.get("move_to"), body.as_object_mut()) {
        body.insert("move_to".to_owned(), to.into());
    }
    let path = format!("{}/revoke", version_path(&skill, &version));
    let _: Value = visitor.api.post(&path, &body).await?;
    Ok(back(&skill, "revoked"))
}

pub(super) async fn restore(
    visitor: Visitor,
    Path((skill, version)): VersionPath,
) -> Result<Redirect, PageError> {
    let path = format!("{}/restore", version_path(&skill, &version));
    let _: Value = visitor.api.post(&path, &json!({})).await?;
    Ok(back(&skill, "restored"))
}

pub(super) async fn delete_version(
    visitor: Visitor,
    Path((skill, version)): VersionPath,
) -> Result<Redirect, PageError> {
    let path = version_path(&skill, &version);
    visitor.api.delete(&path).await?;
    Ok(back(&skill, "version-deleted"))
}

pub(super) async fn delete_skill(
    visitor: Visitor,
    Path(skill): SkillIdPath,
    FormFields(form): FormFields,
) -> Result<Redirect, PageError> {
    let path = format!("/v1/skills/{}", segment(&skill));
    let found: Value = visitor.api.get(&path).await?;
    let name = found.get("name").and_then(Value::as_str);
    if name.is_none() || form.get("confirm") != name {
        let message = "the name does not match, so nothing was deleted: go back and type it again";
        return Err(PageError::bad_request(message));
    }
    visitor.api.delete(&path).await?;
    Ok(Redirect::to("/console/skills"))
}

fn required<'a>(form: &'a Fields, name: &str) -> Result<&'a str, PageError> {
    let value = form.get(name);
    value.ok_or_else(|| PageError::bad_request(format!("{name}: this field is empty")))
}

fn version_path(skill: &str, version: &str) -> String {
    let (skill, version) = (segment(skill), segment(version));
    format!("/v1/skills/{skill}/versions/{version}")
}

fn label_path(skill: &str, label: &str) -> String {
    format!("/v1/skills/{}/labels/{}", segment(skill), segment(label))
}

/// The tab of versions, with a line that says what was done.
fn back(skill: &str, done: &'static str) -> Redirect {
    let skill = segment(skill);
    Redirect::to(&format!("/console/skills/{skill}?tab=versions&done={done}"))
}
