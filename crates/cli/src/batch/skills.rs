//! The skills of a batch. Every request names them, so they are stored once: a folder, an
//! archive or a URL is uploaded as `prowess skill push` does it.

use std::path::Path;

use prowess::{SkillRef, load_to_send};
use prowess_client::{Client, Error, PushOptions};
use prowess_skill::Skill;
use prowess_source::home::expand;
use prowess_source::url::is_url;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fetch::FetchArgs;
use crate::usage_error;

/// A skill as the command line names it.
pub(super) struct NamedSkill {
    named: String,
    source: SkillLookup,
}

enum SkillLookup {
    /// Stored under this id.
    Id { id: String, version: Option<String> },
    /// Stored under this name.
    Name,
    /// Loaded here.
    Loaded(Box<Skill>),
}

/// A stored skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredSkill {
    id: String,
    version: Option<String>,
}

/// Opens the skills that are not stored. To be called outside of a runtime, because fetching
/// a URL starts one.
pub(super) fn open_all(names: &[String], fetch: &FetchArgs) -> anyhow::Result<Vec<NamedSkill>> {
    let mut all = Vec::new();
    for named in names {
        all.extend(open(named, fetch)?);
    }
    Ok(all)
}

fn open(named: &str, fetch: &FetchArgs) -> anyhow::Result<Vec<NamedSkill>> {
    let with = |source| NamedSkill {
        named: named.to_owned(),
        source,
    };
    let place = match SkillRef::from(named) {
        SkillRef::Id { id, version } => return Ok(vec![with(SkillLookup::Id { id, version })]),
        _ => expand(Path::new(named)).map_err(|error| usage_error(error.to_string()))?,
    };
    if !is_url(&place) && !place.exists() {
        return Ok(vec![with(SkillLookup::Name)]);
    }
    let skills = load_to_send(&place, fetch.open_one(&place)?)?.into_iter();
    Ok(skills
        .map(|skill| with(SkillLookup::Loaded(Box::new(skill))))
        .collect())
}

impl NamedSkill {
    /// Changes when the skill named so is another one.
    pub(super) fn fingerprint(&self) -> String {
        match &self.source {
            SkillLookup::Loaded(skill) => format!("{} {}", self.named, skill.manifest.digest()),
            _ => self.named.clone(),
        }
    }

    /// Finds the skill on the server, or uploads it.
    pub(super) async fn store(&self, client: &Client) -> anyhow::Result<StoredSkill> {
        match &self.source {
            SkillLookup::Id { id, version } => Ok(StoredSkill {
                id: id.clone(),
                version: version.clone(),
            }),
            SkillLookup::Name => match client.find(&self.named).await {
                Ok(found) => Ok(StoredSkill {
                    id: found.id,
                    version: None,
                }),
                Err(Error::NotFound(_)) => anyhow::bail!(
                    "`{}` is not a folder or an archive here, and no stored skill has this name",
                    self.named
                ),
                Err(error) => Err(error.into()),
            },
            SkillLookup::Loaded(skill) => {
                let pushed = client.push(skill, &PushOptions::default()).await?;
                Ok(StoredSkill {
                    id: pushed.skill,
                    version: Some(pushed.version.version),
                })
            }
        }
    }
}

impl StoredSkill {
    /// As in a request of Anthropic's API.
    pub(super) fn to_json(&self) -> Value {
        match &self.version {
            Some(version) => json!({"type": "custom", "skill_id": self.id, "version": version}),
            None => json!({"type": "custom", "skill_id": self.id}),
        }
    }
}
