//! `[skills]`: how requests that name skills are run, and how skills are released.

use std::collections::BTreeMap;
use std::time::Duration;

use prowess_engine::{Disclosure, EmbeddingSettings, EngineSettings, RecordDetail, RunLimits};
#[cfg(feature = "server")]
use prowess_server::{ImportHosts, ServerSettings};
use prowess_store::LabelName;
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ConfigError;

/// How long a search waits for vectors.
const DEFAULT_DEADLINE: Duration = Duration::from_millis(300);

pub(super) const KEYS: &[&str] = &[
    "disclosure",
    "catalogue_tokens",
    "auto",
    "embedding_model",
    "embedding_deadline_ms",
    "litellm",
    "aliases",
    "turns",
    "wall_seconds",
    "tokens",
    "sandbox_seconds",
    "record",
    "protected_labels",
    "import",
];

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Skills")]
pub(super) struct SkillsToml {
    /// How much of the skills the system prompt has: `progressive`, `full` or `auto`.
    disclosure: Option<String>,
    /// Maximum tokens of the skill catalogue in the system prompt.
    catalogue_tokens: Option<usize>,
    /// Let every run use all stored skills of its tenant: those that fit are offered, as if the
    /// request had the skill `auto`. Default: false.
    auto: Option<bool>,
    /// Model whose vectors help to find stored skills, as clients would name it. Default: words
    /// alone do.
    embedding_model: Option<String>,
    /// How many milliseconds a search waits for vectors before words alone decide. Default: 300.
    embedding_deadline_ms: Option<u64>,
    /// Add LiteLLM's tools, and its field for generated files in responses.
    litellm: Option<bool>,
    /// Aliases: names for ids of stored skills.
    aliases: BTreeMap<String, String>,
    /// Maximum turns of a run.
    turns: Option<u32>,
    /// Timeout of a run in seconds.
    wall_seconds: Option<u64>,
    /// Maximum tokens of all turns of a run.
    tokens: Option<u64>,
    /// Maximum total time of a run's commands in seconds.
    sandbox_seconds: Option<u64>,
    /// What the record of a run has: `off`, `steps` or `full`.
    record: Option<String>,
    /// Labels of skills that only keys with the scope `release` may move or delete. Default:
    /// `production`.
    protected_labels: Option<Vec<String>>,
    /// From which hosts `POST /v1/skills/import` fetches skills: `public`, `private` for hosts in
    /// private networks too, or `off`. Default: `public`.
    import: Option<String>,
}

/// Where skills may be imported from.
const IMPORT_WORDS: [&str; 3] = ["public", "private", "off"];

/// The settings of releases.
#[cfg(feature = "server")]
pub(super) struct ReleaseSettings {
    pub(super) protected_labels: Vec<String>,
    pub(super) import_hosts: ImportHosts,
}

/// The settings of releases, of values that [`check`] has checked.
#[cfg(feature = "server")]
pub(super) fn releases(raw: &SkillsToml) -> ReleaseSettings {
    let defaults = ServerSettings::default();
    let labels = raw.protected_labels.clone();
    ReleaseSettings {
        protected_labels: labels.unwrap_or(defaults.protected_labels),
        import_hosts: match raw.import.as_deref() {
            Some("off") => ImportHosts::None,
            Some("private") => ImportHosts::Private,
            _ => defaults.import_hosts,
        },
    }
}

fn check_releases(raw: &SkillsToml) -> Result<(), ConfigError> {
    for label in raw.protected_labels.iter().flatten() {
        LabelName::parse(label)
            .map_err(|error| ConfigError::invalid("skills.protected_labels", error.to_string()))?;
    }
    match &raw.import {
        Some(word) if !IMPORT_WORDS.contains(&word.as_str()) => {
            let reason = format!("`{word}` is not public, private or off");
            Err(ConfigError::invalid("skills.import", reason))
        }
        _ => Ok(()),
    }
}

pub(super) fn check(raw: SkillsToml) -> Result<EngineSettings, ConfigError> {
    let defaults = EngineSettings::default();
    let limits = RunLimits::default();
    let aliases = raw.aliases.iter();
    if let Some((name, _)) = aliases.clone().find(|(_, id)| !id.starts_with("skill_")) {
        let reason = format!("`{name}` must be the id of a stored skill: skill_…");
        return Err(ConfigError::invalid("skills.aliases", reason));
    }
    check_releases(&raw)?;
    if raw.turns == Some(0) {
        return Err(ConfigError::invalid("skills.turns", "must be 1 or more"));
    }
    Ok(EngineSettings {
        disclosure: parse_disclosure(raw.disclosure.as_deref())?,
        catalogue_tokens: raw.catalogue_tokens.unwrap_or(defaults.catalogue_tokens),
        auto: raw.auto.unwrap_or(defaults.auto),
        embedding: embedding(raw.embedding_model, raw.embedding_deadline_ms)?,
        litellm: raw.litellm.unwrap_or(defaults.litellm),
        limits: RunLimits {
            turns: raw.turns.unwrap_or(limits.turns),
            wall_time: raw
                .wall_seconds
                .map_or(limits.wall_time, Duration::from_secs),
            tokens: raw.tokens.unwrap_or(limits.tokens),
            sandbox_time: raw
                .sandbox_seconds
                .map_or(limits.sandbox_time, Duration::from_secs),
        },
        aliases: raw.aliases,
        record_detail: parse_record(raw.record.as_deref())?,
        ..defaults
    })
}

fn embedding(
    model: Option<String>,
    deadline_ms: Option<u64>,
) -> Result<Option<EmbeddingSettings>, ConfigError> {
    match (model, deadline_ms) {
        (_, Some(0)) => {
            let reason = "must be 1 or more";
            Err(ConfigError::invalid("skills.embedding_deadline_ms", reason))
        }
        (Some(model), _) if model.trim().is_empty() => {
            let reason = "must name a model; remove it to search by words alone";
            Err(ConfigError::invalid("skills.embedding_model", reason))
        }
        (None, Some(_)) => {
            let reason = "has no effect without skills.embedding_model";
            Err(ConfigError::invalid("skills.embedding_deadline_ms", reason))
        }
        (model, deadline) => Ok(model.map(|model| EmbeddingSettings {
            model,
            deadline: deadline.map_or(DEFAULT_DEADLINE, Duration::from_millis),
        })),
    }
}

fn parse_disclosure(word: Option<&str>) -> Result<Disclosure, ConfigError> {
    match word {
        None | Some("progressive") => Ok(Disclosure::Progressive),
        Some("full") => Ok(Disclosure::Full),
        Some("auto") => Ok(Disclosure::Auto),
        Some(other) => {
            let reason = format!("`{other}` is not progressive, full or auto");
            Err(ConfigError::invalid("skills.disclosure", reason))
        }
    }
}

fn parse_record(word: Option<&str>) -> Result<RecordDetail, ConfigError> {
    match word {
        None | Some("steps") => Ok(RecordDetail::Steps),
        Some("off") => Ok(RecordDetail::Off),
        Some("full") => Ok(RecordDetail::Full),
        Some(other) => {
            let reason = format!("`{other}` is not off, steps or full");
            Err(ConfigError::invalid("skills.record", reason))
        }
    }
}
