//! Prints a run as JSON, one line per event.

use std::path::Path;

use prowess_engine::RunStep;
use prowess_wire::neutral::{Delta, Map, StreamEvent};
use serde_json::{Value, json};

use super::RunReporter;
use crate::{display_path, output};
use prowess::{Event, RunOutput};

/// Prints a run as JSON lines.
pub(super) struct JsonLinesReporter;

impl RunReporter for JsonLinesReporter {
    fn on_event(&mut self, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::Text(text) => write_line(&json!({"type": "text", "text": text})),
            Event::Step(step) => write_line(&step_json(step)),
            Event::Stream(StreamEvent::BlockDelta {
                delta: Delta::Thinking(text),
                ..
            }) => write_line(&json!({"type": "thinking", "text": text})),
            Event::Stream(_) => Ok(()),
        }
    }

    fn on_saved(&mut self, path: &Path) -> anyhow::Result<()> {
        write_line(&json!({"type": "saved", "path": display_path(path)}))
    }

    fn on_ended(&mut self, answer: &RunOutput) -> anyhow::Result<()> {
        let (response, usage) = (&answer.response, &answer.response.usage);
        write_line(&json!({
            "type": "ended",
            "run": answer.run,
            "model": response.model,
            "stop_reason": response.stop_reason.as_ref().map(|reason| reason.as_str()),
            "input_tokens": usage.total_input(),
            "output_tokens": usage.output_tokens,
            "container": answer.container(),
        }))
    }

    fn on_failed(&mut self, code: &str, message: &str) -> anyhow::Result<()> {
        write_line(&json!({"type": "error", "code": code, "message": message}))
    }
}

fn step_json(step: &RunStep) -> Value {
    let mut fields = Map::from_iter([("type".to_owned(), step.kind().into())]);
    fields.extend(step.fields());
    fields.into()
}

fn write_line(value: &Value) -> anyhow::Result<()> {
    output::print_json_lines(&format!("{value}\n"))
}
