//! Shows a run in a terminal: the answer on standard output, everything else on standard
//! error. Output of a model is not trusted: control characters are replaced.

use std::io::IsTerminal;
use std::path::Path;

use prowess_engine::{OutputFile, RunStep};
use prowess_wire::neutral::{Content, StopReason, StreamEvent};
use serde_json::Value;

use super::RunReporter;
use crate::display_path;
use crate::output::{self, DIM, ERROR, GOOD, NOTE, WARNING};
use prowess::{Event, RunOutput};

/// Maximum length of a tool's input as shown.
const MAX_SHOWN_CHARS: usize = 160;

/// Shows a run in a terminal.
pub(super) struct TerminalReporter {
    terminal: bool,
    /// Whether the current line is unfinished.
    open: bool,
}

impl TerminalReporter {
    pub(super) fn new() -> Self {
        TerminalReporter {
            terminal: std::io::stdout().is_terminal(),
            open: false,
        }
    }

    fn print_text(&mut self, text: &str) -> anyhow::Result<()> {
        let text = if self.terminal {
            strip_controls(text, false)
        } else {
            text.to_owned()
        };
        output::write_data(&text)?;
        self.open = !text.ends_with('\n') && (self.open || !text.is_empty());
        Ok(())
    }

    /// Prints a remark on its own line.
    fn print_line(&mut self, line: &str) -> anyhow::Result<()> {
        self.end_line()?;
        output::print_remark(line);
        Ok(())
    }

    fn end_line(&mut self) -> anyhow::Result<()> {
        if self.open {
            self.print_text("\n")?;
        }
        Ok(())
    }

    fn print_step(&mut self, step: &RunStep) -> anyhow::Result<()> {
        match step {
            RunStep::TurnStarted(turn) => turn.dropped.iter().try_for_each(|dropped| {
                let field = strip_controls(&dropped.field, true);
                self.print_line(&format!(
                    "{WARNING}ignored, not supported by this model:{WARNING:#} {field}"
                ))
            }),
            RunStep::ToolStarted { name, input, .. } => {
                let what = describe_input(input);
                self.print_line(&format!(
                    "{NOTE}calls{NOTE:#} {} {what}",
                    strip_controls(name, true)
                ))
            }
            RunStep::ToolEnded {
                is_error: true,
                output: shown,
                duration_ms: millis,
                ..
            } => {
                let why = shorten(shown.lines().next().unwrap_or_default());
                self.print_line(&format!("{ERROR}failed{ERROR:#} in {millis} ms: {why}"))
            }
            RunStep::ToolEnded {
                duration_ms: millis,
                ..
            } => self.print_line(&format!("{DIM}done in {millis} ms{DIM:#}")),
            RunStep::SkillLoaded { name } => self.print_line(&format!(
                "{NOTE}loaded{NOTE:#} {}",
                strip_controls(name, true)
            )),
            RunStep::FileCreated(made) => {
                self.print_line(&format!("{NOTE}file{NOTE:#} {}", describe_file(made)))
            }
            RunStep::LimitReached(limit) => self.print_line(&format!(
                "{WARNING}stopped{WARNING:#} at the limit on {}",
                limit.as_str()
            )),
        }
    }
}

impl RunReporter for TerminalReporter {
    fn on_event(&mut self, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::Text(text) => self.print_text(text),
            Event::Step(step) => self.print_step(step),
            // Text of another turn starts on a new line.
            Event::Stream(StreamEvent::BlockStart { block, .. })
                if matches!(block.content, Content::Text(_)) =>
            {
                self.end_line()
            }
            Event::Stream(_) => Ok(()),
        }
    }

    fn on_saved(&mut self, path: &Path) -> anyhow::Result<()> {
        self.print_line(&format!("{GOOD}saved{GOOD:#} {}", display_path(path)))
    }

    fn on_ended(&mut self, answer: &RunOutput) -> anyhow::Result<()> {
        self.end_line()?;
        let reason = answer.response.stop_reason.as_ref();
        match reason {
            Some(StopReason::EndTurn | StopReason::StopSequence) => {}
            Some(reason) => self.print_line(&format!(
                "{WARNING}cut short{WARNING:#}: {}",
                strip_controls(reason.as_str(), true)
            ))?,
            None => self.print_line(&format!("{WARNING}cut short{WARNING:#}"))?,
        }
        if let Some(id) = answer.container() {
            self.print_line(&format!("{DIM}continue with --container {id}{DIM:#}"))?;
        }
        Ok(())
    }

    fn on_failed(&mut self, _: &str, message: &str) -> anyhow::Result<()> {
        self.end_line()?;
        output::print_error(&strip_controls(message, false));
        Ok(())
    }
}

/// A tool's input in short: the main argument of common tools, else all of it.
fn describe_input(input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let shown = match (text("command"), text("name"), text("path")) {
        (Some(command), _, Some(path)) => format!("{command} {path}"),
        (Some(command), _, None) => command.to_owned(),
        (None, Some(name), Some(path)) => format!("{name} {path}"),
        (None, Some(name), None) => name.to_owned(),
        _ => input.to_string(),
    };
    shorten(&shown)
}

fn describe_file(made: &OutputFile) -> String {
    let (name, mime) = (
        strip_controls(&made.filename, true),
        strip_controls(&made.mime_type, true),
    );
    format!("{name} ({mime}, {})", output::format_size(made.size_bytes))
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    strip_controls(&short, true)
}

/// Replaces control characters, which could move the cursor or change colours.
fn strip_controls(text: &str, one_line: bool) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let keep = |c: char| !(c.is_control() || turns(c)) || !one_line && matches!(c, '\n' | '\t');
    text.chars()
        .map(|c| if keep(c) { c } else { '\u{fffd}' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn model_text_cannot_steer_a_terminal() {
        assert_eq!(
            strip_controls("a\u{1b}[2J\nb\u{202e}", false),
            "a\u{fffd}[2J\nb\u{fffd}"
        );
        assert_eq!(strip_controls("a\nb", true), "a\u{fffd}b");
    }

    #[test]
    fn calls_are_shown_by_their_main_argument() {
        assert_eq!(describe_input(&json!({"command": "ls -l"})), "ls -l");
        assert_eq!(
            describe_input(&json!({"command": "view", "path": "/a"})),
            "view /a"
        );
        assert_eq!(describe_input(&json!({"name": "pdf"})), "pdf");
        assert_eq!(
            describe_input(&json!({"city": "Bern"})),
            r#"{"city":"Bern"}"#
        );
        assert_eq!(
            describe_input(&json!({"command": "x".repeat(500)}))
                .chars()
                .count(),
            MAX_SHOWN_CHARS + 1
        );
    }
}
