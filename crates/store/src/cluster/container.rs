//! A container of a cluster as it is stored.

use prowess_skill::Digest;
use serde_json::Value;

use crate::blob::parse_digest;
use crate::db::DbRow;
use crate::error::{Error, Result};
use crate::time::Timestamp;

/// A container of a cluster, without its files: those are read by
/// [`Store::container_files`](crate::Store::container_files).
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterContainer {
    /// `container_…`.
    pub id: String,
    /// What it was set up with, as written by the code that created it.
    pub setup: Value,
    /// The packages that its skills require, as written by the code that created it.
    pub requirements: Option<String>,
    /// Its skills, by folder.
    pub skills: Vec<ClusterSkill>,
    /// How often its files were changed.
    pub generation: i64,
    /// The digest of all files of this generation, if it is known.
    pub files_digest: Option<Digest>,
    /// The bytes of its files.
    pub stored_bytes: u64,
    /// The worker that ran its last command.
    pub worker: Option<String>,
    /// When it was created, on the clock of the database.
    pub created_at: Timestamp,
    /// When it was last used, on the clock of the database.
    pub used_at: Timestamp,
}

/// A skill of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSkill {
    /// The folder that it is mounted as.
    pub folder: String,
    /// The digest of all its files, as written by the code that mounted it.
    pub digest: String,
    /// Its files, by path.
    pub files: Vec<ClusterSkillFile>,
}

/// A file of a skill of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSkillFile {
    /// Its path below the folder.
    pub path: String,
    /// Its content.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

impl ClusterContainer {
    /// A container without its skills, from a row of [`select`](super::rows::select).
    pub(super) fn from_row(row: &DbRow) -> Result<Self> {
        let digest = row.optional_text("files_digest")?;
        Ok(ClusterContainer {
            id: row.text("id")?,
            setup: read_setup(row)?,
            requirements: row.optional_text("requirements")?,
            skills: Vec::new(),
            generation: row.int("generation")?,
            files_digest: digest.as_deref().map(parse_digest).transpose()?,
            stored_bytes: u64::try_from(row.int("stored_bytes")?).unwrap_or_default(),
            worker: row.optional_text("worker")?,
            created_at: row.time("created_at")?,
            used_at: row.time("used_at")?,
        })
    }
}

/// The setup of a row.
pub(super) fn read_setup(row: &DbRow) -> Result<Value> {
    let setup = serde_json::from_str(&row.text("setup")?);
    setup.map_err(|error| Error::MalformedRow {
        table: "cluster_containers",
        reason: format!("setup: {error}"),
    })
}
