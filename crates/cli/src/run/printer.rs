//! Prints what a model does: its text on standard output, everything else on standard error.
//! Output of a model is not trusted: control characters are replaced.

use std::io::IsTerminal;

use prowess_wire::neutral::StopReason;
use serde_json::Value;

use crate::output::{self, NOTE, WARNING, strip_controls};

/// Maximum length of a tool's input as shown.
const MAX_SHOWN_CHARS: usize = 160;

/// Prints text and remarks, which never share a line.
pub(crate) struct RunPrinter {
    terminal: bool,
    /// Whether the current line is unfinished.
    open: bool,
}

impl RunPrinter {
    pub(crate) fn new() -> Self {
        RunPrinter {
            terminal: std::io::stdout().is_terminal(),
            open: false,
        }
    }

    pub(crate) fn print_text(&mut self, text: &str) -> anyhow::Result<()> {
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
    pub(crate) fn print_line(&mut self, line: &str) -> anyhow::Result<()> {
        self.end_line()?;
        output::print_remark(line);
        Ok(())
    }

    pub(crate) fn end_line(&mut self) -> anyhow::Result<()> {
        if self.open {
            self.print_text("\n")?;
        }
        Ok(())
    }

    /// Prints a tool call.
    pub(crate) fn print_call(&mut self, name: &str, input: &Value) -> anyhow::Result<()> {
        let what = describe_input(input);
        self.print_line(&format!(
            "{NOTE}calls{NOTE:#} {} {what}",
            strip_controls(name, true)
        ))
    }

    /// Prints why a run ended before its model was done, if it did.
    pub(crate) fn print_stop(&mut self, reason: Option<&StopReason>) -> anyhow::Result<()> {
        self.end_line()?;
        match reason {
            Some(StopReason::EndTurn | StopReason::StopSequence) => Ok(()),
            Some(reason) => self.print_line(&format!(
                "{WARNING}cut short{WARNING:#}: {}",
                strip_controls(reason.as_str(), true)
            )),
            None => self.print_line(&format!("{WARNING}cut short{WARNING:#}")),
        }
    }

    /// Prints the error that ended a run.
    pub(crate) fn print_failure(&mut self, message: &str) -> anyhow::Result<()> {
        self.end_line()?;
        output::print_error(message);
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

pub(super) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    strip_controls(&short, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
