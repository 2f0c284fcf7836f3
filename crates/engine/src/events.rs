//! What a run emits while it is in progress.

use std::sync::Arc;

use prowess_provider::config::Price;
use prowess_store::SkillCost;
use prowess_wire::Dropped;
use prowess_wire::neutral::{Map, StreamEvent, TokenUsage};
use serde_json::{Value, json};

use crate::error::RunError;
use crate::turns::budget::LimitKind;

/// An event of a run.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most events of a run are chunks of its response"
)]
pub enum RunEvent {
    /// A chunk of the response: one start, dense indexes, one end.
    Response(StreamEvent),
    /// What happens besides, for progress displays and records.
    Step(RunStep),
    /// What was used so far, after each turn and after the calls of each turn. The response has
    /// it only at its end, which a client may not wait for.
    Usage(RunTotals),
    /// The run has failed; the last event.
    Failed(RunError),
}

/// What a run has used so far.
#[derive(Debug, Clone, Default)]
pub struct RunTotals {
    /// Tokens of all turns.
    pub tokens: TokenUsage,
    /// Time in the sandbox.
    pub sandbox_millis: u64,
    /// What skills took of that, sorted by name.
    pub skills: Arc<[SkillCost]>,
}

/// The skill of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalledSkill {
    /// Its name.
    pub name: String,
    /// Its id, if it is stored.
    pub id: Option<String>,
    /// The id of its version.
    pub version: Option<String>,
}

/// A step of a run.
#[derive(Debug, Clone)]
pub enum RunStep {
    /// A model has started to respond.
    TurnStarted(TurnStarted),
    /// A call of one of Prowess's tools has started.
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
        /// The skill that it was for, if that is known.
        skill: Option<CalledSkill>,
        /// The result that the model reads.
        output: String,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// Stored skills are offered that the request does not name.
    SkillsOffered {
        /// How many.
        count: usize,
    },
    /// A skill was loaded.
    SkillLoaded {
        /// Its name.
        name: String,
    },
    /// A file was created and stored.
    FileCreated(OutputFile),
    /// A limit ends the run.
    LimitReached(LimitKind),
}

impl RunStep {
    /// Its kind, as in records.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            RunStep::TurnStarted(_) => "turn",
            RunStep::ToolStarted { .. } => "tool_started",
            RunStep::ToolEnded { .. } => "tool_ended",
            RunStep::SkillsOffered { .. } => "skills_offered",
            RunStep::SkillLoaded { .. } => "skill_loaded",
            RunStep::FileCreated(_) => "file_made",
            RunStep::LimitReached(_) => "limit_met",
        }
    }

    /// Its fields, as in records.
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
                skill,
                output,
                duration_ms,
            } => {
                let skill = skill.as_ref().map(|skill| &skill.name);
                json!({"id": id, "name": name, "skill": skill, "is_error": is_error,
                    "shown": output, "millis": duration_ms})
            }
            RunStep::SkillsOffered { count } => json!({"count": count}),
            RunStep::SkillLoaded { name } => json!({"name": name}),
            RunStep::FileCreated(file) => json!({"file": file}),
            RunStep::LimitReached(limit) => json!({"limit": limit.as_str()}),
        };
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

/// A turn of the model that has started.
#[derive(Debug, Clone)]
pub struct TurnStarted {
    /// Which turn of the run it is, from 1.
    pub number: u32,
    /// The provider that responds.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// Its price, where one is configured.
    pub price: Option<Price>,
    /// Fields of the request that it does not support.
    pub dropped: Vec<Dropped>,
}

/// A file that a run created.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OutputFile {
    /// `file_…`.
    pub file_id: String,
    /// Its path below `/mnt/data`.
    pub filename: String,
    /// Its MIME type.
    pub mime_type: String,
    /// Its size.
    pub size_bytes: u64,
}
