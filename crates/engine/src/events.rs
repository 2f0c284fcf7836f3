//! What a run tells while it goes on.

use prowess_provider::config::Price;
use prowess_wire::Dropped;
use prowess_wire::neutral::{Map, StreamEvent, TokenUsage};
use serde_json::{Value, json};

use crate::budget::LimitKind;
use crate::error::RunError;

/// One thing a run tells.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most of what a run tells are pieces of its answer"
)]
pub enum RunEvent {
    /// A piece of the one answer: one start, dense indexes, one end.
    Response(StreamEvent),
    /// What happens behind it, for those who watch.
    Step(RunStep),
    /// What all turns so far used, at the end of each: the answer itself says it only at
    /// its end, which a client may not wait for.
    Usage(TokenUsage),
    /// The run has failed; last.
    Failed(RunError),
}

/// What happens behind an answer.
#[derive(Debug, Clone)]
pub enum RunStep {
    /// A model has begun to answer.
    TurnStarted(TurnStarted),
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
        output: String,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// A skill was loaded.
    SkillLoaded {
        /// Its name.
        name: String,
    },
    /// A file was made, and is kept.
    FileCreated(OutputFile),
    /// A limit ends the run.
    LimitReached(LimitKind),
}

impl RunStep {
    /// What it is, in a word.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            RunStep::TurnStarted(_) => "turn",
            RunStep::ToolStarted { .. } => "tool_started",
            RunStep::ToolEnded { .. } => "tool_ended",
            RunStep::SkillLoaded { .. } => "skill_loaded",
            RunStep::FileCreated(_) => "file_made",
            RunStep::LimitReached(_) => "limit_met",
        }
    }

    /// All there is to tell of it, for records and for programs.
    #[must_use]
    pub fn fields(&self) -> Map {
        let fields = match self {
            RunStep::TurnStarted(turn) => {
                let dropped = turn.dropped.iter().map(|dropped| dropped.field.as_str());
                json!({"number": turn.number, "provider": turn.provider, "model": turn.model,
                    "dropped": dropped.collect::<Vec<_>>()})
            }
            RunStep::ToolStarted { id, name, input } => {
                json!({"id": id, "name": name, "input": input})
            }
            RunStep::ToolEnded {
                id,
                name,
                is_error,
                output,
                duration_ms,
            } => json!({"id": id, "name": name, "is_error": is_error, "shown": output,
                "millis": duration_ms}),
            RunStep::SkillLoaded { name } => json!({"name": name}),
            RunStep::FileCreated(made) => json!({"file": made}),
            RunStep::LimitReached(limit) => json!({"limit": limit.as_str()}),
        };
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

/// A turn of the model's that has begun.
#[derive(Debug, Clone)]
pub struct TurnStarted {
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
pub struct OutputFile {
    /// `file_…`.
    pub file_id: String,
    /// Its path below `/mnt/data`.
    pub filename: String,
    /// Its type.
    pub mime_type: String,
    /// Its bytes.
    pub size_bytes: u64,
}
