//! What the listed skills were used for in the last days, by one call of the API for all of them.

use std::collections::HashMap;

use serde_json::Value;

use super::row::{RowUsage, SkillRow};
use crate::api::PageError;
use crate::format::text;
use crate::query::with_query;
use crate::visitor::Visitor;

/// Days that are looked back.
pub(super) const DAYS: &str = "30";

/// Adds their usage to rows, if the visitor may see it. Returns which columns there are: runs,
/// and what they took.
pub(super) async fn add_usage(
    visitor: &Visitor,
    rows: &mut [SkillRow],
) -> Result<(bool, bool), PageError> {
    let (sees_runs, sees_costs) = (visitor.has_scope("use"), visitor.has_scope("admin"));
    if !sees_runs || rows.is_empty() {
        return Ok((false, false));
    }
    let mut pairs = vec![("days", Some(DAYS))];
    pairs.extend(rows.iter().map(|row| ("skill_id", Some(row.id.as_str()))));
    let path = with_query("/v1/skills/usage", &pairs);
    let answer: Value = visitor.api.get(&path).await?;
    let data = answer.get("data").and_then(Value::as_array);
    let used = data.into_iter().flatten();
    let used: HashMap<String, &Value> =
        used.map(|value| (text(value, "skill_id"), value)).collect();
    for row in rows {
        row.usage = used.get(&row.id).map(|value| RowUsage::read(value));
    }
    Ok((sees_runs, sees_costs))
}
