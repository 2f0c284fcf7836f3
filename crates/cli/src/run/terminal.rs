//! Shows a run of this process in a terminal.

use std::path::Path;

use prowess_engine::{OutputFile, RunStep};
use prowess_wire::neutral::{Content, StreamEvent};

use super::RunReporter;
use super::printer::{RunPrinter, shorten};
use crate::display_path;
use crate::output::{self, DIM, ERROR, GOOD, NOTE, WARNING, strip_controls};
use prowess::{Event, RunOutput};

/// Shows a run in a terminal.
pub(super) struct TerminalReporter {
    printer: RunPrinter,
}

impl TerminalReporter {
    pub(super) fn new() -> Self {
        TerminalReporter {
            printer: RunPrinter::new(),
        }
    }

    fn print_step(&mut self, step: &RunStep) -> anyhow::Result<()> {
        match step {
            // Only records and logs have these.
            RunStep::Requested { .. } | RunStep::TurnEnded { .. } => Ok(()),
            RunStep::TurnStarted(turn) => turn.dropped.iter().try_for_each(|dropped| {
                let field = strip_controls(&dropped.field, true);
                self.printer.print_line(&format!(
                    "{WARNING}ignored, not supported by this model:{WARNING:#} {field}"
                ))
            }),
            RunStep::ToolStarted { name, input, .. } => self.printer.print_call(name, input),
            RunStep::ToolEnded {
                is_error: true,
                output: shown,
                duration_ms: millis,
                ..
            } => {
                let why = shorten(shown.lines().next().unwrap_or_default());
                self.printer
                    .print_line(&format!("{ERROR}failed{ERROR:#} in {millis} ms: {why}"))
            }
            RunStep::ToolEnded {
                duration_ms: millis,
                ..
            } => self
                .printer
                .print_line(&format!("{DIM}done in {millis} ms{DIM:#}")),
            RunStep::SkillsOffered { count } => self
                .printer
                .print_line(&format!("{DIM}{count} stored skills are offered{DIM:#}")),
            RunStep::SkillLoaded { name } => self.printer.print_line(&format!(
                "{NOTE}loaded{NOTE:#} {}",
                strip_controls(name, true)
            )),
            RunStep::FileCreated(made) => self
                .printer
                .print_line(&format!("{NOTE}file{NOTE:#} {}", describe_file(made))),
            RunStep::LimitReached(limit) => self.printer.print_line(&format!(
                "{WARNING}stopped{WARNING:#} at the limit on {}",
                limit.as_str()
            )),
        }
    }
}

impl RunReporter for TerminalReporter {
    fn on_event(&mut self, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::Text(text) => self.printer.print_text(text),
            Event::Step(step) => self.print_step(step),
            // Text of another turn starts on a new line.
            Event::Stream(StreamEvent::BlockStart { block, .. })
                if matches!(block.content, Content::Text(_)) =>
            {
                self.printer.end_line()
            }
            Event::Stream(_) => Ok(()),
        }
    }

    fn on_saved(&mut self, path: &Path) -> anyhow::Result<()> {
        self.printer
            .print_line(&format!("{GOOD}saved{GOOD:#} {}", display_path(path)))
    }

    fn on_ended(&mut self, answer: &RunOutput) -> anyhow::Result<()> {
        self.printer
            .print_stop(answer.response.stop_reason.as_ref())?;
        if let Some(id) = answer.container() {
            self.printer
                .print_line(&format!("{DIM}continue with --container {id}{DIM:#}"))?;
        }
        Ok(())
    }

    fn on_failed(&mut self, _: &str, message: &str) -> anyhow::Result<()> {
        self.printer.print_failure(message)
    }
}

fn describe_file(made: &OutputFile) -> String {
    let (name, mime) = (
        strip_controls(&made.filename, true),
        strip_controls(&made.mime_type, true),
    );
    format!("{name} ({mime}, {})", output::format_size(made.size_bytes))
}
