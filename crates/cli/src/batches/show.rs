//! `prowess batches ID`

use super::source::{BatchSource, BatchSummary};
use crate::output;

pub(super) async fn show(source: &BatchSource, id: &str, as_json: bool) -> anyhow::Result<()> {
    print(&source.get(id).await?, as_json)
}

/// Prints a batch.
pub(super) fn print(batch: &BatchSummary, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return output::print_json(batch);
    }
    let mut text = format!(
        "{} {}: {} of {} succeeded, {} failed\n",
        batch.id, batch.status, batch.succeeded, batch.requests, batch.failed
    );
    for error in &batch.errors {
        text.push_str(&format!("error: {error}\n"));
    }
    output::print_text(&text)
}
