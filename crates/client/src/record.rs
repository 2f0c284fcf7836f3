//! Skills and versions as a server returns them.

use serde::{Deserialize, Serialize};

/// A skill on the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteSkill {
    /// `skill_…`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The version used if none is named.
    pub default_version: String,
    /// The newest version.
    pub latest_version: String,
    /// Seconds since 1970.
    pub created_at: i64,
}

/// A version of a skill on the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteVersion {
    /// `skver_…`.
    pub id: String,
    /// 1, 2, 3, … in the skill.
    pub version: String,
    /// What the skill did and when to use it.
    pub description: String,
    /// Seconds since 1970.
    pub created_at: i64,
}
