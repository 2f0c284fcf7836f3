//! One event of a run, as the API has it: in the record of the run, or while it is watched.

use serde::Deserialize;

use crate::format;
use crate::preview::{file_preview_url, file_url};
use crate::query::segment;

/// An event of a run. Which fields are there depends on its kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WatchedStep {
    pub(crate) kind: String,
    /// Milliseconds since the run began.
    pub(crate) at_ms: Option<i64>,
    /// Which turn it is.
    pub(crate) number: Option<u32>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    /// How long the model's response was waited for.
    pub(crate) wait_ms: Option<i64>,
    /// Calls of models that failed before the turn.
    pub(crate) failures: Vec<FailedCall>,
    /// Fields of the request that the provider does not support.
    pub(crate) dropped: Vec<String>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    /// The id of a tool call.
    pub(crate) id: Option<String>,
    /// Of a tool or a skill.
    pub(crate) name: Option<String>,
    /// The arguments of a call, or what the user asked; absent if texts are not recorded.
    pub(crate) input: Option<String>,
    /// The result of a call, or what the model wrote.
    pub(crate) shown: Option<String>,
    pub(crate) is_error: bool,
    /// How long a call took.
    pub(crate) millis: Option<i64>,
    /// The skill of a call.
    pub(crate) skill: Option<String>,
    /// The skills that the model knows of.
    pub(crate) skills: Vec<StepSkill>,
    /// How many skills are offered, or events left out.
    pub(crate) count: Option<u64>,
    pub(crate) events: Option<u64>,
    pub(crate) file: Option<MadeFile>,
    pub(crate) limit: Option<String>,
    /// A piece of the response.
    pub(crate) text: Option<String>,
    /// An error.
    pub(crate) message: Option<String>,
    /// How the run ended.
    pub(crate) status: Option<String>,
}

/// A call of a model that failed and was made again.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FailedCall {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) error: String,
}

/// A skill of a run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StepSkill {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) loaded: bool,
    pub(crate) calls: u64,
}

/// A file that a run created.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MadeFile {
    pub(crate) file_id: String,
    pub(crate) filename: String,
    pub(crate) mime_type: String,
    pub(crate) size_bytes: u64,
}

impl StepSkill {
    /// The page of the skill.
    pub(crate) fn url(&self) -> String {
        let id = self.id.as_deref().unwrap_or_default();
        format!("/console/skills/{}", segment(id))
    }
}

impl MadeFile {
    /// Its size, for people.
    pub(crate) fn size(&self) -> String {
        format::bytes(self.size_bytes)
    }

    /// Where its bytes are.
    pub(crate) fn url(&self) -> String {
        file_url(&self.file_id)
    }

    /// Where its preview is.
    pub(crate) fn preview_url(&self) -> String {
        file_preview_url(&self.file_id)
    }
}

impl WatchedStep {
    /// Whether a call loads a skill.
    pub(crate) fn is_load(&self) -> bool {
        let name = self.name.as_deref().unwrap_or_default();
        name == "load_skill" || name.starts_with("skills_load")
    }

    /// The name of the tool or skill.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("unnamed")
    }

    /// The command of a call of a shell; else its arguments as they are.
    pub(crate) fn command(&self) -> Option<String> {
        let input = self.input.as_deref()?;
        let parsed: Option<serde_json::Value> = serde_json::from_str(input).ok();
        let command = parsed
            .as_ref()
            .and_then(|input| input.get("command")?.as_str());
        Some(command.unwrap_or(input).to_owned())
    }
}
