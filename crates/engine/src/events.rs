//! What a run tells while it goes on.

use prowess_provider::config::Price;
use prowess_wire::Dropped;
use prowess_wire::neutral::{Map, StreamEvent, Usage};
use serde_json::{Value, json};

use crate::budget::Limit;
use crate::error::RunError;

/// One thing a run tells.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most of what a run tells are pieces of its answer"
)]
pub enum RunEvent {
    /// A piece of the one answer: one start, dense indexes, one end.
    Answer(StreamEvent),
    /// What happens behind it, for those who watch.
    Step(Step),
    /// What all turns so far used, at the end of each: the answer itself says it only at
    /// its end, which a client may not wait for.
    Used(Usage),
    /// The run has failed; last.
    Failed(RunError),
}

/// What happens behind an answer.
#[derive(Debug, Clone)]
pub enum Step {
    /// A model has begun to answer.
    Turn(Turn),
    /// A tool of ours was called and begins.
    ToolStarted {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// Its arguments.
        input: Value,
    },
    /// It has ended.
    ToolEnded {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// Whether it failed.
        is_error: bool,
        /// What the model is shown.
        shown: String,
        /// How long it took, in milliseconds.
        millis: u64,
    },
    /// A skill was loaded.
    SkillLoaded {
        /// Its name.
        name: String,
    },
    /// A file was made, and is kept.
    FileMade(Made),
    /// A limit ends the run.
    LimitMet(Limit),
}

impl Step {
    /// What it is, in a word.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Step::Turn(_) => "turn",
            Step::ToolStarted { .. } => "tool_started",
            Step::ToolEnded { .. } => "tool_ended",
            Step::SkillLoaded { .. } => "skill_loaded",
            Step::FileMade(_) => "file_made",
            Step::LimitMet(_) => "limit_met",
        }
    }

    /// All there is to tell of it, for records and for programs.
    #[must_use]
    pub fn fields(&self) -> Map {
        let told = match self {
            Step::Turn(turn) => {
                let dropped = turn.dropped.iter().map(|dropped| dropped.field.as_str());
                json!({"number": turn.number, "provider": turn.provider, "model": turn.model,
                    "dropped": dropped.collect::<Vec<_>>()})
            }
            Step::ToolStarted { id, name, input } => {
                json!({"id": id, "name": name, "input": input})
            }
            Step::ToolEnded {
                id,
                name,
                is_error,
                shown,
                millis,
            } => json!({"id": id, "name": name, "is_error": is_error, "shown": shown,
                "millis": millis}),
            Step::SkillLoaded { name } => json!({"name": name}),
            Step::FileMade(made) => json!({"file": made}),
            Step::LimitMet(limit) => json!({"limit": limit.as_str()}),
        };
        match told {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

/// A turn of the model's that has begun.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Which turn of the run it is, from 1.
    pub number: u32,
    /// The provider that answers.
    pub provider: String,
    /// The model that answers, as the provider calls it.
    pub model: String,
    /// What its tokens cost, where that is configured.
    pub price: Option<Price>,
    /// What of the request could not be said to it.
    pub dropped: Vec<Dropped>,
}

/// A file that a run made.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Made {
    /// `file_…`.
    pub file_id: String,
    /// Its path below `/mnt/data`.
    pub filename: String,
    /// Its type.
    pub mime_type: String,
    /// Its bytes.
    pub size_bytes: u64,
}
