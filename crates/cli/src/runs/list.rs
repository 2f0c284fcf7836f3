//! `prowess runs`

use comfy_table::{Table, presets};
use prowess_store::{PageRequest, RunFilter, RunRecord, Store, TenantId};
use serde_json::Value;

use super::summary::{run_millis, run_summary};
use crate::{format_date, output};

/// Runs of the store, newest first, whether they have ended or not.
pub(super) async fn read(
    store: &Store,
    tenant: &TenantId,
    filter: &RunFilter<'_>,
    limit: u32,
) -> anyhow::Result<Vec<RunRecord>> {
    let page = PageRequest {
        limit,
        ..PageRequest::default()
    };
    let listed = store.list_filtered_runs(tenant, filter, &page).await?;
    Ok(listed.items)
}

/// Prints runs as a table.
pub(super) fn print(runs: &[RunRecord], is_filtered: bool, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let runs: Vec<Value> = runs.iter().map(run_summary).collect();
        return output::print_json(&runs);
    }
    if runs.is_empty() {
        output::print_remark(match is_filtered {
            true => "no run fits this filter",
            false => "no runs yet: send a request that names skills",
        });
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "ID", "STARTED", "MODEL", "STATUS", "TURNS", "CALLS", "TOKENS", "TOOK",
    ]);
    for run in runs {
        // Those of a kept run are known when it has ended.
        let known = |text: String| match run.kept {
            None => text,
            Some(_) => "-".to_owned(),
        };
        let millis = run_millis(run).filter(|_| run.kept.is_none());
        table.add_row([
            run.id.clone(),
            format_date(run.started_at.as_seconds()),
            output::strip_controls(&run.model, true),
            status(run).to_owned(),
            known(run.turns.to_string()),
            known(run.calls.to_string()),
            known(format!("{}+{}", run.input_tokens, run.output_tokens)),
            millis.map_or_else(|| "-".to_owned(), |millis| format!("{millis} ms")),
        ]);
    }
    output::print_text(&format!("{}\n", table.trim_fmt()))
}

fn status(run: &RunRecord) -> &str {
    match run.kept {
        Some(kept) if kept.cancel_requested && run.ended_at.is_none() => "cancelling",
        _ => &run.status,
    }
}
