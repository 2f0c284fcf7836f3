//! The records of skills and versions that callers receive.

use prowess_skill::{Digest, Manifest};
use serde_json::{Map, Value};

use super::ScanRecord;
use crate::db::DbRow;
use crate::error::{Error, Result};
use crate::time::Timestamp;

/// A skill. Its name never changes; everything else is in its versions.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillRecord {
    /// `skill_…`.
    pub id: String,
    /// The name of all its versions.
    pub name: String,
    /// Its display title, if it has one.
    pub title: Option<String>,
    /// Where it comes from.
    pub source: SkillSource,
    /// The newest version that is not revoked, or the newest of all if every one is; `None` if
    /// all have been deleted.
    pub latest: Option<VersionRef>,
    /// The version used when none is named; `None` if all have been deleted.
    pub default: Option<VersionRef>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When a version was last added, deleted, revoked or restored, or the default changed.
    pub updated_at: Timestamp,
}

impl SkillRecord {
    /// The title, else the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// The columns that [`SkillRecord::from_row`] needs, from `skills s`, up to its
    /// WHERE.
    pub(super) const SELECT: &'static str = "
        SELECT s.id, s.name, s.title, s.source, s.created_at, s.updated_at,
               l.id AS latest_id, l.number AS latest_number, l.ordinal AS latest_ordinal,
               l.description AS latest_description, l.digest AS latest_digest,
               lm.revoked_at AS latest_revoked_at,
               d.id AS default_id, d.number AS default_number, d.ordinal AS default_ordinal,
               d.description AS default_description, d.digest AS default_digest,
               dm.revoked_at AS default_revoked_at
        FROM skills s
        LEFT JOIN versions l ON l.id = s.latest_version
        LEFT JOIN version_marks lm ON lm.version = s.latest_version
        LEFT JOIN versions d ON d.id = s.default_version
        LEFT JOIN version_marks dm ON dm.version = s.default_version";

    pub(super) fn from_row(row: &DbRow) -> Result<Self> {
        Ok(SkillRecord {
            id: row.text("id")?,
            name: row.text("name")?,
            title: row.optional_text("title")?,
            source: SkillSource::parse(&row.text("source")?)?,
            latest: VersionRef::from_row(row, &LATEST_COLUMNS)?,
            default: VersionRef::from_row(row, &DEFAULT_COLUMNS)?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    }
}

/// A reference to a version: its three names, and its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRef {
    /// `skver_…`.
    pub id: String,
    /// Microseconds since 1970, larger than any before it in the skill.
    pub number: i64,
    /// 1, 2, 3, … in the skill.
    pub ordinal: i64,
    /// What the skill does and when to use it.
    pub description: String,
    /// Digest of all its files.
    pub digest: Digest,
    /// Whether it is revoked: then no version of the skill can be used.
    pub is_revoked: bool,
}

/// The names of six columns.
struct VersionRefColumns {
    id: &'static str,
    number: &'static str,
    ordinal: &'static str,
    description: &'static str,
    digest: &'static str,
    revoked_at: &'static str,
}

const LATEST_COLUMNS: VersionRefColumns = VersionRefColumns {
    id: "latest_id",
    number: "latest_number",
    ordinal: "latest_ordinal",
    description: "latest_description",
    digest: "latest_digest",
    revoked_at: "latest_revoked_at",
};

const DEFAULT_COLUMNS: VersionRefColumns = VersionRefColumns {
    id: "default_id",
    number: "default_number",
    ordinal: "default_ordinal",
    description: "default_description",
    digest: "default_digest",
    revoked_at: "default_revoked_at",
};

impl VersionRef {
    fn from_row(row: &DbRow, columns: &VersionRefColumns) -> Result<Option<Self>> {
        let Some(id) = row.optional_text(columns.id)? else {
            return Ok(None);
        };
        Ok(Some(VersionRef {
            id,
            number: row.int(columns.number)?,
            ordinal: row.int(columns.ordinal)?,
            description: row.text(columns.description)?,
            digest: parse_column("digest", row.text(columns.digest)?)?,
            is_revoked: row.optional_int(columns.revoked_at)?.is_some(),
        }))
    }
}

/// A version, as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionRecord {
    /// `skver_…`.
    pub id: String,
    /// The skill it is a version of.
    pub skill: String,
    /// Microseconds since 1970, larger than any before it in the skill.
    pub number: i64,
    /// 1, 2, 3, … in the skill. Never reused, even after a deletion.
    pub ordinal: i64,
    /// The skill's name.
    pub name: String,
    /// What the skill does and when to use it.
    pub description: String,
    /// The top-level folder of its files, if they had one.
    pub folder: Option<String>,
    /// Digest of all its files.
    pub digest: Digest,
    /// How many files it has.
    pub file_count: i64,
    /// Bytes of its files together.
    pub total_bytes: i64,
    /// The scanner's verdict, if it was scanned.
    pub scan_status: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// What people say about it.
    pub notes: Option<String>,
    /// Why it cannot be used any more, if it is revoked.
    pub revoked: Option<Revocation>,
}

/// Why and since when a version cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// As whoever revoked it says.
    pub reason: String,
    /// When it was revoked.
    pub at: Timestamp,
}

impl Revocation {
    /// Reads the columns of `version_marks`.
    pub(super) fn from_row(row: &DbRow) -> Result<Option<Self>> {
        let Some(at) = row.optional_time("revoked_at")? else {
            return Ok(None);
        };
        let reason = row.optional_text("revoked_reason")?.unwrap_or_default();
        Ok(Some(Revocation { reason, at }))
    }
}

impl VersionRecord {
    /// From [`VersionRecord::FROM`].
    pub(super) const COLUMNS: &'static str = "id, skill, number, ordinal, name, description, \
         folder, digest, file_count, total_bytes, scan_status, created_at, notes, revoked_at, \
         revoked_reason";
    /// The tables of a version, up to a WHERE.
    pub(super) const FROM: &'static str =
        " FROM versions LEFT JOIN version_marks ON version_marks.version = versions.id";

    /// The error of a request that would use it, if it is revoked.
    pub(super) fn check_usable(&self) -> Result<()> {
        match &self.revoked {
            None => Ok(()),
            Some(revoked) => Err(Error::VersionRevoked {
                skill: self.skill.clone(),
                name: self.name.clone(),
                version: self.ordinal,
                reason: revoked.reason.clone(),
            }),
        }
    }

    pub(super) fn from_row(row: &DbRow) -> Result<Self> {
        Ok(VersionRecord {
            id: row.text("id")?,
            skill: row.text("skill")?,
            number: row.int("number")?,
            ordinal: row.int("ordinal")?,
            name: row.text("name")?,
            description: row.text("description")?,
            folder: row.optional_text("folder")?,
            digest: parse_column("digest", row.text("digest")?)?,
            file_count: row.int("file_count")?,
            total_bytes: row.int("total_bytes")?,
            scan_status: row.optional_text("scan_status")?,
            created_at: row.time("created_at")?,
            notes: row.optional_text("notes")?,
            revoked: Revocation::from_row(row)?,
        })
    }
}

/// A version with everything that was parsed from it at upload, without its files.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionDetail {
    /// As lists show it.
    pub version: VersionRecord,
    /// All fields of the frontmatter, in order.
    pub frontmatter: Map<String, Value>,
    /// The files by digest.
    pub manifest: Manifest,
    /// The Markdown after the frontmatter.
    pub body: String,
    /// The scanner's report, if it was scanned.
    pub scan: Option<ScanRecord>,
}

impl VersionDetail {
    pub(super) fn from_row(row: &DbRow) -> Result<Self> {
        let version = VersionRecord::from_row(row)?;
        let report = row.optional_text("scan_report")?;
        let scan = match (&version.scan_status, report) {
            (Some(status), Some(report)) => Some(ScanRecord {
                status: status.clone(),
                report: parse_json_column("scan_report", &report)?,
            }),
            _ => None,
        };
        Ok(VersionDetail {
            frontmatter: parse_json_column("frontmatter", &row.text("frontmatter")?)?,
            manifest: parse_json_column("manifest", &row.text("manifest")?)?,
            body: row.text("body")?,
            version,
            scan,
        })
    }
}

/// Where a skill comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SkillSource {
    /// Uploaded by its owner.
    #[default]
    Custom,
    /// A replacement of one of Anthropic's skills.
    Anthropic,
    /// One of Anthropic's examples.
    AnthropicExample,
    /// From a plugin.
    Plugin,
}

impl SkillSource {
    /// The name in the vendors' APIs.
    pub fn as_str(self) -> &'static str {
        match self {
            SkillSource::Custom => "custom",
            SkillSource::Anthropic => "anthropic",
            SkillSource::AnthropicExample => "anthropic_example",
            SkillSource::Plugin => "plugin",
        }
    }

    /// Parses the name in the vendors' APIs.
    pub fn parse(text: &str) -> Result<Self> {
        [
            SkillSource::Custom,
            SkillSource::Anthropic,
            SkillSource::AnthropicExample,
            SkillSource::Plugin,
        ]
        .into_iter()
        .find(|source| source.as_str() == text)
        .ok_or_else(|| Error::Invalid {
            field: "source",
            reason: format!(
                "`{}` is not custom, anthropic, anthropic_example or plugin",
                text.escape_debug()
            ),
        })
    }
}

fn parse_column<T: std::str::FromStr<Err: std::fmt::Display>>(
    column: &str,
    text: String,
) -> Result<T> {
    text.parse().map_err(|error| malformed_row(column, &error))
}

pub(super) fn parse_json_column<T: serde::de::DeserializeOwned>(
    column: &str,
    text: &str,
) -> Result<T> {
    serde_json::from_str(text).map_err(|error| malformed_row(column, &error))
}

fn malformed_row(column: &str, error: &dyn std::fmt::Display) -> Error {
    Error::MalformedRow {
        table: "versions",
        reason: format!("{column}: {error}"),
    }
}
