//! `[skills]`: how requests that name skills are run, and how skills are released.

use std::collections::BTreeMap;
use std::time::Duration;

use prowess_engine::{Disclosure, EmbeddingSettings, EngineSettings, RecordDetail, RunLimits};
#[cfg(feature = "server")]
use prowess_server::ImportHosts;
use prowess_store::LabelName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ConfigError;
use super::values::{DurationSetting, Milliseconds};

/// How long a search waits for vectors.
const DEFAULT_DEADLINE: Duration = Duration::from_millis(300);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Skills")]
pub(super) struct SkillsToml {
    /// How much of the skills the system prompt has.
    disclosure: DisclosureSetting,
    /// Maximum tokens of the skill catalogue in the system prompt.
    catalogue_tokens: usize,
    /// Let every run use all stored skills of its tenant: those that fit are offered, as if the
    /// request had the skill `auto`.
    auto: bool,
    /// Model whose vectors help to find stored skills, as clients would name it. Without one,
    /// words alone do.
    #[schemars(extend("x-shown" = true))]
    embedding_model: Option<String>,
    /// How long a search waits for vectors before words alone decide.
    #[schemars(extend("x-old-names" = ["embedding_deadline_ms"], "x-default" = "`300ms`"))]
    embedding_deadline: Option<Milliseconds>,
    /// Add LiteLLM's tools, and its field for generated files in responses.
    litellm: bool,
    /// Aliases: names for ids of stored skills.
    #[schemars(extend("x-shown" = true))]
    aliases: BTreeMap<String, String>,
    /// Maximum turns of a run.
    turns: u32,
    /// Timeout of a run.
    #[schemars(extend("x-old-names" = ["wall_seconds"]))]
    run_timeout: DurationSetting,
    /// Maximum tokens of all turns of a run.
    tokens: u64,
    /// Maximum total time of a run's commands.
    #[schemars(extend("x-old-names" = ["sandbox_seconds"]))]
    sandbox_time: DurationSetting,
    /// What the record of a run has.
    record: RecordSetting,
    /// Labels of skills that only keys with the scope `release` may move or delete.
    #[schemars(extend("x-shown" = true))]
    protected_labels: Vec<String>,
    /// From which hosts `POST /v1/skills/import` fetches skills.
    import: ImportSetting,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum DisclosureSetting {
    /// Name and description of each; the rest on demand.
    Progressive,
    /// Each complete SKILL.md.
    Full,
    /// Complete if they are small together, else on demand.
    Auto,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum RecordSetting {
    /// There is none.
    Off,
    /// What happened, without content of the conversation.
    Steps,
    /// Also inputs and outputs of tools.
    Full,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ImportSetting {
    /// Hosts on the public internet.
    Public,
    /// Hosts in private networks too.
    Private,
    /// None.
    Off,
}

impl Default for SkillsToml {
    fn default() -> Self {
        SkillsToml {
            disclosure: DisclosureSetting::Progressive,
            catalogue_tokens: 4_000,
            auto: false,
            embedding_model: None,
            embedding_deadline: None,
            litellm: false,
            aliases: BTreeMap::new(),
            turns: 10,
            run_timeout: DurationSetting::from_secs(15 * 60),
            tokens: 2_000_000,
            sandbox_time: DurationSetting::from_secs(10 * 60),
            record: RecordSetting::Steps,
            protected_labels: vec!["production".to_owned()],
            import: ImportSetting::Public,
        }
    }
}

/// The settings of releases.
#[cfg(feature = "server")]
pub(super) struct ReleaseSettings {
    pub(super) protected_labels: Vec<String>,
    pub(super) import_hosts: ImportHosts,
}

/// The settings of releases, of values that [`check`] has checked.
#[cfg(feature = "server")]
pub(super) fn releases(raw: &SkillsToml) -> ReleaseSettings {
    ReleaseSettings {
        protected_labels: raw.protected_labels.clone(),
        import_hosts: match raw.import {
            ImportSetting::Public => ImportHosts::Public,
            ImportSetting::Private => ImportHosts::Private,
            ImportSetting::Off => ImportHosts::None,
        },
    }
}

pub(super) fn check(raw: SkillsToml) -> Result<EngineSettings, ConfigError> {
    let mut aliases = raw.aliases.iter();
    if let Some((name, _)) = aliases.find(|(_, id)| !id.starts_with("skill_")) {
        let reason = format!("`{name}` must be the id of a stored skill: skill_…");
        return Err(ConfigError::invalid("skills.aliases", reason));
    }
    for label in &raw.protected_labels {
        LabelName::parse(label)
            .map_err(|error| ConfigError::invalid("skills.protected_labels", error.to_string()))?;
    }
    if raw.turns == 0 {
        return Err(ConfigError::invalid("skills.turns", "must be 1 or more"));
    }
    Ok(EngineSettings {
        disclosure: match raw.disclosure {
            DisclosureSetting::Progressive => Disclosure::Progressive,
            DisclosureSetting::Full => Disclosure::Full,
            DisclosureSetting::Auto => Disclosure::Auto,
        },
        catalogue_tokens: raw.catalogue_tokens,
        auto: raw.auto,
        embedding: embedding(raw.embedding_model, raw.embedding_deadline)?,
        litellm: raw.litellm,
        limits: RunLimits {
            turns: raw.turns,
            wall_time: raw.run_timeout.get(),
            tokens: raw.tokens,
            sandbox_time: raw.sandbox_time.get(),
        },
        aliases: raw.aliases,
        record_detail: match raw.record {
            RecordSetting::Off => RecordDetail::Off,
            RecordSetting::Steps => RecordDetail::Steps,
            RecordSetting::Full => RecordDetail::Full,
        },
        ..EngineSettings::default()
    })
}

fn embedding(
    model: Option<String>,
    deadline: Option<Milliseconds>,
) -> Result<Option<EmbeddingSettings>, ConfigError> {
    const DEADLINE: &str = "skills.embedding_deadline";
    let deadline = deadline.map(DurationSetting::get);
    match (model, deadline) {
        (_, Some(deadline)) if deadline.is_zero() => {
            Err(ConfigError::invalid(DEADLINE, "must be more than 0"))
        }
        (Some(model), _) if model.trim().is_empty() => {
            let reason = "must name a model; remove it to search by words alone";
            Err(ConfigError::invalid("skills.embedding_model", reason))
        }
        (None, Some(_)) => {
            let reason = "has no effect without skills.embedding_model";
            Err(ConfigError::invalid(DEADLINE, reason))
        }
        (model, deadline) => Ok(model.map(|model| EmbeddingSettings {
            model,
            deadline: deadline.unwrap_or(DEFAULT_DEADLINE),
        })),
    }
}
