//! The steps of a run as spans of time: turns, loads, calls, and waits for the model.

use super::step::{FailedCall, WatchedStep};
use crate::format;
use crate::preview::terminal_html;

/// Spans that are shown.
const MAX_SPANS: usize = 200;

/// What took a part of the time of a run.
#[derive(Debug, Default)]
pub(crate) struct TimeSpan {
    pub(crate) kind: SpanKind,
    pub(crate) label: String,
    /// A short remark: tokens, the way a call ended.
    pub(crate) note: String,
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
    /// What went in, if it is known.
    pub(crate) input: Option<String>,
    /// What came out, as HTML of our own.
    pub(crate) output_html: Option<String>,
    pub(crate) failures: Vec<FailedCall>,
}

/// Classes of the style sheet have the same names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SpanKind {
    #[default]
    Model,
    Tool,
    Load,
    Wait,
    Error,
}

impl SpanKind {
    /// Its class, and its name for people.
    pub(crate) fn class(self) -> &'static str {
        match self {
            SpanKind::Model => "model",
            SpanKind::Tool => "tool",
            SpanKind::Load => "load",
            SpanKind::Wait => "wait",
            SpanKind::Error => "error",
        }
    }
}

impl TimeSpan {
    fn millis(&self) -> i64 {
        self.end_ms.saturating_sub(self.start_ms).max(0)
    }

    /// When it began, for people.
    pub(crate) fn start(&self) -> String {
        format::duration(u64::try_from(self.start_ms).unwrap_or_default())
    }

    /// How long it took, for people.
    pub(crate) fn took(&self) -> String {
        format::duration(u64::try_from(self.millis()).unwrap_or_default())
    }

    /// Whether there is something to open.
    pub(crate) fn has_details(&self) -> bool {
        self.input.is_some() || self.output_html.is_some() || !self.failures.is_empty()
    }
}

/// The spans of a run, in the order in which they began. `end_ms`: when it ended, or how far it
/// is.
pub(crate) fn time_spans(steps: &[WatchedStep], end_ms: i64) -> Vec<TimeSpan> {
    let mut spans = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let rest = steps.get(at + 1..).unwrap_or_default();
        match step.kind.as_str() {
            "turn" => add_turn(step, rest, end_ms, &mut spans),
            "tool_started" => spans.push(call_span(step, rest, end_ms)),
            _ => {}
        }
    }
    spans.sort_by_key(|span| span.start_ms);
    spans.truncate(MAX_SPANS);
    spans
}

/// A turn, after the time that was waited for it. It began when the response did.
fn add_turn(step: &WatchedStep, rest: &[WatchedStep], end_ms: i64, spans: &mut Vec<TimeSpan>) {
    let start = step.at_ms.unwrap_or_default();
    let number = step.number.unwrap_or_default();
    let wait = step.wait_ms.unwrap_or_default();
    if wait > 0 {
        spans.push(TimeSpan {
            kind: SpanKind::Wait,
            label: format!("Wait for turn {number}"),
            note: match step.failures.len() {
                0 => String::new(),
                1 => "1 call failed before".to_owned(),
                many => format!("{many} calls failed before"),
            },
            start_ms: start.saturating_sub(wait).max(0),
            end_ms: start,
            failures: step.failures.clone(),
            ..TimeSpan::default()
        });
    }
    let is_end = |other: &&WatchedStep| other.kind == "turn_ended" && other.number == step.number;
    let ended = rest.iter().find(is_end);
    // Older records have no end of a turn: it lasted until something else happened.
    let next = rest.iter().find_map(|other| other.at_ms);
    let end = ended.and_then(|ended| ended.at_ms).or(next);
    let model = step.model.as_deref().unwrap_or_default();
    let provider = step.provider.as_deref().unwrap_or_default();
    let note = ended.map(|ended| {
        let tokens = |count: Option<u64>| count.unwrap_or_default();
        let (input, output) = (tokens(ended.input_tokens), tokens(ended.output_tokens));
        let reason = ended.stop_reason.as_deref().unwrap_or("unknown reason");
        format!("{input} tokens in, {output} out, {reason}")
    });
    spans.push(TimeSpan {
        kind: SpanKind::Model,
        label: format!("Turn {number}: {provider} {model}"),
        note: note.unwrap_or_default(),
        start_ms: start,
        end_ms: end.unwrap_or(end_ms).max(start),
        output_html: ended
            .and_then(|ended| ended.shown.as_deref())
            .filter(|shown| !shown.is_empty())
            .map(terminal_html),
        ..TimeSpan::default()
    });
}

fn call_span(step: &WatchedStep, rest: &[WatchedStep], end_ms: i64) -> TimeSpan {
    let start = step.at_ms.unwrap_or_default();
    let is_end = |other: &&WatchedStep| other.kind == "tool_ended" && other.id == step.id;
    let ended = rest.iter().find(is_end);
    let end = match ended {
        // Calls of one turn are reported together, so the time of the report says less.
        Some(ended) => ended.millis.map(|millis| start.saturating_add(millis)),
        None => None,
    };
    let is_error = ended.is_some_and(|ended| ended.is_error);
    let kind = match (is_error, step.is_load()) {
        (true, _) => SpanKind::Error,
        (false, true) => SpanKind::Load,
        (false, false) => SpanKind::Tool,
    };
    let skill = ended.and_then(|ended| ended.skill.as_deref());
    let note = match (ended, skill) {
        (None, _) => "not ended".to_owned(),
        (Some(_), Some(skill)) if is_error => format!("failed, skill {skill}"),
        (Some(_), Some(skill)) => format!("skill {skill}"),
        (Some(_), None) if is_error => "failed".to_owned(),
        (Some(_), None) => String::new(),
    };
    TimeSpan {
        kind,
        label: step.name().to_owned(),
        note,
        start_ms: start,
        end_ms: end.unwrap_or(end_ms).max(start),
        input: step.command(),
        output_html: ended
            .and_then(|ended| ended.shown.as_deref())
            .map(terminal_html),
        ..TimeSpan::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spans(steps: serde_json::Value) -> Vec<(String, &'static str, i64, i64, String)> {
        let steps: Vec<WatchedStep> = serde_json::from_value(steps).unwrap();
        let spans = time_spans(&steps, 1000);
        let shown = |span: TimeSpan| {
            let class = span.kind.class();
            (span.label, class, span.start_ms, span.end_ms, span.note)
        };
        spans.into_iter().map(shown).collect()
    }

    #[test]
    fn turns_calls_and_waits_follow_each_other() {
        let found = spans(json!([
            {"kind": "request", "at_ms": 0, "input": "Hi"},
            {"kind": "turn", "number": 1, "provider": "p", "model": "m", "at_ms": 100,
             "wait_ms": 90, "failures": [{"provider": "q", "model": "n", "error": "busy"}]},
            {"kind": "turn_ended", "number": 1, "at_ms": 150, "input_tokens": 7,
             "output_tokens": 3, "stop_reason": "tool_use"},
            {"kind": "tool_started", "id": "a", "name": "load_skill", "at_ms": 150},
            {"kind": "tool_started", "id": "b", "name": "bash", "at_ms": 151},
            {"kind": "tool_ended", "id": "a", "millis": 5, "at_ms": 200, "skill": "pdf"},
            {"kind": "tool_ended", "id": "b", "millis": 40, "at_ms": 200, "is_error": true},
            {"kind": "turn", "number": 2, "provider": "p", "model": "m", "at_ms": 300},
        ]));
        let row = |label: &str, kind, start, end, note: &str| {
            (label.to_owned(), kind, start, end, note.to_owned())
        };
        assert_eq!(
            found,
            [
                row("Wait for turn 1", "wait", 10, 100, "1 call failed before"),
                row(
                    "Turn 1: p m",
                    "model",
                    100,
                    150,
                    "7 tokens in, 3 out, tool_use"
                ),
                row("load_skill", "load", 150, 155, "skill pdf"),
                row("bash", "error", 151, 191, "failed"),
                row("Turn 2: p m", "model", 300, 1000, ""),
            ]
        );
    }

    #[test]
    fn times_that_make_no_sense_do_no_harm() {
        let found = spans(json!([
            {"kind": "turn", "number": 1, "at_ms": i64::MIN, "wait_ms": i64::MAX},
            {"kind": "tool_started", "id": "a", "at_ms": i64::MAX},
            {"kind": "tool_ended", "id": "a", "millis": i64::MAX},
        ]));
        assert_eq!(found.len(), 3);
    }
}
