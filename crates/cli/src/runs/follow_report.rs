//! Prints a run that is followed, and remembers how it ended.

use prowess_wire::neutral::{ApiError, Block, Content, Delta, StopReason, StreamEvent, TokenUsage};
use serde_json::{Value, json};

use crate::Exit;
use crate::output;
use crate::run::printer::RunPrinter;

/// How much of a tool's input is collected; the rest is not shown.
const MAX_INPUT_BYTES: usize = 1 << 20;

/// Prints the events of a run.
pub(super) struct FollowReport {
    style: ReportStyle,
    /// The tool call whose input is being received.
    call: Option<OpenCall>,
    end: Option<FollowedEnd>,
    usage: TokenUsage,
    stop_reason: Option<StopReason>,
}

enum ReportStyle {
    Terminal(RunPrinter),
    JsonLines,
}

struct OpenCall {
    name: String,
    input: Value,
    /// The input, if it comes in parts.
    json: String,
}

/// How the events of a run ended.
enum FollowedEnd {
    /// With a complete response.
    Response,
    /// With an error.
    Error(ApiError),
}

impl FollowReport {
    pub(super) fn new(as_json: bool) -> Self {
        FollowReport {
            style: match as_json {
                true => ReportStyle::JsonLines,
                false => ReportStyle::Terminal(RunPrinter::new()),
            },
            call: None,
            end: None,
            usage: TokenUsage::default(),
            stop_reason: None,
        }
    }

    /// Whether the last event was received.
    pub(super) fn is_ended(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn on_event(&mut self, event: StreamEvent) -> anyhow::Result<()> {
        match event {
            StreamEvent::BlockStart { block, .. } => self.start_block(block),
            StreamEvent::BlockDelta { delta, .. } => self.extend_block(delta),
            StreamEvent::BlockStop { .. } => self.end_call(),
            StreamEvent::MessageDelta {
                stop_reason, usage, ..
            } => {
                self.stop_reason = stop_reason;
                self.usage = usage;
                Ok(())
            }
            StreamEvent::MessageStop => {
                self.end = Some(FollowedEnd::Response);
                Ok(())
            }
            StreamEvent::Error(error) => {
                self.end = Some(FollowedEnd::Error(error));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn start_block(&mut self, block: Block) -> anyhow::Result<()> {
        match block.content {
            Content::Text(text) => {
                // Text of another turn starts on a new line.
                self.end_line()?;
                self.print_text(&text)
            }
            Content::ToolUse { name, input, .. } | Content::ServerToolUse { name, input, .. } => {
                self.call = Some(OpenCall {
                    name,
                    input,
                    json: String::new(),
                });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn extend_block(&mut self, delta: Delta) -> anyhow::Result<()> {
        match (delta, &mut self.call) {
            (Delta::Text(text), _) => self.print_text(&text),
            (Delta::Thinking(text), _) if !text.is_empty() => match &self.style {
                ReportStyle::JsonLines => write_line(&json!({"type": "thinking", "text": text})),
                ReportStyle::Terminal(_) => Ok(()),
            },
            (Delta::InputJson(part), Some(call)) => {
                if call.json.len() + part.len() <= MAX_INPUT_BYTES {
                    call.json.push_str(&part);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end_call(&mut self) -> anyhow::Result<()> {
        let Some(call) = self.call.take() else {
            return Ok(());
        };
        let input = serde_json::from_str(&call.json).unwrap_or(call.input);
        match &mut self.style {
            ReportStyle::Terminal(printer) => printer.print_call(&call.name, &input),
            ReportStyle::JsonLines => {
                write_line(&json!({"type": "tool_started", "name": call.name, "input": input}))
            }
        }
    }

    fn print_text(&mut self, text: &str) -> anyhow::Result<()> {
        match &mut self.style {
            ReportStyle::Terminal(printer) => printer.print_text(text),
            ReportStyle::JsonLines if text.is_empty() => Ok(()),
            ReportStyle::JsonLines => write_line(&json!({"type": "text", "text": text})),
        }
    }

    /// Ends a line of text.
    pub(super) fn end_line(&mut self) -> anyhow::Result<()> {
        match &mut self.style {
            ReportStyle::Terminal(printer) => printer.end_line(),
            ReportStyle::JsonLines => Ok(()),
        }
    }

    /// Prints a remark for people.
    pub(super) fn remark(&mut self, text: &str) -> anyhow::Result<()> {
        match &mut self.style {
            ReportStyle::Terminal(printer) => printer.print_line(text),
            ReportStyle::JsonLines => Ok(()),
        }
    }

    /// Prints how the run ended, in the state that the server reports.
    pub(super) fn finish(&mut self, run: &str, state: &str) -> anyhow::Result<Exit> {
        let is_done = matches!(
            self.stop_reason,
            Some(StopReason::EndTurn | StopReason::StopSequence)
        );
        let status = match &self.end {
            Some(FollowedEnd::Response) if is_done => "completed",
            Some(FollowedEnd::Response) => "incomplete",
            Some(FollowedEnd::Error(_)) | None => state,
        };
        match &mut self.style {
            ReportStyle::Terminal(printer) => match &self.end {
                Some(FollowedEnd::Response) => printer.print_stop(self.stop_reason.as_ref())?,
                Some(FollowedEnd::Error(error)) => printer.print_failure(&error.message)?,
                None => printer.print_failure(&format!("the run is {status}"))?,
            },
            ReportStyle::JsonLines => {
                if let Some(FollowedEnd::Error(error)) = &self.end {
                    let code = error.code.as_deref().unwrap_or("run-failed");
                    let message = &error.message;
                    write_line(&json!({"type": "error", "code": code, "message": message}))?;
                }
                write_line(&json!({
                    "type": "ended",
                    "run": run,
                    "status": status,
                    "stop_reason": self.stop_reason.as_ref().map(StopReason::as_str),
                    "input_tokens": self.usage.total_input(),
                    "output_tokens": self.usage.output_tokens,
                }))?;
            }
        }
        Ok(match status {
            "completed" => Exit::Ok,
            _ => Exit::Problems,
        })
    }
}

fn write_line(value: &Value) -> anyhow::Result<()> {
    output::print_json_lines(&format!("{value}\n"))
}
