//! Resolves selectors to skills: stored ones in a version, inline ones, and the upstream's own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use prowess_store::{
    Error as StoreError, ResolvedSkill, ResourceKind, Store, TenantId, VersionSelector,
};
use prowess_toolbox::Member;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::RunError;
use crate::ids;
use crate::intake::inline_skill::load_inline_skill;
use crate::intake::native_skills::NativeSkills;
use crate::intake::skill_request::SkillSelector;
use crate::intake::unpack_permits::UnpackPermits;

/// The version that follows the newest upload.
const LATEST: &str = "latest";

/// OpenAI's `type` of a stored skill.
const OPENAI_REFERENCE: &str = "skill_reference";

/// A skill of the run, and which stored version it is, if it is stored.
#[derive(Debug, Clone)]
pub(crate) struct RunSkill {
    pub(crate) member: Member,
    pub(crate) pin: Option<SkillPin>,
}

/// A version that stays fixed for the lifetime of its container.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkillPin {
    /// The `type` that the client uses.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The id that the client uses.
    pub(crate) named: String,
    pub(crate) skill_id: String,
    pub(crate) version_id: String,
    pub(crate) number: i64,
    pub(crate) ordinal: i64,
    /// The label that led to it. In its container, the label stays at this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// Whether the model chose it from the offer of `auto`, and the request did not name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) routed: bool,
}

/// The skills of a run.
#[derive(Debug, Default)]
pub(crate) struct ResolvedSkills {
    /// Those that Prowess offers to the model, in the request's order.
    pub(crate) local: Vec<RunSkill>,
    /// Those that the upstream offers, as it expects them.
    pub(crate) native: Vec<Value>,
}

/// The newest versions of skills, by id.
type LatestVersions = HashMap<String, Arc<ResolvedSkill>>;

/// Looks up skills.
pub(crate) struct Resolver<'a> {
    pub(crate) store: &'a Store,
    pub(crate) unpacking: &'a UnpackPermits,
    pub(crate) tenant: &'a TenantId,
    pub(crate) aliases: &'a BTreeMap<String, String>,
    pub(crate) model: &'a str,
    /// Whether unknown ids may be the upstream's.
    pub(crate) native_skills: NativeSkills,
    /// The versions that the container was created with.
    pub(crate) pins: &'a [SkillPin],
}

impl Resolver<'_> {
    /// All skills of a request; those of its container when it names none.
    pub(crate) async fn resolve(
        &self,
        named: &[SkillSelector],
    ) -> Result<ResolvedSkills, RunError> {
        let mut resolved = ResolvedSkills::default();
        if named.is_empty() {
            for pin in self.pins.iter().filter(|pin| !pin.routed) {
                let selector = VersionSelector::Id(pin.version_id.clone());
                let found = self
                    .find_stored(&pin.skill_id, &selector, &pin.kind, &pin.named)
                    .await?;
                let found = found.ok_or_else(|| self.unknown_skill(&pin.named))?;
                resolved.local.push(found.with_label(pin.label.clone()));
            }
        }
        let latest = self.find_latest(named).await?;
        for skill in named {
            match skill {
                SkillSelector::Inline { name, data } => {
                    let loaded = load_inline_skill(self.unpacking, self.tenant, name, data);
                    let member = loaded.await?.into();
                    resolved.local.push(RunSkill { member, pin: None });
                }
                SkillSelector::Id {
                    original,
                    kind,
                    id,
                    version,
                } => match self.find(kind, id, version.as_deref(), &latest).await? {
                    Some(chosen) => resolved.local.push(chosen),
                    None => match self.native_skills {
                        NativeSkills::PassThrough => resolved.native.push(original.clone()),
                        NativeSkills::Translated => resolved
                            .native
                            .push(anthropic_reference(original, kind, id)),
                        NativeSkills::Unsupported => return Err(self.unknown_skill(id)),
                    },
                },
            }
        }
        Ok(resolved)
    }

    /// Whether an id is one of a stored skill.
    pub(crate) async fn is_stored(&self, id: &str) -> Result<bool, RunError> {
        match self.store.skill(self.tenant, ids::skill_id(id)).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Looks up the newest versions that selectors refer to, in one query.
    async fn find_latest(&self, named: &[SkillSelector]) -> Result<LatestVersions, RunError> {
        let ids = named.iter().filter_map(|skill| {
            let SkillSelector::Id {
                kind, id, version, ..
            } = skill
            else {
                return None;
            };
            let bare = ids::skill_id(id);
            let selector = self.version_selector(kind, bare, version.as_deref());
            matches!(selector, Ok(VersionSelector::Latest)).then_some(bare)
        });
        let ids: Vec<&str> = ids.collect();
        Ok(self.store.resolve_latest(self.tenant, &ids).await?)
    }

    async fn find(
        &self,
        kind: &str,
        id: &str,
        version: Option<&str>,
        latest: &LatestVersions,
    ) -> Result<Option<RunSkill>, RunError> {
        let bare = ids::skill_id(id);
        let selector = self.version_selector(kind, bare, version)?;
        if let (VersionSelector::Latest, Some(found)) = (&selector, latest.get(bare)) {
            return self.load_version(found, bare, kind, id).await.map(Some);
        }
        if let Some(found) = self.find_stored(bare, &selector, kind, id).await? {
            return Ok(Some(found.with_label(label(version))));
        }
        match self.aliases.get(id) {
            // A version of the vendor's skill does not apply to the skill of the alias; that it is
            // the latest one does.
            Some(stored) if self.native_skills == NativeSkills::Unsupported => {
                let version = version.filter(|version| *version == LATEST);
                let selector = self.version_selector(kind, stored, version)?;
                self.find_stored(stored, &selector, kind, id).await
            }
            _ => Ok(None),
        }
    }

    /// The version that is selected. In a container, `latest` and no version are the one it was
    /// created with, and a label stays at the version it led to. Elsewhere, no version is what the
    /// vendor of the `type` documents: OpenAI's default version, Anthropic's latest one.
    fn version_selector(
        &self,
        kind: &str,
        id: &str,
        version: Option<&str>,
    ) -> Result<VersionSelector, RunError> {
        match version {
            None | Some(LATEST) => {
                let pin = self.pins.iter().find(|pin| pin.skill_id == id);
                Ok(match pin {
                    Some(pin) => VersionSelector::Id(pin.version_id.clone()),
                    None if version.is_none() && kind == OPENAI_REFERENCE => {
                        VersionSelector::Default
                    }
                    None => VersionSelector::Latest,
                })
            }
            Some(version) => {
                let selector = VersionSelector::parse(version);
                let selector = selector.map_err(|error| RunError::UnknownVersion {
                    id: id.to_owned(),
                    error,
                })?;
                let pinned = self.pins.iter().find(|pin| {
                    let is_label = matches!(selector, VersionSelector::Label(_));
                    is_label && pin.skill_id == id && pin.label.as_deref() == Some(version)
                });
                Ok(pinned.map_or(selector, |pin| VersionSelector::Id(pin.version_id.clone())))
            }
        }
    }

    async fn find_stored(
        &self,
        id: &str,
        selector: &VersionSelector,
        kind: &str,
        named: &str,
    ) -> Result<Option<RunSkill>, RunError> {
        let resolved = match self.store.resolve(self.tenant, id, selector).await {
            Ok(resolved) => resolved,
            Err(StoreError::NotFound {
                kind: ResourceKind::Skill,
                ..
            }) => return Ok(None),
            Err(
                error @ (StoreError::NotFound { .. }
                | StoreError::NoVersion { .. }
                | StoreError::LabelNotFound { .. }
                | StoreError::VersionRevoked { .. }),
            ) => {
                return Err(RunError::UnknownVersion {
                    id: id.to_owned(),
                    error,
                });
            }
            Err(error) => return Err(error.into()),
        };
        self.load_version(&resolved, id, kind, named)
            .await
            .map(Some)
    }

    /// A stored version with its files.
    async fn load_version(
        &self,
        resolved: &ResolvedSkill,
        id: &str,
        kind: &str,
        named: &str,
    ) -> Result<RunSkill, RunError> {
        let version = &resolved.detail.version;
        Ok(RunSkill {
            member: Member {
                skill: self.store.load(resolved).await?,
                id: Some(id.to_owned()),
                title: resolved.title.clone(),
            },
            pin: Some(SkillPin {
                kind: kind.to_owned(),
                named: named.to_owned(),
                skill_id: id.to_owned(),
                version_id: version.id.clone(),
                number: version.number,
                ordinal: version.ordinal,
                label: None,
                routed: false,
            }),
        })
    }

    fn unknown_skill(&self, id: &str) -> RunError {
        RunError::UnknownSkill {
            id: id.escape_debug().take(200).collect(),
            model: self.model.to_owned(),
        }
    }
}

impl RunSkill {
    /// The same, with the label that led to its version.
    fn with_label(mut self, label: Option<String>) -> Self {
        if let Some(pin) = &mut self.pin {
            pin.label = label;
        }
        self
    }
}

/// The label in a request, if it names its version by one.
fn label(version: Option<&str>) -> Option<String> {
    match VersionSelector::parse(version?) {
        Ok(VersionSelector::Label(name)) => Some(name.as_str().to_owned()),
        _ => None,
    }
}

/// A skill as Anthropic's API expects it. OpenAI's clients use one `type` for all skills;
/// Anthropic's own have names as ids, those of its users `skill_…`.
fn anthropic_reference(original: &Value, kind: &str, id: &str) -> Value {
    let mut reference = original.clone();
    if let Some(map) = reference.as_object_mut()
        && !matches!(kind, "anthropic" | "custom")
    {
        let kind = if id.starts_with("skill_") {
            "custom"
        } else {
            "anthropic"
        };
        map.insert("type".to_owned(), kind.into());
    }
    reference
}

#[cfg(test)]
mod tests {
    use prowess_skill::{LoadOptions, Skill};
    use prowess_store::{NewSkill, NewVersion, StoreConfig};
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    /// A store in which one tenant has some skills.
    struct SkillStore {
        store: Store,
        tenant: TenantId,
        ids: BTreeMap<String, String>,
        _folder: TempDir,
    }

    impl SkillStore {
        async fn with_skills(names: &[&str]) -> SkillStore {
            let folder = tempfile::tempdir().unwrap();
            let config = StoreConfig::local(folder.path());
            let store = Store::open(&config).await.unwrap();
            let tenant = TenantId::default_tenant();
            let mut ids = BTreeMap::new();
            for name in names {
                let text = format!("---\nname: {name}\ndescription: Does it.\n---\nGo.\n");
                let loaded = Skill::from_text(&text, &LoadOptions::default());
                let skill = loaded.skill.unwrap();
                let made = store
                    .create_skill(&tenant, &NewSkill::from_skill(&skill))
                    .await;
                ids.insert((*name).to_owned(), made.unwrap().skill.id);
            }
            SkillStore {
                store,
                tenant,
                ids,
                _folder: folder,
            }
        }

        /// By `NAME`, `NAME@VERSION`, or an unknown id.
        fn selectors(&self, kind: &str, words: &[&str]) -> Vec<SkillSelector> {
            let named = words.iter().map(|word| {
                let (name, version) = match word.split_once('@') {
                    Some((name, version)) => (name, Some(version.to_owned())),
                    None => (*word, None),
                };
                let id = self.ids.get(name).map_or(name, String::as_str);
                SkillSelector::Id {
                    original: json!({}),
                    kind: kind.to_owned(),
                    id: id.to_owned(),
                    version,
                }
            });
            named.collect()
        }

        /// Adds a second version to a skill; the first one stays the default.
        async fn add_version(&self, name: &str) {
            let text = format!("---\nname: {name}\ndescription: Does it.\n---\nGo on.\n");
            let loaded = Skill::from_text(&text, &LoadOptions::default());
            let skill = loaded.skill.unwrap();
            let new = NewVersion::from_skill(&skill);
            let id = &self.ids[name];
            let made = self.store.create_version(&self.tenant, id, &new).await;
            made.unwrap();
        }

        async fn resolve_all(
            &self,
            tenant: &TenantId,
            pins: &[SkillPin],
            named: &[SkillSelector],
        ) -> Result<Vec<RunSkill>, String> {
            let resolver = Resolver {
                store: &self.store,
                unpacking: &UnpackPermits::default(),
                tenant,
                aliases: &BTreeMap::from([("xlsx".to_owned(), self.ids["ant"].clone())]),
                model: "m",
                native_skills: NativeSkills::Unsupported,
                pins,
            };
            let resolved = resolver.resolve(named).await;
            Ok(resolved.map_err(|error| error.to_string())?.local)
        }

        /// The names of the skills, or the error.
        async fn resolve(&self, tenant: &TenantId, words: &[&str]) -> Result<Vec<String>, String> {
            let named = self.selectors("custom", words);
            let skills = self.resolve_all(tenant, &[], &named).await?;
            let skills = skills.iter();
            Ok(skills
                .map(|chosen| chosen.member.skill.name.clone())
                .collect())
        }

        /// The pinned versions.
        async fn pin(&self, kind: &str, pins: &[SkillPin], words: &[&str]) -> Vec<SkillPin> {
            let named = self.selectors(kind, words);
            let skills = self.resolve_all(&self.tenant, pins, &named).await.unwrap();
            skills
                .into_iter()
                .map(|chosen| chosen.pin.unwrap())
                .collect()
        }

        /// The numbers of the versions.
        async fn versions(&self, kind: &str, pins: &[SkillPin], words: &[&str]) -> Vec<i64> {
            let pins = self.pin(kind, pins, words).await;
            pins.iter().map(|pin| pin.ordinal).collect()
        }
    }

    #[tokio::test]
    async fn skills_come_in_the_order_of_the_request_as_often_as_they_are_named() {
        let store = SkillStore::with_skills(&["ant", "mole", "zebra"]).await;
        let requested = ["zebra", "xlsx", "mole@1", "ant", "zebra@latest", "mole"];
        let found = store.resolve(&store.tenant, &requested).await.unwrap();
        assert_eq!(found, ["zebra", "ant", "mole", "ant", "zebra", "mole"]);
    }

    #[tokio::test]
    async fn without_a_version_openais_reference_is_the_default_and_anthropics_the_latest() {
        let store = SkillStore::with_skills(&["ant", "mole"]).await;
        store.add_version("ant").await;
        let words = ["ant", "ant@latest", "ant@default", "xlsx", "xlsx@latest"];
        let openai = store.versions("skill_reference", &[], &words).await;
        assert_eq!(openai, [1, 2, 1, 1, 2]);
        let anthropic = store.versions("custom", &[], &words).await;
        assert_eq!(anthropic, [2, 2, 1, 2, 2]);
        // A container stays at the version that it was created with.
        let pins = store.pin("custom", &[], &["ant", "mole"]).await;
        let pinned = store.versions("skill_reference", &pins, &words).await;
        assert_eq!(pinned, [2, 2, 1, 2, 2]);
    }

    #[tokio::test]
    async fn the_first_skill_that_is_not_there_is_named() {
        let store = SkillStore::with_skills(&["ant", "mole"]).await;
        let refused = async |tenant: &TenantId, words: &[&str]| {
            let refused = store.resolve(tenant, words).await;
            refused.unwrap_err().replace(&store.ids["ant"], "ANT")
        };
        let tenant = &store.tenant;
        insta::assert_snapshot!(refused(tenant, &["ant", "skill_a", "ant@7", "skill_b"]).await, @"skill `skill_a` not found: no skill that is stored here has this id (`skill_…`, not a name), and the provider of model `m` has no skills of its own; upload it, or name it in `[skills] aliases`");
        insta::assert_snapshot!(refused(tenant, &["mole", "ant@7", "skill_a"]).await, @"skill version `ANT/7` not found");
        let other = TenantId::new("other").unwrap();
        insta::assert_snapshot!(refused(&other, &["ant"]).await, @"skill `ANT` not found: no skill that is stored here has this id (`skill_…`, not a name), and the provider of model `m` has no skills of its own; upload it, or name it in `[skills] aliases`");
    }
}
