//! The script file: its steps, and which one matches.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;

use super::request_view::RequestView;
use crate::config::ScriptedOptions;
use crate::small_file::read_small_file;

/// A larger file is not a script but a wrong path.
const MAX_SCRIPT_BYTES: u64 = 4 << 20;

/// Why a script cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the script {} cannot be read: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// It is not a script.
    #[error("the script is not valid: {reason}")]
    Invalid {
        /// The parser's message, with line and column.
        reason: String,
    },
}

impl ScriptError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            ScriptError::File { .. } => "script-unreadable",
            ScriptError::Invalid { .. } => "script-invalid",
        }
    }
}

/// A loaded script.
#[derive(Debug)]
pub(crate) struct ModelScript {
    steps: Vec<ScriptStep>,
    pub(super) embeddings: ScriptedEmbeddings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptToml {
    #[serde(default)]
    step: Vec<ScriptStep>,
    #[serde(default)]
    embeddings: ScriptedEmbeddings,
}

/// A condition and a response.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptStep {
    #[serde(default)]
    when: StepCondition,
    times: Option<u32>,
    #[serde(skip)]
    used: AtomicU32,
    pub(super) thinking: Option<String>,
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) calls: Vec<ScriptedCall>,
    pub(super) stop: Option<String>,
    pub(super) usage: Option<ScriptedUsage>,
    #[serde(default)]
    pub(super) pace: ScriptedPace,
    pub(super) error: Option<ScriptedFailure>,
    pub(super) cut_after: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepCondition {
    user: Option<String>,
    tool_result: Option<String>,
    system: Option<String>,
    model: Option<String>,
    turn: Option<usize>,
    #[serde(default)]
    tools: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedCall {
    pub(super) name: String,
    #[serde(default)]
    pub(super) input: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedPace {
    /// Characters per event; 0 for all at once.
    #[serde(default)]
    pub(super) chunk: usize,
    #[serde(default)]
    pub(super) delay_ms: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedFailure {
    pub(super) status: u16,
    pub(super) message: String,
    pub(super) retry_after_ms: Option<u64>,
    /// Events of the stream that precede it.
    pub(super) after: Option<usize>,
}

/// How a script answers requests for embeddings.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedEmbeddings {
    pub(super) dimensions: Option<usize>,
    /// Words that mean the same, list by list.
    #[serde(default)]
    pub(super) synonyms: Vec<Vec<String>>,
    #[serde(default)]
    pub(super) delay_ms: u64,
    pub(super) error: Option<ScriptedFailure>,
}

impl ModelScript {
    pub(crate) fn load(options: &ScriptedOptions) -> Result<Self, ScriptError> {
        match options {
            ScriptedOptions::Text(text) => ModelScript::parse(text),
            ScriptedOptions::File(path) => ModelScript::parse(&read_script(path)?),
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, ScriptError> {
        let file: ScriptToml = toml::from_str(text).map_err(|error| ScriptError::Invalid {
            reason: error.to_string(),
        })?;
        match file.step.iter().position(ScriptStep::is_empty) {
            Some(at) => Err(ScriptError::Invalid {
                reason: format!(
                    "step {} has no response; give it text, calls, thinking or an error",
                    at + 1
                ),
            }),
            None => Ok(ModelScript {
                steps: file.step,
                embeddings: file.embeddings,
            }),
        }
    }

    /// The first step that matches; it counts as used.
    pub(super) fn next_step(&self, view: &RequestView<'_>) -> Option<&ScriptStep> {
        self.steps
            .iter()
            .find(|step| step.when.is_met(view) && step.try_use())
    }
}

fn read_script(path: &Path) -> Result<String, ScriptError> {
    read_small_file(path, MAX_SCRIPT_BYTES).map_err(|error| ScriptError::File {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

impl ScriptStep {
    fn is_empty(&self) -> bool {
        self.text.is_none()
            && self.thinking.is_none()
            && self.calls.is_empty()
            && self.error.is_none()
            && self.cut_after.is_none()
    }

    /// Uses one of the times that the step may respond.
    fn try_use(&self) -> bool {
        let Some(times) = self.times else {
            return true;
        };
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                (used < times).then_some(used + 1)
            });
        taken.is_ok()
    }
}

impl StepCondition {
    fn is_met(&self, view: &RequestView<'_>) -> bool {
        let contains = |text: &str, part: &Option<String>| {
            part.as_ref().is_none_or(|part| text.contains(part))
        };
        contains(&view.user, &self.user)
            && contains(&view.tool_result, &self.tool_result)
            && contains(&view.system, &self.system)
            && self.turn.is_none_or(|turn| turn == view.turn)
            && self.model.as_ref().is_none_or(|model| model == view.model)
            && self.tools.iter().all(|tool| view.has_tool(tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_a_script_is_named_with_its_line() {
        let error =
            ModelScript::parse("[[step]]\ntext = 'a'\n[step.when]\nusr = 'b'\n").unwrap_err();
        insta::assert_snapshot!(error, @r"
        the script is not valid: TOML parse error at line 4, column 1
          |
        4 | usr = 'b'
          | ^^^
        unknown field `usr`, expected one of `user`, `tool_result`, `system`, `model`, `turn`, `tools`
        ");
        let error = ModelScript::parse("[[step]]\nwhen.turn = 1\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the script is not valid: step 1 has no response; give it text, calls, thinking or an error"
        );
    }
}
