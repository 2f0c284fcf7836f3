//! A run as JSON.

use prowess_store::RunRecord;
use serde_json::{Value, json};

use crate::format_date;

/// How long a run took, if it has ended.
pub(super) fn run_millis(run: &RunRecord) -> Option<i64> {
    let ended = run.ended_at?;
    Some((ended.as_micros() - run.started_at.as_micros()) / 1000)
}

pub(super) fn run_summary(run: &RunRecord) -> Value {
    let created_at = format_date(run.started_at.as_seconds());
    let ended_at = run.ended_at.map(|time| format_date(time.as_seconds()));
    if let Some(kept) = run.kept {
        return json!({
            "id": run.id,
            "model": run.model,
            "dialect": run.dialect,
            "status": run.status,
            "kept": true,
            "steps": kept.steps,
            "cancel_requested": kept.cancel_requested,
            "created_at": created_at,
            "ended_at": ended_at,
        });
    }
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
        "created_at": created_at,
        "ended_at": ended_at,
        "duration_ms": run_millis(run),
        "container": run.container,
        "error": run.error,
    })
}
