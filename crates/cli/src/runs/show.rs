//! `prowess runs ID`

use prowess_store::{Error, RunDetail, RunRecord, Store, TenantId};
use serde_json::Value;

use super::skill_table::skill_table;
use super::summary::{run_millis, run_summary};
use crate::output;

/// A run, as far as it is known.
pub(super) enum FoundRun {
    /// With its record.
    Recorded(Box<RunDetail>),
    /// A kept one that has no record yet.
    Unrecorded(Box<RunRecord>),
}

/// Looks in the store.
pub(super) async fn find(store: &Store, tenant: &TenantId, id: &str) -> anyhow::Result<FoundRun> {
    match store.run(tenant, id).await {
        Err(Error::NotFound { .. }) => {
            let kept = store.journal_run(tenant, id).await?;
            Ok(FoundRun::Unrecorded(Box::new(RunRecord::from(&kept))))
        }
        found => Ok(FoundRun::Recorded(Box::new(found?))),
    }
}

/// Shows the record of a run, or the state of one that has none yet.
pub(super) fn print(found: &FoundRun, as_json: bool) -> anyhow::Result<()> {
    match found {
        FoundRun::Recorded(detail) => print_run(detail, as_json),
        FoundRun::Unrecorded(run) => print_unrecorded(run, as_json),
    }
}

fn print_unrecorded(run: &RunRecord, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return output::print_json(&run_summary(run));
    }
    let is_cancelled = run.kept.is_some_and(|kept| kept.cancel_requested);
    let cancelled = match is_cancelled && run.ended_at.is_none() {
        true => ", being cancelled",
        false => "",
    };
    let steps = run.kept.map_or(0, |kept| kept.steps);
    let steps = output::format_count(usize::try_from(steps).unwrap_or_default(), "step");
    let (id, state) = (&run.id, &run.status);
    let line = format!("{id} {state}{cancelled}: {}, {steps} finished", run.model);
    output::print_text(&format!("{}\n", output::strip_controls(&line, true)))
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
    let took = run_millis(run).map(|millis| format!(" in {millis} ms"));
    let mut text = format!(
        "{} {}{}: {}, {} turns, {} calls, {}+{} tokens\n",
        run.id,
        run.status,
        took.unwrap_or_default(),
        run.model,
        run.turns,
        run.calls,
        run.input_tokens,
        run.output_tokens
    );
    if let Some(error) = &run.error {
        text.push_str(&format!("error: {error}\n"));
    }
    let is_shown = |event: &&Value| {
        let kind = event.get("kind").and_then(Value::as_str);
        !matches!(kind, Some("request" | "turn_ended"))
    };
    let events = detail.events.as_array().into_iter().flatten();
    for event in events.filter(is_shown) {
        text.push_str(&format!("{}\n", event_line(event)));
    }
    if let Some(table) = skill_table(&detail.skills, &detail.usage) {
        text.push_str(&format!("\n{table}"));
    }
    // Names of models and tools, and errors, are what clients, models and providers have written.
    output::print_text(&output::strip_controls(&text, false))
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
