//! `prowess runs`

use comfy_table::{Table, presets};
use prowess_store::{JournalRun, PageRequest, RunRecord, Store, TenantId};
use serde_json::Value;

use super::summary::{journal_summary, run_millis, run_summary};
use crate::{format_date, output};

/// Lists runs, newest first: those that have not ended, then the records of the others.
pub(super) async fn list(
    store: &Store,
    tenant: &TenantId,
    limit: u32,
    as_json: bool,
) -> anyhow::Result<()> {
    let mut open = store.open_runs(tenant, limit).await?;
    let page = PageRequest {
        limit,
        ..PageRequest::default()
    };
    let mut runs = store.list_runs(tenant, &page).await?.items;
    // A run ends after its record is written.
    open.retain(|run| runs.iter().all(|record| record.id != run.id));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    runs.truncate(limit.saturating_sub(open.len()));
    print_list(&open, &runs, as_json)
}

fn print_list(open: &[JournalRun], runs: &[RunRecord], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let open = open.iter().map(journal_summary);
        let runs: Vec<Value> = open.chain(runs.iter().map(run_summary)).collect();
        return output::print_json(&runs);
    }
    if open.is_empty() && runs.is_empty() {
        output::print_remark("no runs yet: send a request that names skills");
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "ID", "STARTED", "MODEL", "STATUS", "TURNS", "CALLS", "TOKENS", "TOOK",
    ]);
    for run in open {
        let none = || "-".to_owned();
        table.add_row([
            run.id.clone(),
            format_date(run.created_at.as_seconds()),
            run.model.clone(),
            open_status(run),
            none(),
            none(),
            none(),
            none(),
        ]);
    }
    for run in runs {
        table.add_row([
            run.id.clone(),
            format_date(run.started_at.as_seconds()),
            run.model.clone(),
            run.status.clone(),
            run.turns.to_string(),
            run.calls.to_string(),
            format!("{}+{}", run.input_tokens, run.output_tokens),
            format!("{} ms", run_millis(run)),
        ]);
    }
    output::print_text(&format!("{}\n", table.trim_fmt()))
}

fn open_status(run: &JournalRun) -> String {
    match run.cancel_requested {
        true => "cancelling".to_owned(),
        false => run.state.as_str().to_owned(),
    }
}
