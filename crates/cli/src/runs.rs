//! `prowess runs`: records of skill runs. Works on the store directly, without a server.

use anyhow::Context;
use comfy_table::{Table, presets};
use prowess_store::{PageRequest, RunDetail, RunRecord, Store, TenantId};
use serde_json::{Value, json};

use super::serve::ConfigArgs;
use super::{Exit, format_date, output};

/// List skill runs, or show one with its events.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run to show (run_…); without one, the newest are listed
    id: Option<String>,
    /// How many to list
    #[arg(long, default_value_t = 20)]
    limit: u32,
    /// The tenant
    #[arg(long, default_value = "default")]
    tenant: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: ConfigArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let tenant = TenantId::new(args.tenant.as_str())?;
        let config = args.place.load(None)?;
        let store = Store::open(&config.store)
            .await
            .context("cannot open the store")?;
        match &args.id {
            Some(id) => print_run(&store.run(&tenant, id).await?, args.json),
            None => {
                let page = PageRequest {
                    limit: args.limit,
                    ..PageRequest::default()
                };
                let page = store.list_runs(&tenant, &page).await?;
                print_list(&page.items, args.json)
            }
        }
    })?;
    Ok(Exit::Ok)
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

fn print_run(detail: &RunDetail, as_json: bool) -> anyhow::Result<()> {
    let run = &detail.run;
    if as_json {
        let mut shown = run_summary(run);
        if let Some(map) = shown.as_object_mut() {
            map.insert("usage".to_owned(), detail.usage.clone());
            map.insert("skills".to_owned(), detail.skills.clone());
            map.insert("files".to_owned(), detail.files.clone());
            map.insert("events".to_owned(), detail.events.clone());
        }
        return output::print_json(&shown);
    }
    let mut text = format!(
        "{} {} in {} ms: {}, {} turns, {} calls, {}+{} tokens\n",
        run.id,
        run.status,
        run_millis(run),
        run.model,
        run.turns,
        run.calls,
        run.input_tokens,
        run.output_tokens
    );
    if let Some(error) = &run.error {
        text.push_str(&format!("error: {error}\n"));
    }
    for event in detail.events.as_array().into_iter().flatten() {
        text.push_str(&format!("{}\n", event_line(event)));
    }
    output::print_text(&text)
}

/// One event: time, kind and details.
fn event_line(event: &Value) -> String {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let at = event
        .get("at_ms")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    let about = match text("kind") {
        "turn" => format!("{} {}", text("provider"), text("model")),
        "tool_ended" => {
            let failed = event.get("is_error").and_then(Value::as_bool) == Some(true);
            let millis = event
                .get("millis")
                .and_then(Value::as_i64)
                .unwrap_or_default();
            let how = if failed { "failed" } else { "ok" };
            format!("{} {how}, {millis} ms", text("name"))
        }
        "file_made" => {
            let file = |key: &str| event.get("file").and_then(|f| f.get(key)?.as_str());
            let name = file("filename").unwrap_or_default();
            format!("{name} {}", file("file_id").unwrap_or_default())
        }
        "limit_met" => text("limit").to_owned(),
        _ => text("name").to_owned(),
    };
    format!(
        "{at:>7} ms  {:<12}  {about}",
        text("kind").replace('_', " ")
    )
}

fn run_millis(run: &RunRecord) -> i64 {
    (run.ended_at.as_micros() - run.started_at.as_micros()) / 1000
}

fn run_summary(run: &RunRecord) -> Value {
    json!({
        "id": run.id,
        "model": run.model,
        "provider": run.provider,
        "dialect": run.dialect,
        "status": run.status,
        "turns": run.turns,
        "calls": run.calls,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "created_at": format_date(run.started_at.as_seconds()),
        "duration_ms": run_millis(run),
        "container": run.container,
        "error": run.error,
    })
}
