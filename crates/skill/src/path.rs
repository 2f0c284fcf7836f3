//! The one rule for names of files inside a skill.
//!
//! A name from an archive, a form part or a frontmatter is hostile until it has
//! become a [`SkillPath`]. Everything after that point, on every platform, may
//! join it below a folder without another thought.

use std::fmt;

use serde::Serialize;

/// A checked, relative, `/`-separated path inside a skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SkillPath(String);

impl SkillPath {
    /// The path as text, always with `/` between its parts.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a name cannot be a path inside a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The name is empty, or a part of it is.
    #[error("the name is empty or has an empty part")]
    Empty,
}
