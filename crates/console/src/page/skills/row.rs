//! A skill in the list, from either answer of the API: a page of skills, or a search.

use serde_json::Value;

use crate::format::{Moment, count, money, shorten, text};
use crate::query::segment;

/// Characters of a description that are shown.
const DESCRIPTION_CHARS: usize = 240;

/// A skill in the list.
#[derive(Debug)]
pub(super) struct SkillRow {
    pub(super) id: String,
    pub(super) href: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) default_version: String,
    pub(super) latest_version: String,
    pub(super) labels: Vec<String>,
    pub(super) created: Option<Moment>,
    /// Words of the search that it has.
    pub(super) matched: Vec<String>,
    /// What it was used for lately; none if no run had it.
    pub(super) usage: Option<RowUsage>,
}

impl SkillRow {
    pub(super) fn read(value: &Value) -> SkillRow {
        // A hit of a search is about a skill, and is none itself.
        let id = match text(value, "skill_id") {
            id if id.is_empty() => text(value, "id"),
            id => id,
        };
        let names = |list: &str, name: &str| -> Vec<String> {
            let list = value.get(list).and_then(Value::as_array);
            list.into_iter()
                .flatten()
                .map(|it| text(it, name))
                .collect()
        };
        SkillRow {
            href: format!("/console/skills/{}", segment(&id)),
            id,
            name: text(value, "name"),
            description: shorten(&text(value, "description"), DESCRIPTION_CHARS),
            default_version: text(value, "default_version"),
            latest_version: text(value, "latest_version"),
            labels: names("labels", "name"),
            created: Moment::from_json(value.get("created_at")),
            matched: names("matched", "word"),
            usage: None,
        }
    }
}

/// What one skill was used for.
#[derive(Debug, Default)]
pub(super) struct RowUsage {
    /// Runs that loaded it.
    pub(super) runs: String,
    /// Tokens in and out, and cost, for those who may see them.
    pub(super) tokens: String,
    pub(super) cost: String,
}

impl RowUsage {
    pub(super) fn read(value: &Value) -> RowUsage {
        let number = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
        let cost = value.get("cost").and_then(Value::as_f64);
        RowUsage {
            runs: count(number("runs_loaded")),
            tokens: count(number("input_tokens").saturating_add(number("output_tokens"))),
            cost: money(cost.unwrap_or_default()),
        }
    }
}
