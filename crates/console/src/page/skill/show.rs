//! The page of a skill.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use serde_json::Value;

use super::tab::TabContext;
use super::view::{SkillView, VersionView};
use super::{files, install, instructions, usage, versions};
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::{Fields, QueryFields, segment, with_query};
use crate::render::html;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "skill.html")]
struct SkillPage {
    layout: Layout,
    skill: SkillView,
    version: VersionView,
    tabs: Vec<TabLink>,
    /// The open tab, rendered by its own template.
    body: String,
    is_default: bool,
    is_latest: bool,
    can_write: bool,
    can_run: bool,
    /// What was just done.
    done: Option<&'static str>,
}

/// A tab of the page.
struct TabLink {
    href: String,
    label: &'static str,
    is_current: bool,
}

/// Name in the address, and label.
const TABS: [(&str, &str); 5] = [
    ("", "Instructions"),
    ("files", "Files"),
    ("versions", "Versions"),
    ("usage", "Usage"),
    ("install", "Use it"),
];

pub(super) async fn show_default(
    visitor: Visitor,
    Path(skill): Path<String>,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    show(&visitor, &skill, None, &query).await
}

pub(super) async fn show_version(
    visitor: Visitor,
    Path((skill, version)): Path<(String, String)>,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    show(&visitor, &skill, Some(&version), &query).await
}

async fn show(
    visitor: &Visitor,
    skill: &str,
    version: Option<&str>,
    query: &Fields,
) -> Result<Response, PageError> {
    let skill_path = format!("/v1/skills/{}", segment(skill));
    let answer: Value = visitor.api.get(&skill_path).await?;
    let skill = SkillView::read(&answer);
    let selector = version.unwrap_or(&skill.default_version);
    let version_path = format!("{skill_path}/versions/{}", segment(selector));
    let answer: Value = visitor.api.get(&version_path).await?;
    let chosen = VersionView::read(&skill, &answer);
    let here = match version {
        Some(_) => chosen.href.clone(),
        None => skill.href.clone(),
    };
    let tab = query.get("tab").unwrap_or_default();
    let tab = TABS.iter().map(|(name, _)| *name).find(|name| *name == tab);
    let tab = tab.unwrap_or_default();
    let context = TabContext {
        visitor,
        skill: &skill,
        version: &chosen,
        query,
        here: &here,
    };
    let body = match tab {
        "files" => files::render(&context).await?,
        "versions" => versions::render(&context).await?,
        "usage" => usage::render(&context).await?,
        "install" => install::render(&context)?,
        _ => instructions::render(&context).await?,
    };
    let layout = Layout::new(visitor, skill.name.clone(), Nav::Skills).with_curl(&version_path);
    let page = SkillPage {
        layout,
        tabs: tab_links(&here, tab),
        body,
        is_default: chosen.is_default(&skill),
        is_latest: chosen.number == skill.latest_version,
        can_write: visitor.can_write,
        can_run: visitor.has_scope("use"),
        done: query.get("done").and_then(done_text),
        version: chosen,
        skill,
    };
    Ok(html(&page))
}

fn tab_links(here: &str, current: &str) -> Vec<TabLink> {
    let link = |&(name, label): &(&str, &'static str)| TabLink {
        href: with_query(here, &[("tab", Some(name))]),
        label,
        is_current: name == current,
    };
    TABS.iter().map(link).collect()
}

/// What the address says was done: one of ours, or nothing.
fn done_text(done: &str) -> Option<&'static str> {
    Some(match done {
        "published" => "Published as a new version.",
        "unchanged" => "Nothing changed: the latest version has the same files.",
        "default" => "The default version is changed.",
        "label" => "The label is set.",
        "label-deleted" => "The label is deleted.",
        "notes" => "The notes are saved.",
        "revoked" => "The version is revoked: requests that name it are refused.",
        "restored" => "The version can be used again.",
        "version-deleted" => "The version is deleted.",
        _ => return None,
    })
}
