//! The public skills.

use std::collections::BTreeMap;
use std::sync::Arc;

use prowess_skill::upload::is_portable_name;
use prowess_store::{
    MAX_PAGE_ITEMS, PageRequest, ResolvedSkill, SkillFilter, TenantId, VersionSelector,
};

use super::not_found_error;
use crate::app::App;
use crate::connections::current;
use crate::error::HttpError;
use crate::form::transfers::PublicPermit;

/// The public tenant, if configured.
pub(super) fn public_tenant(app: &App) -> Result<&TenantId, HttpError> {
    let tenant = app.settings().index_tenant.as_ref();
    tenant.ok_or_else(|| {
        let message = "this server publishes no skill index; to publish a tenant's skills, set \
            index_tenant under [server] in prowess.toml";
        HttpError::new(axum::http::StatusCode::NOT_FOUND, "index-off", message)
    })
}

/// All public skills by name, at most one page of the store. Of two with the same name the
/// newer one is used, as in [`find_skill`].
pub(super) async fn list_skills(
    app: &App,
) -> Result<BTreeMap<String, Arc<ResolvedSkill>>, HttpError> {
    let tenant = public_tenant(app)?;
    let _permit = acquire_permit(app).await?;
    let page = PageRequest {
        limit: MAX_PAGE_ITEMS,
        ..PageRequest::default()
    };
    let filter = SkillFilter::default();
    let skills = app.store().list_skills(tenant, &filter, &page).await?.items;
    let mut by_name = BTreeMap::new();
    for skill in skills
        .into_iter()
        .filter(|skill| is_portable_name(&skill.name))
    {
        if by_name.contains_key(&skill.name) {
            continue;
        }
        let version = VersionSelector::Default;
        // It may have been deleted since it was listed.
        match app.store().resolve(tenant, &skill.id, &version).await {
            Ok(resolved) => drop(by_name.insert(skill.name, resolved)),
            Err(error) if error.is_transient() => return Err(error.into()),
            Err(error) => tracing::warn!(skill = skill.id, %error, "skill omitted from the index"),
        }
    }
    Ok(by_name)
}

/// One public skill by name.
pub(super) async fn find_skill(app: &App, name: &str) -> Result<Arc<ResolvedSkill>, HttpError> {
    let tenant = public_tenant(app)?;
    if !is_portable_name(name) {
        return Err(not_found_error(name));
    }
    let _permit = acquire_permit(app).await?;
    let filter = SkillFilter {
        name: Some(name.to_owned()),
        ..SkillFilter::default()
    };
    let page = PageRequest {
        limit: 1,
        ..PageRequest::default()
    };
    let skills = app.store().list_skills(tenant, &filter, &page).await?.items;
    let skill = skills.first().ok_or_else(|| not_found_error(name))?;
    let version = VersionSelector::Default;
    Ok(app.store().resolve(tenant, &skill.id, &version).await?)
}

/// A permit to ask the store for somebody without a key.
async fn acquire_permit(app: &App) -> Result<PublicPermit, HttpError> {
    let transfers = app.transfers();
    transfers.acquire_public_list(current::network()).await
}
