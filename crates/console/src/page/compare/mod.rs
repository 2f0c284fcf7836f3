//! `/console/skills/{id}/compare`: what is different in another version.
//!
//! | module | owns |
//! |---|---|
//! | `comparison` | the difference of two versions, from an answer of the API or before an upload |

pub(super) mod comparison;

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;

use self::comparison::Comparison;
use super::skill::view::SkillView;
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::{QueryFields, segment, with_query};
use crate::render::html;
use crate::state::ConsoleState;
use crate::visitor::Visitor;

/// Versions that can be chosen from.
const MAX_VERSIONS: &str = "100";

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new().route("/console/skills/{skill}/compare", get(show))
}

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage {
    layout: Layout,
    skill: SkillView,
    from: String,
    to: String,
    versions: Vec<String>,
    comparison: Comparison,
    can_write: bool,
}

async fn show(
    visitor: Visitor,
    Path(skill): Path<String>,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let path = format!("/v1/skills/{}", segment(&skill));
    let answer: Value = visitor.api.get(&path).await?;
    let skill = SkillView::read(&answer);
    let pairs = [("from", query.get("from")), ("to", query.get("to"))];
    let compare_path = with_query(&format!("{path}/compare"), &pairs);
    let answer: Value = visitor.api.get(&compare_path).await?;
    let version = |side: &str| {
        let number = answer.pointer(&format!("/{side}/version"));
        number
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (from, to) = (version("from"), version("to"));
    let list = with_query(
        &format!("{path}/versions"),
        &[("limit", Some(MAX_VERSIONS))],
    );
    let listed: Value = visitor.api.get(&list).await?;
    let listed = listed.get("data").and_then(Value::as_array);
    let numbers = listed
        .into_iter()
        .flatten()
        .filter_map(|it| it.get("version"));
    let mut versions: Vec<String> = numbers
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    for shown in [&from, &to] {
        if !versions.contains(shown) {
            versions.push(shown.clone());
        }
    }
    let title = format!("{}: {from} and {to}", skill.name);
    let page = ComparePage {
        layout: Layout::new(&visitor, title, Nav::Skills).with_curl(&compare_path),
        comparison: Comparison::read(answer)?,
        can_write: visitor.can_write && to != skill.default_version,
        skill,
        from,
        to,
        versions,
    };
    Ok(html(&page))
}
