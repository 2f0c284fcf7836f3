//! The rows of the table that is rewritten, line by line, so that a row which stays is not changed.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde_json::Value;

/// The rows of a table by provider and model, each as its line.
pub(super) fn previous_rows(table: &str) -> anyhow::Result<BTreeMap<(String, String), String>> {
    serde_json::from_str::<Value>(table).context("the present table is not JSON")?;
    let lines = table.lines().map(|line| line.trim_end_matches(','));
    let mut rows = BTreeMap::new();
    for line in lines.filter(|line| line.starts_with("{\"provider\"")) {
        let broken = || format!("a row of the present table is broken: {line}");
        let row: Value = serde_json::from_str(line).with_context(broken)?;
        let text = |field: &str| Some(row.get(field)?.as_str()?.to_owned());
        let key = text("provider").zip(text("model")).with_context(broken)?;
        rows.insert(key, line.to_owned());
    }
    Ok(rows)
}
