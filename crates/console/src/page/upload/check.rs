//! `POST /console/upload/check`: what the checks say of uploaded skills. Nothing is published;
//! those that pass wait for it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use prowess_server::UploadPermit;
use prowess_skill::compare::compare;
use prowess_skill::scan::{ScanLimits, Subject, scan};
use prowess_skill::{ArchiveLayout, Bundle, BundleLimits, LoadOptions, Profile, Skill};
use serde_json::Value;

use super::checked::{CheckedSkill, CheckedUpload, ExistingSkill};
use super::form;
use super::group::{FileGroup, GroupContent, group};
use super::show::{UploadPage, find_target};
use crate::api::PageError;
use crate::format::text;
use crate::page::compare::comparison::Comparison;
use crate::pending_uploads::PendingUpload;
use crate::query::{segment, with_query};
use crate::render::html;
use crate::skill_archive::load_bundle;
use crate::state::ConsoleState;
use crate::visitor::{HX_REQUEST, Visitor};

/// Skills of one upload that are checked.
const MAX_SKILLS: usize = 20;

/// A skill that passed, before it is compared.
struct PassedSkill {
    skill: Skill,
    zip: Bytes,
}

pub(super) async fn check(
    State(state): State<ConsoleState>,
    visitor: Visitor,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, PageError> {
    if !visitor.can_write {
        return Err(PageError {
            status: StatusCode::FORBIDDEN,
            message: "your key lacks the scope publish, which uploading needs".to_owned(),
        });
    }
    let permit = Arc::new(visitor.api.acquire_upload().await?);
    let mut form = visitor.api.open_form(request).await?;
    let sent = form::read(&mut form).await?;
    if sent.files.is_empty() {
        return Err(PageError::bad_request("no file was chosen"));
    }
    let target = find_target(&visitor, sent.skill.as_deref()).await?;
    let (mut groups, strays) = group(sent.files);
    let left_out = groups.len().saturating_sub(MAX_SKILLS);
    groups.truncate(MAX_SKILLS);
    let mut skills = Vec::with_capacity(groups.len());
    for group in groups {
        let target = target.as_ref().map(|(id, _)| id.as_str());
        skills.push(check_one(&state, &visitor, group, target, &permit).await?);
    }
    let checked = CheckedUpload {
        skills,
        strays,
        left_out,
    };
    if headers.contains_key(HX_REQUEST) {
        return Ok(html(&checked));
    }
    Ok(html(&UploadPage::new(&visitor, target, Some(checked))))
}

async fn check_one(
    state: &ConsoleState,
    visitor: &Visitor,
    group: FileGroup,
    target: Option<&str>,
    permit: &Arc<UploadPermit>,
) -> Result<CheckedSkill, PageError> {
    let limits = state.server.skill_limits();
    let work = permit.run(move || check_blocking(group, limits));
    let (mut checked, passed) = work.await.map_err(|error| failed(&error))?;
    let Some(passed) = passed else {
        return Ok(checked);
    };
    checked.existing = find_existing(visitor, &passed.skill.name, target).await?;
    let skill_id = checked.existing.as_ref().map(|skill| skill.id.clone());
    if let Some(existing) = &checked.existing {
        let default = load_bundle(
            &visitor.api,
            &existing.id,
            &existing.default_version,
            permit,
        )
        .await;
        // There is nothing to compare with if the default version is revoked.
        if let Ok(default) = default {
            let skill = passed.skill;
            let work = permit.run(move || compare_blocking(default, &skill));
            let comparison = work.await.map_err(|error| failed(&error))?;
            checked.comparison = comparison.map(Comparison::read).transpose()?;
        }
    }
    let waiting = PendingUpload {
        name: checked.name.clone().unwrap_or_default(),
        skill_id,
        zip: passed.zip,
    };
    checked.pending = state
        .pending
        .add(visitor.tenant.as_deref(), &visitor.owner, waiting);
    if checked.pending.is_none() {
        let full = "too many uploads wait to be published; try again later, or use the API";
        checked.refused = Some(full.to_owned());
    }
    Ok(checked)
}

fn failed(error: &dyn std::fmt::Display) -> PageError {
    PageError::internal("an upload could not be checked", error)
}

/// Reads, checks and scans, as the API does.
fn check_blocking(group: FileGroup, limits: BundleLimits) -> (CheckedSkill, Option<PassedSkill>) {
    let mut checked = CheckedSkill::new(group.title);
    let bundle = match group.content {
        GroupContent::Archive(file) => Bundle::from_archive(&file.data, &limits),
        GroupContent::Files(files) => {
            let files = files.into_iter().map(|file| (file.name, file.data));
            Bundle::from_bare_files(files, &limits)
        }
    };
    let bundle = match bundle {
        Ok(bundle) => bundle,
        Err(error) => {
            checked.refused = Some(error.to_string());
            return (checked, None);
        }
    };
    checked.set_size(bundle.len(), bundle.total_bytes());
    let layout = match bundle.folder().map(ArchiveLayout::wrapped) {
        Some(Ok(layout)) => layout,
        Some(Err(_)) | None => ArchiveLayout::FLAT,
    };
    let options = LoadOptions {
        limits,
        profile: Profile::Upload,
        ..LoadOptions::default()
    };
    let loaded = Skill::load(bundle, &options);
    let is_valid = loaded.is_valid();
    let source = loaded.source.as_ref().map(|source| source.text());
    checked.set_remarks(&loaded.diagnostics, source);
    let Some(skill) = loaded.skill else {
        checked.refused = Some(not_valid());
        return (checked, None);
    };
    checked.name = Some(skill.name.clone());
    checked.description = skill.description.clone();
    let report = scan(&Subject::from_skill(&skill), &ScanLimits::default());
    checked.set_scan(&report, |path| {
        let file = skill.bundle.get(path)?;
        std::str::from_utf8(&file.data).ok()
    });
    if !is_valid {
        checked.refused = Some(not_valid());
        return (checked, None);
    }
    let zip = match skill.bundle.to_zip(&layout) {
        Ok(zip) => Bytes::from(zip),
        Err(error) => {
            checked.refused = Some(error.to_string());
            return (checked, None);
        }
    };
    (checked, Some(PassedSkill { skill, zip }))
}

fn not_valid() -> String {
    "the errors below prevent publishing: correct them and upload it again".to_owned()
}

/// What is different from the default version, in the form of the API.
fn compare_blocking(default: Bundle, skill: &Skill) -> Option<Value> {
    let default = Skill::load(default, &LoadOptions::default()).skill?;
    serde_json::to_value(compare(&default, skill)).ok()
}

/// The skill that gets a version: the one that was named, or the one of the same name.
async fn find_existing(
    visitor: &Visitor,
    name: &str,
    target: Option<&str>,
) -> Result<Option<ExistingSkill>, PageError> {
    let found: Value = match target {
        Some(id) => {
            let path = format!("/v1/skills/{}", segment(id));
            visitor.api.get(&path).await?
        }
        None => {
            let pairs = [("name", Some(name)), ("limit", Some("1"))];
            let path = with_query("/v1/skills", &pairs);
            let mut list: Value = visitor.api.get(&path).await?;
            match list.pointer_mut("/data/0") {
                Some(skill) => skill.take(),
                None => return Ok(None),
            }
        }
    };
    let id = text(&found, "id");
    Ok(Some(ExistingSkill {
        href: format!("/console/skills/{}", segment(&id)),
        id,
        default_version: text(&found, "default_version"),
    }))
}
