//! A run as JSON, a line for each thing that happens.

use std::path::Path;

use prowess_engine::Step;
use prowess_wire::neutral::{Delta, Map, StreamEvent};
use serde_json::{Value, json};

use super::Teller;
use crate::cli::{output, shown};
use crate::library::{Answer, Event};

/// Prints a run as JSON lines.
pub(super) struct Lines;

impl Teller for Lines {
    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::Text(text) => line(&json!({"type": "text", "text": text})),
            Event::Step(step) => line(&told(step)),
            Event::Piece(StreamEvent::BlockDelta {
                delta: Delta::Thinking(text),
                ..
            }) => line(&json!({"type": "thinking", "text": text})),
            Event::Piece(_) => Ok(()),
        }
    }

    fn saved(&mut self, path: &Path) -> anyhow::Result<()> {
        line(&json!({"type": "saved", "path": shown(path)}))
    }

    fn ended(&mut self, answer: &Answer) -> anyhow::Result<()> {
        let (response, usage) = (&answer.response, &answer.response.usage);
        line(&json!({
            "type": "ended",
            "run": answer.run,
            "model": response.model,
            "stop_reason": response.stop_reason.as_ref().map(|reason| reason.as_str()),
            "input_tokens": usage.total_input(),
            "output_tokens": usage.output_tokens,
            "container": answer.container(),
        }))
    }

    fn failed(&mut self, code: &str, message: &str) -> anyhow::Result<()> {
        line(&json!({"type": "error", "code": code, "message": message}))
    }
}

fn told(step: &Step) -> Value {
    let mut told = Map::from_iter([("type".to_owned(), step.kind().into())]);
    told.extend(step.fields());
    told.into()
}

fn line(value: &Value) -> anyhow::Result<()> {
    output::data(&format!("{value}\n"))
}
