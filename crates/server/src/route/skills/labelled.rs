//! Adds labels to rendered skills and versions, with one query for all of them.

use prowess_store::TenantId;
use serde_json::Value;

use crate::app::App;
use crate::error::HttpError;
use crate::render::release;

/// Adds the labels of skills to their objects.
pub(super) async fn add_to_skills(
    app: &App,
    tenant: &TenantId,
    skills: &mut [Value],
) -> Result<(), HttpError> {
    let ids = skills.iter().filter_map(|skill| skill.get("id")?.as_str());
    let ids: Vec<&str> = ids.collect();
    let labels = app.store().skill_labels(tenant, &ids).await?;
    for skill in skills {
        let own = release::labels_of(skill, &labels);
        release::add_skill_labels(skill, own, &app.settings().protected_labels);
    }
    Ok(())
}

/// The object of a skill with its labels.
pub(super) async fn skill(app: &App, tenant: &TenantId, skill: Value) -> Result<Value, HttpError> {
    let mut skills = [skill];
    add_to_skills(app, tenant, &mut skills).await?;
    let [skill] = skills;
    Ok(skill)
}

/// Adds the labels of a skill's versions to their objects.
pub(super) async fn add_to_versions(
    app: &App,
    tenant: &TenantId,
    skill: &str,
    versions: &mut [Value],
) -> Result<(), HttpError> {
    let labels = app.store().skill_labels(tenant, &[skill]).await?;
    let labels = labels.get(skill).map_or(&[][..], Vec::as_slice);
    for version in versions {
        release::add_version_labels(version, labels);
    }
    Ok(())
}

/// The object of a version with its labels.
pub(super) async fn version(
    app: &App,
    tenant: &TenantId,
    skill: &str,
    version: Value,
) -> Result<Value, HttpError> {
    let mut versions = [version];
    add_to_versions(app, tenant, skill, &mut versions).await?;
    let [version] = versions;
    Ok(version)
}
