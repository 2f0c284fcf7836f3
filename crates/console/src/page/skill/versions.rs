//! The tab with all versions: labels, notes, default, and what can be done with each.

use askama::Template;
use serde_json::Value;

use super::tab::{TabContext, render_tab};
use super::view::{LabelView, VersionView};
use crate::api::PageError;
use crate::query::{segment, with_query};

/// Versions on one page.
const PAGE_VERSIONS: &str = "30";

#[derive(Template)]
#[template(path = "skill_versions.html")]
struct VersionsTab<'a> {
    /// The page of the skill.
    href: &'a str,
    name: &'a str,
    labels: &'a [LabelView],
    versions: Vec<VersionRow>,
    next: Option<String>,
    can_write: bool,
}

struct VersionRow {
    version: VersionView,
    is_default: bool,
    /// The comparison with the default version.
    compare: String,
}

pub(super) async fn render(context: &TabContext<'_>) -> Result<String, PageError> {
    let skill = context.skill;
    let path = format!("/v1/skills/{}/versions", segment(&skill.id));
    let after = context.query.get("after");
    let path = with_query(&path, &[("limit", Some(PAGE_VERSIONS)), ("after", after)]);
    let answer: Value = context.visitor.api.get(&path).await?;
    let data = answer.get("data").and_then(Value::as_array);
    let row = |value: &Value| {
        let version = VersionView::read(skill, value);
        let pairs = [
            ("from", Some(skill.default_version.as_str())),
            ("to", Some(version.number.as_str())),
        ];
        VersionRow {
            is_default: version.is_default(skill),
            compare: with_query(&format!("{}/compare", skill.href), &pairs),
            version,
        }
    };
    let versions: Vec<VersionRow> = data.into_iter().flatten().map(row).collect();
    let has_more = answer.get("has_more").and_then(Value::as_bool) == Some(true);
    let next = versions.last().filter(|_| has_more).map(|last| {
        let pairs = [
            ("tab", Some("versions")),
            ("after", Some(last.version.id.as_str())),
        ];
        with_query(context.here, &pairs)
    });
    render_tab(&VersionsTab {
        href: &skill.href,
        name: &skill.name,
        labels: &skill.labels,
        versions,
        next,
        can_write: context.visitor.can_write,
    })
}
