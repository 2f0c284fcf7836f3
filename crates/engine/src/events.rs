//! What a run tells while it goes on.

use prowess_provider::config::Price;
use prowess_wire::Dropped;
use prowess_wire::neutral::StreamEvent;
use serde_json::Value;

use crate::budget::Limit;
use crate::error::RunError;

/// One thing a run tells.
#[derive(Debug)]
pub enum RunEvent {
    /// A piece of the one answer: one start, dense indexes, one end.
    Answer(StreamEvent),
    /// What happens behind it, for those who watch.
    Step(Step),
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
