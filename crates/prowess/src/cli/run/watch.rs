//! What people see of a run: the answer on standard output, all else on standard
//! error. What a model says is not trusted: on a terminal it can only write text.

use std::io::IsTerminal;
use std::path::Path;

use prowess_engine::{Made, Step};
use prowess_wire::neutral::{Content, StopReason, StreamEvent};
use serde_json::Value;

use super::Teller;
use crate::cli::output::{self, DIM, ERROR, GOOD, NOTE, WARNING};
use crate::cli::shown;
use crate::library::{Answer, Event};

/// Characters shown of what a tool is given.
const LONGEST: usize = 160;

/// Shows a run to people.
pub(super) struct Watch {
    terminal: bool,
    /// Whether text stands on an unfinished line.
    open: bool,
}

impl Watch {
    pub(super) fn new() -> Self {
        Watch {
            terminal: std::io::stdout().is_terminal(),
            open: false,
        }
    }

    fn text(&mut self, text: &str) -> anyhow::Result<()> {
        let text = match self.terminal {
            true => harmless(text, false),
            false => text.to_owned(),
        };
        output::data(&text)?;
        self.open = !text.ends_with('\n') && (self.open || !text.is_empty());
        Ok(())
    }

    /// A line for whoever watches, below what was said so far.
    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        self.end_line()?;
        output::remark(line);
        Ok(())
    }

    fn end_line(&mut self) -> anyhow::Result<()> {
        if self.open {
            self.text("\n")?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Turn(turn) => turn.dropped.iter().try_for_each(|dropped| {
                let field = harmless(&dropped.field, true);
                self.line(&format!(
                    "{WARNING}the model cannot be told{WARNING:#} {field}"
                ))
            }),
            Step::ToolStarted { name, input, .. } => {
                let what = what(input);
                self.line(&format!(
                    "{NOTE}calls{NOTE:#} {} {what}",
                    harmless(name, true)
                ))
            }
            Step::ToolEnded {
                is_error: true,
                shown,
                millis,
                ..
            } => {
                let why = shortened(shown.lines().next().unwrap_or_default());
                self.line(&format!("{ERROR}failed{ERROR:#} in {millis} ms: {why}"))
            }
            Step::ToolEnded { millis, .. } => {
                self.line(&format!("{DIM}done in {millis} ms{DIM:#}"))
            }
            Step::SkillLoaded { name } => {
                self.line(&format!("{NOTE}loaded{NOTE:#} {}", harmless(name, true)))
            }
            Step::FileMade(made) => self.line(&format!("{NOTE}made{NOTE:#} {}", file(made))),
            Step::LimitMet(limit) => self.line(&format!(
                "{WARNING}ended{WARNING:#} by the limit on {}",
                limit.as_str()
            )),
        }
    }
}

impl Teller for Watch {
    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::Text(text) => self.text(text),
            Event::Step(step) => self.step(step),
            // What is said in another turn begins on another line.
            Event::Piece(StreamEvent::BlockStart { block, .. })
                if matches!(block.content, Content::Text(_)) =>
            {
                self.end_line()
            }
            Event::Piece(_) => Ok(()),
        }
    }

    fn saved(&mut self, path: &Path) -> anyhow::Result<()> {
        self.line(&format!("{GOOD}saved{GOOD:#} {}", shown(path)))
    }

    fn ended(&mut self, answer: &Answer) -> anyhow::Result<()> {
        self.end_line()?;
        let reason = answer.response.stop_reason.as_ref();
        match reason {
            Some(StopReason::EndTurn | StopReason::StopSequence) => {}
            Some(reason) => self.line(&format!(
                "{WARNING}cut short{WARNING:#}: {}",
                harmless(reason.as_str(), true)
            ))?,
            None => self.line(&format!("{WARNING}cut short{WARNING:#}"))?,
        }
        if let Some(id) = answer.container() {
            self.line(&format!("{DIM}go on with --container {id}{DIM:#}"))?;
        }
        Ok(())
    }

    fn failed(&mut self, _: &str, message: &str) -> anyhow::Result<()> {
        self.end_line()?;
        output::error(&harmless(message, false));
        Ok(())
    }
}

/// What a tool is given, in short: what matters of the usual tools, else everything.
fn what(input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let told = match (text("command"), text("name"), text("path")) {
        (Some(command), _, Some(path)) => format!("{command} {path}"),
        (Some(command), _, None) => command.to_owned(),
        (None, Some(name), Some(path)) => format!("{name} {path}"),
        (None, Some(name), None) => name.to_owned(),
        _ => input.to_string(),
    };
    shortened(&told)
}

fn file(made: &Made) -> String {
    let (name, mime) = (
        harmless(&made.filename, true),
        harmless(&made.mime_type, true),
    );
    format!("{name} ({mime}, {})", output::size(made.size_bytes))
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    harmless(&short, true)
}

/// Text that moves no cursor and changes no colour.
fn harmless(text: &str, one_line: bool) -> String {
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
    fn what_a_model_says_cannot_steer_a_terminal() {
        assert_eq!(
            harmless("a\u{1b}[2J\nb\u{202e}", false),
            "a\u{fffd}[2J\nb\u{fffd}"
        );
        assert_eq!(harmless("a\nb", true), "a\u{fffd}b");
    }

    #[test]
    fn calls_are_told_by_what_matters_of_them() {
        assert_eq!(what(&json!({"command": "ls -l"})), "ls -l");
        assert_eq!(what(&json!({"command": "view", "path": "/a"})), "view /a");
        assert_eq!(what(&json!({"name": "pdf"})), "pdf");
        assert_eq!(what(&json!({"city": "Bern"})), r#"{"city":"Bern"}"#);
        assert_eq!(
            what(&json!({"command": "x".repeat(500)})).chars().count(),
            LONGEST + 1
        );
    }
}
