//! What a toolbox is made of, and what a model is told of its tools. Plain data.

use prowess_skill::Skill;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does and when to call it.
    pub description: String,
    /// JSON Schema of its arguments, always of an object.
    pub input_schema: Value,
}

/// A skill in a toolbox.
#[derive(Debug, Clone)]
pub struct Member {
    /// The skill.
    pub skill: Arc<Skill>,
    /// Its id, `skill_…`, when it is stored.
    pub id: Option<String>,
    /// The title it is shown to people by.
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

/// What a toolbox is to offer.
#[derive(Debug, Clone)]
pub struct ToolboxOptions {
    /// How skills are loaded.
    pub load_style: LoadToolStyle,
    /// Whether to offer `bash_code_execution` and `text_editor_code_execution`.
    pub code_execution: bool,
    /// Whether to offer LiteLLM's tools: `litellm_code_execution(code)` and one per
    /// skill.
    pub litellm: bool,
    /// Whether the description of `load_skill` lists the skills. Turn it off where the
    /// system prompt does.
    pub catalogue: bool,
    /// Whether to show `list_skills`, `read_skill_resource` and `run_skill_script`
    /// even where `load_skill` and bash say the same: some clients look for them.
    /// They are answered in any case.
    pub show_compat_tools: bool,
    /// Whether loading a loaded skill again is first answered by a reminder. Turn it off
    /// where several conversations share one toolbox: what one of them was told, another
    /// was not.
    pub remind_if_loaded: bool,
    /// Bounds on what a model is shown.
    pub limits: ToolboxLimits,
    /// Names of the client's own tools, which ours never take.
    pub reserved_names: Vec<String>,
    /// A tighter wall-clock bound on one call than the policy's.
    pub timeout: Option<Duration>,
    /// What `build_tools(ctx)` of a `tools.py` finds in `ctx.metadata`.
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
            limits: ToolboxLimits::default(),
            reserved_names: Vec::new(),
            timeout: None,
            context: Map::new(),
        }
    }
}

/// Most bytes of what a model is shown. Every cut is named where it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolboxLimits {
    /// The catalogue of skills in a description. Some providers take no description
    /// of more than 1,024 bytes: where one is not known to be others, set it so.
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
