//! Renders database rows as JSON of each dialect.

pub(crate) mod anthropic;
mod audit_event;
pub(crate) mod openai;
pub(crate) mod release;

use prowess_store::{JournalRun, RunRecord, Timestamp};
use serde_json::{Value, json};

pub use audit_event::audit_event_json;

/// A run. No vendor has such an object, so all dialects get the same.
pub(crate) fn run(run: &RunRecord) -> Value {
    if let Some(kept) = run.kept {
        return json!({
            "id": run.id,
            "type": "run",
            "model": run.model,
            "dialect": run.dialect,
            "status": run.status,
            "steps": kept.steps,
            "cancel_requested": kept.cancel_requested,
            "key": run.key,
            "created_at": rfc3339(run.started_at),
            "ended_at": run.ended_at.map(rfc3339),
        });
    }
    let skills = run
        .skills
        .iter()
        .map(|skill| json!({"name": skill.name, "id": skill.id, "version": skill.version}));
    let skills: Vec<Value> = skills.collect();
    let millis = |end: Timestamp| (end.as_micros() - run.started_at.as_micros()) / 1000;
    json!({
        "id": run.id,
        "type": "run",
        "model": run.model,
        "provider": run.provider,
        "dialect": run.dialect,
        "status": run.status,
        "turns": run.turns,
        "calls": run.calls,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "created_at": rfc3339(run.started_at),
        "ended_at": run.ended_at.map(rfc3339),
        "duration_ms": run.ended_at.map(millis),
        "container": run.container,
        "error": run.error,
        "cost": run.cost,
        "key": run.key,
        "skills": skills,
    })
}

/// A kept run that has no record.
pub(crate) fn kept_run(kept: &JournalRun) -> Value {
    run(&RunRecord::from(kept))
}

/// RFC 3339 in UTC with six digits of a second, as Anthropic writes times.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(time.as_micros()) {
        Ok(time) => format!("{time:.6}"),
        // Only a corrupt row is out of range.
        Err(_) => jiff::Timestamp::UNIX_EPOCH.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_their_fractions_in_utc() {
        let time = |micros| rfc3339(Timestamp::from_micros(micros));
        assert_eq!(time(1_790_000_000_000_001), "2026-09-21T14:13:20.000001Z");
        assert_eq!(time(1_790_000_000_000_000), "2026-09-21T14:13:20.000000Z");
    }
}
