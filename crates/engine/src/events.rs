//! What a run emits while it is in progress.

use std::sync::Arc;
use std::time::SystemTime;

use prowess_provider::config::Price;
use prowess_provider::{CallFailure, RouteDecision};
use prowess_store::SkillCost;
use prowess_toolbox::{CommandRun, MissingWorker};
use prowess_wire::Dropped;
use prowess_wire::neutral::{Map, StreamEvent, TokenUsage};
use serde_json::{Value, json};

use crate::error::RunError;
use crate::turns::budget::LimitKind;

/// Failed calls in the record of one turn, and characters of an error in it.
const MAX_FAILURES: usize = 10;
const MAX_MESSAGE_CHARS: usize = 400;
/// Characters of a text in the record or the log of a run.
pub(crate) const MAX_TEXT_CHARS: usize = 4 << 10;

/// An event of a run.
#[derive(Debug)]
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
    /// What the turns cost in billionths, each at the price of the model that made it. One
    /// without a price costs nothing.
    pub cost_nanos: u64,
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

/// A call that was made, as observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedCall {
    /// When it was made.
    pub started_at: SystemTime,
    /// The commands that it ran in the sandbox.
    pub commands: Vec<CommandRun>,
    /// Set if no worker took one of them in time.
    pub missing_worker: Option<MissingWorker>,
}

/// A step of a run.
#[derive(Debug, Clone)]
pub enum RunStep {
    /// The run begins; its skills are in the catalogue that the model gets.
    Requested {
        /// The last text of the user.
        input: String,
        /// Its skills.
        skills: Vec<CalledSkill>,
    },
    /// A model has started to respond.
    TurnStarted(TurnStarted),
    /// A turn of the model has ended.
    TurnEnded {
        /// Which turn of the run it is, from 1.
        number: u32,
        /// Why it ended.
        stop_reason: Option<String>,
        /// Input tokens, cached or not.
        input_tokens: u64,
        /// Output tokens.
        output_tokens: u64,
        /// What it cost in billionths; nothing without a price.
        cost_nanos: u64,
        /// The text that the model wrote.
        output: String,
        /// When it ended.
        ended_at: SystemTime,
    },
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
        /// When it was made, and what it ran; `None` if it was not made now.
        observed: Option<ObservedCall>,
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
            RunStep::Requested { .. } => "request",
            RunStep::TurnStarted(_) => "turn",
            RunStep::TurnEnded { .. } => "turn_ended",
            RunStep::ToolStarted { .. } => "tool_started",
            RunStep::ToolEnded { .. } => "tool_ended",
            RunStep::SkillsOffered { .. } => "skills_offered",
            RunStep::SkillLoaded { .. } => "skill_loaded",
            RunStep::FileCreated(_) => "file_made",
            RunStep::LimitReached(_) => "limit_met",
        }
    }

    /// Its fields, as in records, with texts cut to what is stored of them; without texts of
    /// the conversation unless `with_content`.
    pub(crate) fn stored_fields(&self, with_content: bool) -> Map {
        let mut event = Map::from_iter([("kind".to_owned(), self.kind().into())]);
        event.extend(self.fields());
        for field in ["input", "shown"] {
            if let Some(value) = event.get_mut(field) {
                *value = match (with_content, &*value) {
                    (true, Value::String(text)) => shorten_text(text, MAX_TEXT_CHARS).into(),
                    (true, other) => shorten_text(&other.to_string(), MAX_TEXT_CHARS).into(),
                    _ => Value::Null,
                };
            }
        }
        event
    }

    /// Its fields, as in records.
    #[must_use]
    pub fn fields(&self) -> Map {
        let fields = match self {
            RunStep::Requested { input, skills } => {
                let skill = |skill: &CalledSkill| json!({"name": skill.name, "id": skill.id, "version": skill.version});
                let skills: Vec<Value> = skills.iter().map(skill).collect();
                json!({"input": input, "skills": skills})
            }
            RunStep::TurnStarted(turn) => turn.fields(),
            RunStep::TurnEnded {
                number,
                stop_reason,
                input_tokens,
                output_tokens,
                output,
                ..
            } => {
                json!({"number": number, "stop_reason": stop_reason,
                    "input_tokens": input_tokens, "output_tokens": output_tokens, "shown": output})
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
                ..
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
    /// How long the response was waited for, with all retries, in milliseconds.
    pub wait_ms: u64,
    /// Calls that failed before it.
    pub failures: Vec<CallFailure>,
    /// Why this model responds, if there was a choice.
    pub decision: Option<Box<RouteDecision>>,
    /// When the model was called; `None` if the turn is read from the journal.
    pub called_at: Option<SystemTime>,
    /// The id of its span, as sent to the provider, with [`EngineSettings::spans`].
    ///
    /// [`EngineSettings::spans`]: crate::EngineSettings::spans
    pub span: Option<String>,
}

impl TurnStarted {
    /// Its fields, as in records. Most turns have no failures.
    fn fields(&self) -> Value {
        let dropped = self.dropped.iter().map(|dropped| dropped.field.as_str());
        let dropped: Vec<&str> = dropped.collect();
        let mut fields = json!({"number": self.number, "provider": self.provider,
            "model": self.model, "dropped": dropped, "wait_ms": self.wait_ms});
        if let (false, Some(fields)) = (self.failures.is_empty(), fields.as_object_mut()) {
            let failures = self.failures.iter().take(MAX_FAILURES).map(|failure| {
                let message = shorten_text(&failure.message, MAX_MESSAGE_CHARS);
                json!({"provider": failure.provider, "model": failure.model, "error": message})
            });
            fields.insert("failures".to_owned(), failures.collect());
        }
        fields
    }
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

/// The start of a text, and how much is missing. NUL cannot be stored.
fn shorten_text(text: &str, max_chars: usize) -> String {
    let kept: String = text.chars().take(max_chars).collect();
    let more = text.len() - kept.len();
    let kept = kept.replace('\0', "\u{fffd}");
    match more {
        0 => kept,
        more => format!("{kept}\n[{more} more bytes]"),
    }
}
