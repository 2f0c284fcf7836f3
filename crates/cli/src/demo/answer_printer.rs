//! Prints the response of the demo's request as its events arrive.

use anyhow::bail;
use prowess_wire::neutral::{Content, Delta, StreamEvent};
use prowess_wire::{Dialect, ReadContext, StreamReader};
use reqwest::Response;
use serde_json::Value;

use crate::output::{self, DIM, GOOD, NOTE};

/// Prints a response to its end, and returns the ids of the files it names.
pub(super) async fn print_answer(mut response: Response) -> anyhow::Result<Vec<String>> {
    let mut reader = StreamReader::new(Dialect::Messages, ReadContext::default());
    let mut printer = AnswerPrinter::default();
    while let Some(bytes) = response.chunk().await? {
        for event in reader.push(&bytes) {
            printer.on_event(&event)?;
        }
    }
    for event in reader.finish() {
        printer.on_event(&event)?;
    }
    Ok(printer.files)
}

#[derive(Default)]
struct AnswerPrinter {
    files: Vec<String>,
    /// The tool call in progress: its input, and the input deltas so far.
    call: Option<(Value, String)>,
    text: bool,
}

impl AnswerPrinter {
    fn on_event(&mut self, event: &StreamEvent) -> anyhow::Result<()> {
        match event {
            StreamEvent::BlockStart { block, .. } => self.start_block(&block.content),
            StreamEvent::BlockDelta { delta, .. } => self.extend_block(delta),
            StreamEvent::BlockStop { .. } => self.end_block(),
            StreamEvent::MessageDelta {
                stop_reason, usage, ..
            } => output::print_text(&format!(
                "   {DIM}end    {DIM:#} {}, {} tokens in and {} out, over all turns\n",
                stop_reason.as_ref().map_or("?", |reason| reason.as_str()),
                usage.total_input(),
                usage.output_tokens
            )),
            StreamEvent::Error(error) => bail!("the response stream failed: {}", error.message),
            _ => Ok(()),
        }
    }

    fn start_block(&mut self, content: &Content) -> anyhow::Result<()> {
        match content {
            Content::Text(text) => {
                self.text = true;
                output::print_text(&format!("   {GOOD}model  {GOOD:#} {text}"))
            }
            Content::ServerToolUse { input, .. } => {
                self.call = Some((input.clone(), String::new()));
                Ok(())
            }
            Content::ServerToolResult { content, .. } => self.print_result(content),
            _ => Ok(()),
        }
    }

    fn extend_block(&mut self, delta: &Delta) -> anyhow::Result<()> {
        match (delta, &mut self.call) {
            (Delta::Text(text), _) => output::print_text(text),
            (Delta::InputJson(more), Some((_, input))) => {
                input.push_str(more);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end_block(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.text) {
            return output::print_text("\n");
        }
        let Some((whole, pieces)) = self.call.take() else {
            return Ok(());
        };
        let input = serde_json::from_str(&pieces).unwrap_or(whole);
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        let (verb, what) = match (text("path"), text("command")) {
            (Some(path), _) => ("loads", path),
            (None, command) => ("runs", command.unwrap_or_default()),
        };
        output::print_text(&format!("   {NOTE}{verb:<7}{NOTE:#} {what}\n"))
    }

    /// A tool result: lines of a file, or a program's output and files.
    fn print_result(&mut self, content: &Value) -> anyhow::Result<()> {
        if let Some(lines) = content.get("num_lines").and_then(Value::as_u64) {
            return output::print_text(&format!("           {lines} lines of instructions\n"));
        }
        let text = |key: &str| content.get(key).and_then(Value::as_str).unwrap_or_default();
        for line in text("stdout").lines().chain(text("stderr").lines()) {
            output::print_text(&format!("           {line}\n"))?;
        }
        let made = content.get("content").and_then(Value::as_array);
        for file in made.into_iter().flatten() {
            if let Some(id) = file.get("file_id").and_then(Value::as_str) {
                output::print_text(&format!("   {NOTE}file   {NOTE:#} {id}\n"))?;
                self.files.push(id.to_owned());
            }
        }
        Ok(())
    }
}
