//! Metrics of runs, their turns and their calls of tools. What a run reads from its journal is
//! counted by the server that made it.

use std::time::Duration;

use prowess_engine::RunStep;

use super::label_set::LabelSet;

/// Tools with series of their own: names of tools come from skills too.
const MAX_TOOLS: usize = 100;

static TOOLS: LabelSet = LabelSet::new(MAX_TOOLS);

/// Counts a step.
pub(super) fn record_step(step: &RunStep) {
    match step {
        RunStep::TurnStarted(turn) if turn.called_at.is_some() => {
            let provider = turn.provider.clone();
            metrics::counter!("prowess_run_turns_total", "provider" => provider).increment(1);
        }
        RunStep::ToolEnded {
            name,
            is_error,
            duration_ms,
            observed: Some(_),
            ..
        } => {
            let tool = TOOLS.label(name, true);
            let outcome = if *is_error { "error" } else { "ok" };
            let seconds = Duration::from_millis(*duration_ms).as_secs_f64();
            metrics::histogram!("prowess_tool_call_seconds", "tool" => tool.clone())
                .record(seconds);
            metrics::counter!("prowess_tool_calls_total", "tool" => tool, "outcome" => outcome)
                .increment(1);
        }
        RunStep::LimitReached(limit) => {
            let limit = limit.as_str();
            metrics::counter!("prowess_run_limits_total", "limit" => limit).increment(1);
        }
        _ => {}
    }
}

/// Counts a run that has ended.
pub(super) fn record_end(outcome: &'static str, took: Duration) {
    metrics::counter!("prowess_runs_total", "outcome" => outcome).increment(1);
    metrics::histogram!("prowess_run_seconds").record(took.as_secs_f64());
}
