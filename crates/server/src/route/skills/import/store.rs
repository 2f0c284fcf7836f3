//! One fetched skill to a version, or the reason against it.

use std::sync::Arc;

use prowess_skill::BundleLimits;
use prowess_source::url::FetchedSkill;
use prowess_store::{
    NewSkill, NewVersion, PageRequest, SkillFilter, Store, TenantId, UnchangedRule, UploadOutcome,
    UploadedVersion,
};
use prowess_wire::excerpt;
use serde_json::{Value, json};

use crate::error::HttpError;
use crate::form::transfers::TransferPermit;
use crate::intake::{self, UploadedSkill};

/// Where imported skills are stored.
pub(super) struct ImportTarget<'a> {
    pub(super) store: &'a Store,
    pub(super) tenant: &'a TenantId,
    pub(super) limits: &'a BundleLimits,
    /// Of the import: the checks of a skill keep it until they end.
    pub(super) permit: &'a Arc<TransferPermit>,
    /// The skill to create a version of; else the one of the same name.
    pub(super) skill_id: Option<&'a str>,
    pub(super) notes: Option<&'a str>,
    pub(super) make_default: bool,
}

/// Which skill gets the version.
enum VersionOwner {
    New,
    Skill(String),
}

impl ImportTarget<'_> {
    /// Stores a skill and returns its entry of the response. A skill that is refused does not
    /// prevent others from being stored; an error is one of the store.
    pub(super) async fn import(&self, fetched: &FetchedSkill) -> Result<Value, HttpError> {
        let name = fetched.place_name.as_deref();
        let bundle = fetched.bundle().clone();
        let checked = intake::check_bundle(bundle, name, self.limits, self.permit).await;
        let checked = match checked {
            Ok(checked) => checked,
            Err(error) if error.status.is_client_error() => {
                return Ok(refused(name, Some(&fetched.url), &error.message));
            }
            Err(error) => return Err(error),
        };
        let own_name = checked.skill.name.clone();
        if fetched.listed && name != Some(own_name.as_str()) {
            let why = format!("its SKILL.md is named `{}`", excerpt(&own_name));
            return Ok(refused(name, Some(&fetched.url), &why));
        }
        match self.store_checked(&checked).await {
            Ok((uploaded, is_new)) => Ok(imported(&uploaded, is_new, &fetched.url)),
            Err(error) if error.status.is_client_error() => {
                Ok(refused(Some(&own_name), Some(&fetched.url), &error.message))
            }
            Err(error) => Err(error),
        }
    }

    /// The version, and whether its skill is new.
    async fn store_checked(
        &self,
        checked: &UploadedSkill,
    ) -> Result<(UploadedVersion, bool), HttpError> {
        let version = NewVersion {
            scan: Some(&checked.scan),
            make_default: self.make_default,
            notes: self.notes,
            unchanged: UnchangedRule::KeepLatest,
            ..NewVersion::from_skill(&checked.skill)
        };
        let (store, tenant) = (self.store, self.tenant);
        match self.owner(&checked.skill.name).await? {
            VersionOwner::Skill(id) => {
                let uploaded = store.create_version(tenant, &id, &version).await?;
                Ok((uploaded, false))
            }
            VersionOwner::New => {
                let new = NewSkill {
                    version,
                    ..NewSkill::from_skill(&checked.skill)
                };
                Ok((store.create_skill(tenant, &new).await?, true))
            }
        }
    }

    async fn owner(&self, name: &str) -> Result<VersionOwner, HttpError> {
        if let Some(id) = self.skill_id {
            return Ok(VersionOwner::Skill(id.to_owned()));
        }
        let filter = SkillFilter {
            name: Some(name.to_owned()),
            ..SkillFilter::default()
        };
        let page = PageRequest {
            limit: 2,
            ..PageRequest::default()
        };
        let found = self.store.list_skills(self.tenant, &filter, &page).await?;
        match found.items.as_slice() {
            [] => Ok(VersionOwner::New),
            [one] => Ok(VersionOwner::Skill(one.id.clone())),
            _ => {
                let message = format!(
                    "several skills are named `{}`; say with `skill_id` which one gets the version",
                    excerpt(name)
                );
                Err(HttpError::bad_request("skill-name-ambiguous", message))
            }
        }
    }
}

fn imported(uploaded: &UploadedVersion, is_new: bool, url: &str) -> Value {
    let version = &uploaded.version;
    let outcome = match uploaded.outcome {
        UploadOutcome::Created | UploadOutcome::Repeated => "created",
        UploadOutcome::Unchanged => "unchanged",
    };
    json!({
        "name": version.name,
        "url": url,
        "outcome": outcome,
        "created_skill": is_new,
        "skill_id": version.skill,
        "version": version.ordinal.to_string(),
        "version_id": version.id,
        "digest": version.digest.to_string(),
        "error": null,
    })
}

/// The entry of a skill that is not stored.
pub(super) fn refused(name: Option<&str>, url: Option<&str>, why: &str) -> Value {
    json!({
        "name": name,
        "url": url,
        "outcome": "refused",
        "created_skill": false,
        "skill_id": null,
        "version": null,
        "version_id": null,
        "digest": null,
        "error": why,
    })
}
