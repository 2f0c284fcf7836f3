//! Spans of the steps of a run: its turns, the calls of Prowess's tools, and the commands that
//! those ran. `gen_ai.skill.*` is a proposal of the conventions. Must not know how steps are
//! made.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::SpanKind;
use opentelemetry_sdk::trace::SpanData;
use prowess_engine::{CalledSkill, CommandOutcome, CommandRun, ObservedCall, RunStep, TurnStarted};
use serde_json::json;

use super::request_span::{with_decision, with_provider};
use super::request_trace::RequestTrace;
use super::span::EndedSpan;

/// Spans of one run; further steps are counted.
const MAX_SPANS: usize = 512;
/// Skills of a run that its span names.
const MAX_SKILLS: usize = 32;
/// Bytes of a text in a span.
const MAX_TEXT_BYTES: usize = 8 << 10;

/// The spans of a run in progress.
pub(crate) struct RunSpans {
    trace: RequestTrace,
    model: String,
    content: bool,
    /// The kinds of the providers that the run may call.
    kinds: Vec<(String, &'static str)>,
    turn: Option<TurnInProgress>,
    /// What calls under way were called with, if texts are sent.
    arguments: HashMap<String, String>,
    spans: Vec<SpanData>,
    left_out: u64,
    skills: Vec<String>,
}

/// A turn that has not ended.
struct TurnInProgress {
    started: TurnStarted,
    called_at: SystemTime,
}

/// The spans of a run that has ended.
#[derive(Default)]
pub(crate) struct EndedRunSpans {
    pub(crate) spans: Vec<SpanData>,
    /// Steps without a span.
    pub(crate) left_out: u64,
    /// The skills that the request named.
    pub(crate) skills: Vec<String>,
}

impl RunSpans {
    pub(crate) fn new(
        trace: RequestTrace,
        model: &str,
        content: bool,
        kinds: Vec<(String, &'static str)>,
    ) -> RunSpans {
        RunSpans {
            trace,
            model: model.to_owned(),
            content,
            kinds,
            turn: None,
            arguments: HashMap::new(),
            spans: Vec::new(),
            left_out: 0,
            skills: Vec::new(),
        }
    }

    /// Adds a step.
    pub(crate) fn add_step(&mut self, step: &RunStep) {
        match step {
            RunStep::Requested { skills, .. } => {
                let names = skills.iter().take(MAX_SKILLS);
                self.skills = names.map(|skill| skill.name.clone()).collect();
            }
            RunStep::TurnStarted(turn) => {
                self.interrupt_turn();
                // A turn that was made before has a span already.
                self.turn = turn.called_at.map(|called_at| TurnInProgress {
                    started: turn.clone(),
                    called_at,
                });
            }
            RunStep::TurnEnded { .. } => self.end_turn(step),
            RunStep::ToolStarted { id, input, .. }
                if self.content && self.arguments.len() < MAX_SPANS =>
            {
                let text = cut(&input.to_string());
                self.arguments.insert(id.clone(), text);
            }
            RunStep::ToolEnded {
                observed: Some(observed),
                ..
            } => self.add_call(step, observed),
            _ => {}
        }
    }

    /// Ends the run: a turn that has not ended was interrupted.
    pub(crate) fn end(mut self) -> EndedRunSpans {
        self.interrupt_turn();
        EndedRunSpans {
            spans: self.spans,
            left_out: self.left_out,
            skills: self.skills,
        }
    }

    fn end_turn(&mut self, step: &RunStep) {
        let (
            Some(turn),
            RunStep::TurnEnded {
                stop_reason,
                input_tokens,
                output_tokens,
                output,
                ended_at,
                ..
            },
        ) = (self.turn.take(), step)
        else {
            return;
        };
        let mut span = self
            .turn_span(&turn, *ended_at)
            .with_count("gen_ai.usage.input_tokens", *input_tokens)
            .with_count("gen_ai.usage.output_tokens", *output_tokens);
        if let Some(reason) = stop_reason {
            let reasons = std::iter::once(reason.clone());
            span = span.with_list("gen_ai.response.finish_reasons", reasons);
        }
        if self.content {
            let finish = stop_reason.as_deref().unwrap_or_default();
            let message = json!([{ "role": "assistant", "finish_reason": finish,
                "parts": [{ "type": "text", "content": cut(output) }] }]);
            span = span.with("gen_ai.output.messages", message.to_string());
        }
        self.push(span);
    }

    fn interrupt_turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            let span = self.turn_span(&turn, SystemTime::now());
            let span = span
                .with("error.type", "interrupted")
                .failed("the turn did not end");
            self.push(span);
        }
    }

    fn turn_span(&self, turn: &TurnInProgress, ended_at: SystemTime) -> EndedSpan {
        let TurnInProgress { started, called_at } = turn;
        let mut kinds = self.kinds.iter();
        let kind = kinds.find(|(provider, _)| *provider == started.provider);
        let kind = kind.map_or("_OTHER", |(_, kind)| *kind);
        let context = self.trace.child(started.span.as_deref());
        let parent = self.trace.context.span_id();
        let name = format!("chat {}", self.model);
        let span = EndedSpan::new(context, parent, SpanKind::Client, name)
            .between(*called_at, ended_at)
            .with("gen_ai.operation.name", "chat")
            .with("gen_ai.request.model", self.model.clone())
            .with("gen_ai.response.model", started.model.clone())
            .with_count("prowess.turn", started.number.into())
            .with_count("prowess.wait_ms", started.wait_ms);
        let span = with_provider(span, &started.provider, kind);
        let span = with_decision(span, started.decision.as_deref());
        match started.failures.len() {
            0 => span,
            failures => span.with_count("prowess.failed_calls", failures as u64),
        }
    }

    /// A call of a tool, and its commands below it.
    fn add_call(&mut self, step: &RunStep, observed: &ObservedCall) {
        let RunStep::ToolEnded {
            id,
            name,
            is_error,
            skill,
            output,
            duration_ms,
            ..
        } = step
        else {
            return;
        };
        let context = self.trace.child(None);
        let parent = self.trace.context.span_id();
        let title = format!("execute_tool {name}");
        let duration = Duration::from_millis(*duration_ms);
        let mut span = EndedSpan::new(context, parent, SpanKind::Internal, title)
            .time(observed.started_at, duration)
            .with("gen_ai.operation.name", "execute_tool")
            .with("gen_ai.tool.name", name.clone())
            .with("gen_ai.tool.call.id", id.clone())
            .with("gen_ai.tool.type", "function");
        if let Some(skill) = skill {
            span = with_skill(span, skill);
        }
        if self.content {
            let arguments = self.arguments.remove(id);
            span = span
                .with_some("gen_ai.tool.call.arguments", arguments)
                .with("gen_ai.tool.call.result", cut(output));
        }
        if *is_error {
            span = span
                .with("error.type", "tool_error")
                .failed("the tool reported an error");
        }
        let tool = span.id();
        self.push(span);
        for command in &observed.commands {
            // A worker may have been told of it.
            let context = self.trace.child(command.span.as_deref());
            let span = EndedSpan::new(context, tool, SpanKind::Internal, "sandbox command");
            self.push(with_command(span, command));
        }
    }

    fn push(&mut self, span: EndedSpan) {
        if self.spans.len() < MAX_SPANS {
            self.spans.push(span.into_data());
        } else {
            self.left_out += 1;
        }
    }
}

fn with_skill(span: EndedSpan, skill: &CalledSkill) -> EndedSpan {
    span.with("gen_ai.skill.name", skill.name.clone())
        .with_some("gen_ai.skill.id", skill.id.clone())
        .with_some("gen_ai.skill.version", skill.version.clone())
}

fn with_command(span: EndedSpan, command: &CommandRun) -> EndedSpan {
    let waited = u64::try_from(command.waited.as_millis()).unwrap_or(u64::MAX);
    let span = span
        .time(command.started_at, command.duration)
        .with_count("prowess.wait_ms", waited)
        .with_some("prowess.run", command.run.clone())
        .with_some("prowess.worker", command.worker.clone());
    match command.outcome {
        Some(outcome) => with_outcome(span, outcome),
        None => span
            .with("error.type", "not_run")
            .failed("the command was not run to its end"),
    }
}

/// Adds how a command ended.
pub(super) fn with_outcome(span: EndedSpan, outcome: CommandOutcome) -> EndedSpan {
    let code = outcome.exit_code();
    let span = span
        .with("process.exit.code", i64::from(code))
        .with("prowess.outcome", outcome.to_string());
    match code {
        0 => span,
        _ => span.failed(outcome.to_string()),
    }
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    text.get(..end).unwrap_or_default().to_owned()
}
