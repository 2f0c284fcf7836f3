//! `prowess batches`

use comfy_table::{Table, presets};

use super::source::BatchSource;
use crate::output;

pub(super) async fn list(source: &BatchSource, limit: u32, as_json: bool) -> anyhow::Result<()> {
    let found = source.list(limit).await?;
    if as_json {
        return output::print_json(&found);
    }
    if found.is_empty() {
        output::print_remark("no batches yet: submit one with `prowess batch`");
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["ID", "CREATED", "STATUS", "REQUESTS", "SUCCEEDED", "FAILED"]);
    for batch in found {
        table.add_row([
            batch.id,
            batch.created_at,
            batch.status,
            batch.requests.to_string(),
            batch.succeeded.to_string(),
            batch.failed.to_string(),
        ]);
    }
    output::print_text(&format!("{}\n", table.trim_fmt()))
}
