//! `prowess runs`

use comfy_table::{Table, presets};
use prowess_store::{PageRequest, RunRecord, Store, TenantId};
use serde_json::Value;

use super::summary::{run_millis, run_summary};
use crate::{format_date, output};

/// Lists runs, newest first, whether they have ended or not.
pub(super) async fn list(
    store: &Store,
    tenant: &TenantId,
    limit: u32,
    as_json: bool,
) -> anyhow::Result<()> {
    let page = PageRequest {
        limit,
        ..PageRequest::default()
    };
    print_list(&store.list_runs(tenant, &page).await?.items, as_json)
}

fn print_list(runs: &[RunRecord], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let runs: Vec<Value> = runs.iter().map(run_summary).collect();
        return output::print_json(&runs);
    }
    if runs.is_empty() {
        output::print_remark("no runs yet: send a request that names skills");
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
