//! What a skill is: a bundle whose SKILL.md has been read and checked. Types only; `load`
//! makes a skill from files.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::bundle::Bundle;
use crate::diagnostic::{Diagnostic, Severity};
use crate::fields::allowed_tools::AllowedTools;
use crate::fields::invocation::Invocation;
use crate::fields::tools::DeclaredTool;
use crate::frontmatter::SourceText;
use crate::limits::BundleLimits;
use crate::manifest::Manifest;

/// A loaded skill.
#[derive(Debug, Clone, Serialize)]
pub struct Skill {
    /// Its name: the frontmatter's, else the folder's. A label; never a path.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// `license`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// `compatibility`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// `version`, or `metadata.version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `metadata`, as written.
    pub metadata: Map<String, Value>,
    /// `allowed-tools`.
    pub allowed_tools: AllowedTools,
    /// `requires`.
    pub requires: Vec<String>,
    /// Who may start it, when, and with what.
    pub invocation: Invocation,
    /// Declared tools.
    pub tools: Vec<DeclaredTool>,
    /// Whether there is a `tools.py`, whose functions become tools when loaded.
    pub python_tools: bool,
    /// All fields as JSON, in order, unknown ones included.
    pub frontmatter: Map<String, Value>,
    /// The files by digest.
    pub manifest: Manifest,
    /// The Markdown after the frontmatter.
    #[serde(skip)]
    pub body: String,
    /// The files.
    #[serde(skip)]
    pub bundle: Bundle,
}

/// By which rules a skill is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Load what can be loaded; report the rest.
    #[default]
    Lenient,
    /// What the reference validator refuses is an error.
    Strict,
    /// What the large hosts refuse on upload is an error too.
    Upload,
}

/// How to load a skill.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions<'a> {
    /// Bounds on the input.
    pub limits: BundleLimits,
    /// How much deviations weigh.
    pub profile: Profile,
    /// The name of the folder it came from, which the skill's must match; an
    /// archive's own top folder goes before it.
    pub folder: Option<&'a str>,
    /// What to call a skill that has neither a name nor a folder.
    pub fallback_name: Option<&'a str>,
}

/// What came of loading a skill.
#[derive(Debug, Clone)]
pub struct LoadedSkill {
    /// The skill, unless an error prevents loading it.
    pub skill: Option<Skill>,
    /// Everything that deviates, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// The text of the SKILL.md, in which the diagnostics' places count.
    pub source: Option<SourceText>,
}

impl LoadedSkill {
    /// Whether the skill passes the profile it was loaded by.
    pub fn is_valid(&self) -> bool {
        self.skill.is_some()
            && !self
                .diagnostics
                .iter()
                .any(|d| d.severity == Severity::Error)
    }

    pub(crate) fn from_error(diagnostic: Diagnostic) -> LoadedSkill {
        LoadedSkill {
            skill: None,
            diagnostics: vec![diagnostic],
            source: None,
        }
    }
}
