//! A run as JSON.

use prowess_store::{JournalRun, RunRecord};
use serde_json::{Value, json};

use crate::format_date;

pub(super) fn run_millis(run: &RunRecord) -> i64 {
    (run.ended_at.as_micros() - run.started_at.as_micros()) / 1000
}

/// A run that has a record.
pub(super) fn run_summary(run: &RunRecord) -> Value {
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

/// A run without a record: one that has not ended, or ended before its first turn.
pub(super) fn journal_summary(run: &JournalRun) -> Value {
    json!({
        "id": run.id,
        "model": run.model,
        "dialect": run.dialect,
        "status": run.state.as_str(),
        "kept": run.kept,
        "steps": run.steps,
        "cancel_requested": run.cancel_requested,
        "created_at": format_date(run.created_at.as_seconds()),
        "ended_at": run.ended_at.map(|time| format_date(time.as_seconds())),
    })
}
