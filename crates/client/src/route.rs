//! Ranks the skills of a server for a task.

use serde::{Deserialize, Serialize};

use crate::connection::{Client, encode_query};
use crate::error::Error;

/// The skills that fit a task, best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillRanking {
    /// The skills.
    #[serde(rename = "data")]
    pub skills: Vec<RankedSkill>,
    /// What a request that names no skills would offer of them.
    pub catalogue: CatalogueSize,
    /// Whether vectors took part: only on a server with a model for them.
    #[serde(default)]
    pub vectors: bool,
}

/// A skill that fits a task, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedSkill {
    /// 1 for the best.
    pub rank: usize,
    /// How well it fits; comparable within one ranking only.
    pub score: f64,
    /// How similar its vector is to that of the task, if that counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// `skill_…`; none for a skill that is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// `skver_…`; none for a skill that is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_id: Option<String>,
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The words of the task that it has; those that say most first.
    pub matched: Vec<WordMatch>,
    /// Bytes of its line in a catalogue.
    pub catalogue_bytes: usize,
    /// Whether a catalogue has space for it and all before it, and models may load it.
    pub in_catalogue: bool,
}

/// A word of a task, and the fields of a skill that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordMatch {
    /// The word.
    pub word: String,
    /// `name`, `description`, `headings`, `body`.
    pub fields: Vec<String>,
}

/// How much of a ranking a catalogue has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueSize {
    /// Skills in it.
    pub skills: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Bytes that it may have.
    pub limit_bytes: usize,
}

impl Client {
    /// The skills that fit a task, best first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn route(&self, task: &str, limit: usize) -> Result<SkillRanking, Error> {
        let limit = limit.to_string();
        let query = encode_query(&[("query", task), ("limit", &limit)]);
        self.get(&format!("/skills/search?{query}")).await
    }
}
