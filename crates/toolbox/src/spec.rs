//! What a toolbox consists of, and how tools are described to a model. Plain data.

use prowess_skill::Skill;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does and when to call it.
    pub description: String,
    /// JSON Schema of its arguments, always of an object.
    pub input_schema: Value,
}

/// The names of the toolbox's own tools, as far as it has them: a tool of the client may
/// already have the usual one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnToolNames {
    /// Loads a skill.
    pub load: Option<String>,
    /// Searches for skills.
    pub search: Option<String>,
    /// Runs a command line.
    pub bash: Option<String>,
    /// Views and edits files.
    pub editor: Option<String>,
}

/// A skill in a toolbox.
#[derive(Debug, Clone)]
pub struct Member {
    /// The skill.
    pub skill: Arc<Skill>,
    /// Its id, `skill_…`, when it is stored.
    pub id: Option<String>,
    /// The title shown to people.
    pub title: Option<String>,
}

impl From<Skill> for Member {
    fn from(skill: Skill) -> Self {
        Self {
            skill: Arc::new(skill),
            id: None,
            title: None,
        }
    }
}

/// How skills are offered for loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadToolStyle {
    /// One tool for all: `load_skill(name, path?)`.
    #[default]
    Compact,
    /// One tool per skill: `load_skill_NAME(path?)`, described by its frontmatter.
    PerSkill,
}

/// What a toolbox offers.
#[derive(Debug, Clone)]
pub struct ToolboxOptions {
    /// How skills are loaded.
    pub load_style: LoadToolStyle,
    /// Whether to offer `bash_code_execution` and `text_editor_code_execution`.
    pub code_execution: bool,
    /// Whether to offer LiteLLM's tools: `litellm_code_execution(code)` and one per
    /// skill.
    pub litellm: bool,
    /// Whether the description of `load_skill` lists the skills. Turn it off if the system
    /// prompt does.
    pub catalogue: bool,
    /// Whether to show `list_skills`, `read_skill_resource` and `run_skill_script`
    /// although `load_skill` and bash do the same: some clients expect them. They can be
    /// called in any case.
    pub show_compat_tools: bool,
    /// Whether loading a loaded skill again first returns a reminder. Turn it off if several
    /// conversations share one toolbox: only one of them has seen the instructions.
    pub remind_if_loaded: bool,
    /// Whether calls that the `allowed-tools` of a loaded skill do not permit are refused. Turn it
    /// off if several conversations share one toolbox: a skill that one of them has loaded must not
    /// restrict the others. The model of the one that loads it is informed in any case.
    pub enforce_allowed_tools: bool,
    /// Bounds on what a model is shown.
    pub limits: ToolboxLimits,
    /// Names of the client's own tools, which the toolbox never uses.
    pub reserved_names: Vec<String>,
    /// A tighter wall-clock bound on one call than the policy's.
    pub timeout: Option<Duration>,
    /// The `ctx.metadata` of `build_tools(ctx)` in a `tools.py`.
    pub context: Map<String, Value>,
}

impl Default for ToolboxOptions {
    fn default() -> Self {
        Self {
            load_style: LoadToolStyle::Compact,
            code_execution: false,
            litellm: false,
            catalogue: true,
            show_compat_tools: false,
            remind_if_loaded: true,
            enforce_allowed_tools: true,
            limits: ToolboxLimits::default(),
            reserved_names: Vec::new(),
            timeout: None,
            context: Map::new(),
        }
    }
}

/// Limits in bytes of what a model is shown. Every truncation is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolboxLimits {
    /// The catalogue of skills in a description. Some providers accept at most 1,024 bytes
    /// per description: set it so for an unknown provider.
    pub catalogue_bytes: usize,
    /// The text of one file, or of a skill's instructions.
    pub text_bytes: usize,
    /// One file that is not text.
    pub binary_bytes: usize,
    /// The text of one call's result.
    pub result_bytes: usize,
}

impl Default for ToolboxLimits {
    fn default() -> Self {
        Self {
            catalogue_bytes: 16 << 10,
            text_bytes: 128 << 10,
            binary_bytes: 5 << 20,
            result_bytes: 64 << 10,
        }
    }
}
