//! From names to skills: which are ours, which version, which are the upstream's own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_provider::{ModelTask, Route, Target};
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Severity, Skill};
use prowess_store::{
    Error as StoreError, ResolvedSkill, ResourceKind, Store, TenantId, VersionSelector,
};
use prowess_toolbox::Member;
use prowess_wire::ClientDialect;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::RunError;
use crate::ids;
use crate::skill_request::SkillSelector;

/// A skill of the run, and which stored version it is, if it is stored.
#[derive(Debug, Clone)]
pub(crate) struct RunSkill {
    pub(crate) member: Member,
    pub(crate) pin: Option<SkillPin>,
}

/// A version, held fast for as long as its session lives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkillPin {
    /// The word the client uses for where it is from.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// As the client names it.
    pub(crate) named: String,
    pub(crate) skill_id: String,
    pub(crate) version_id: String,
    pub(crate) number: i64,
    pub(crate) ordinal: i64,
}

/// The skills of a run.
#[derive(Debug, Default)]
pub(crate) struct ResolvedSkills {
    /// Those we give the model, in the request's order.
    pub(crate) local: Vec<RunSkill>,
    /// Those the upstream gives it, as they stood.
    pub(crate) native: Vec<Value>,
}

/// Whose skills the models of a route have beside ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NativeSkills {
    /// Nobody's.
    Unsupported,
    /// Their vendor's, named as the client names them: its bytes may pass as they came.
    PassThrough,
    /// Anthropic's, for a client of another dialect.
    Translated,
}

impl NativeSkills {
    /// What every model of a route has, for a client.
    pub(crate) fn for_route(route: &Route, client: ClientDialect) -> Self {
        let all = |own: &dyn Fn(&Target) -> bool| {
            !route.targets().is_empty() && route.targets().iter().all(own)
        };
        let vendor = |target: &Target| match client {
            ClientDialect::Messages => target.kind() == "anthropic",
            ClientDialect::Responses => matches!(target.kind(), "openai" | "azure"),
            ClientDialect::Chat | ClientDialect::Gemini => false,
        };
        if all(&|target| {
            vendor(target) && target.supports_pass_through(client, ModelTask::Generate)
        }) {
            NativeSkills::PassThrough
        } else if client != ClientDialect::Messages && all(&|target| target.kind() == "anthropic") {
            NativeSkills::Translated
        } else {
            NativeSkills::Unsupported
        }
    }
}

/// The newest versions of skills, looked up together.
type LatestVersions = HashMap<String, Arc<ResolvedSkill>>;

/// Where skills are looked for.
pub(crate) struct Resolver<'a> {
    pub(crate) store: &'a Store,
    pub(crate) tenant: &'a TenantId,
    pub(crate) aliases: &'a BTreeMap<String, String>,
    pub(crate) model: &'a str,
    /// Whether ids that are not ours may be the upstream's.
    pub(crate) native_skills: NativeSkills,
    /// The versions that the session was made with.
    pub(crate) pins: &'a [SkillPin],
}

impl Resolver<'_> {
    /// All skills of a request; those of its session when it names none.
    pub(crate) async fn resolve(
        &self,
        named: &[SkillSelector],
    ) -> Result<ResolvedSkills, RunError> {
        let mut resolved = ResolvedSkills::default();
        if named.is_empty() {
            for pin in self.pins {
                let selector = VersionSelector::Id(pin.version_id.clone());
                let found = self
                    .find_stored(&pin.skill_id, &selector, &pin.kind, &pin.named)
                    .await?;
                let found = found.ok_or_else(|| self.unknown_skill(&pin.named))?;
                resolved.local.push(found);
            }
        }
        let latest = self.find_latest(named).await?;
        for skill in named {
            match skill {
                SkillSelector::Inline { name, data } => {
                    resolved.local.push(load_inline(name, data).await?);
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

    /// Whether an id is one of ours.
    pub(crate) async fn is_stored(&self, id: &str) -> Result<bool, RunError> {
        match self.store.skill(self.tenant, ids::skill_id(id)).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Those whose newest version is meant, as many as there are.
    async fn find_latest(&self, named: &[SkillSelector]) -> Result<LatestVersions, RunError> {
        let ids = named.iter().filter_map(|skill| {
            let SkillSelector::Id { id, version, .. } = skill else {
                return None;
            };
            let bare = ids::skill_id(id);
            let selector = self.version_selector(bare, version.as_deref());
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
        let selector = self.version_selector(bare, version)?;
        if let (VersionSelector::Latest, Some(found)) = (&selector, latest.get(bare)) {
            return self.load_version(found, bare, kind, id).await.map(Some);
        }
        if let Some(found) = self.find_stored(bare, &selector, kind, id).await? {
            return Ok(Some(found));
        }
        match self.aliases.get(id) {
            // Versions of a vendor's skill say nothing about the one that stands in.
            Some(stored) if self.native_skills == NativeSkills::Unsupported => {
                let selector = self.version_selector(stored, None)?;
                self.find_stored(stored, &selector, kind, id).await
            }
            _ => Ok(None),
        }
    }

    /// The version that is meant: in a session, the latest is the one it began with.
    fn version_selector(
        &self,
        id: &str,
        version: Option<&str>,
    ) -> Result<VersionSelector, RunError> {
        match version {
            None | Some("latest") => {
                let pin = self.pins.iter().find(|pin| pin.skill_id == id);
                Ok(pin.map_or(VersionSelector::Latest, |pin| {
                    VersionSelector::Id(pin.version_id.clone())
                }))
            }
            Some(version) => {
                VersionSelector::parse(version).map_err(|error| RunError::UnknownVersion {
                    id: id.to_owned(),
                    error,
                })
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
            Err(error @ (StoreError::NotFound { .. } | StoreError::NoVersion { .. })) => {
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

/// A skill as Anthropic wants it named. OpenAI's clients know one word for all of them;
/// Anthropic's own have plain names, those of its users ids.
fn anthropic_reference(original: &Value, kind: &str, id: &str) -> Value {
    let mut reference = original.clone();
    if let Some(map) = reference.as_object_mut()
        && !matches!(kind, "anthropic" | "custom")
    {
        let kind = match id.starts_with("skill_") {
            true => "custom",
            false => "anthropic",
        };
        map.insert("type".to_owned(), kind.into());
    }
    reference
}

/// A skill that is in the request itself. Unpacking is work for the processor, so it
/// is done where it holds up nobody.
async fn load_inline(name: &str, data: &str) -> Result<RunSkill, RunError> {
    let (name, data) = (name.to_owned(), data.to_owned());
    let work = tokio::task::spawn_blocking(move || unpack_inline(&name, &data));
    let skill = work.await.map_err(|error| RunError::InlineSkill {
        name: "inline".to_owned(),
        why: error.to_string(),
    })??;
    Ok(RunSkill {
        member: Member::from(skill),
        pin: None,
    })
}

fn unpack_inline(name: &str, data: &str) -> Result<Skill, RunError> {
    let cannot = |why: String| RunError::InlineSkill {
        name: name.to_owned(),
        why,
    };
    let zip = STANDARD
        .decode(data)
        .map_err(|error| cannot(format!("its data is not base64: {error}")))?;
    let bundle = Bundle::from_archive(&zip, &BundleLimits::default());
    let bundle = bundle.map_err(|error| RunError::inline_skill(name, &error))?;
    let loaded = Skill::load(bundle, &LoadOptions::default());
    let valid = loaded.is_valid();
    let first = loaded.diagnostics.iter();
    let mut first = first.filter(|found| found.severity == Severity::Error);
    let why = first.next().map_or_else(
        || "it does not load".to_owned(),
        |found| format!("{}: {}", found.file, found.message),
    );
    loaded.skill.filter(|_| valid).ok_or_else(|| cannot(why))
}

#[cfg(test)]
mod tests {
    use prowess_store::{NewSkill, StoreConfig};
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

        /// By `NAME`, `NAME@VERSION`, or an id of somebody else's.
        fn selectors(&self, words: &[&str]) -> Vec<SkillSelector> {
            let named = words.iter().map(|word| {
                let (name, version) = match word.split_once('@') {
                    Some((name, version)) => (name, Some(version.to_owned())),
                    None => (*word, None),
                };
                let id = self.ids.get(name).map_or(name, String::as_str);
                SkillSelector::Id {
                    original: json!({}),
                    kind: "custom".to_owned(),
                    id: id.to_owned(),
                    version,
                }
            });
            named.collect()
        }

        /// The names of what is found, or what is wrong.
        async fn resolve(&self, tenant: &TenantId, words: &[&str]) -> Result<Vec<String>, String> {
            let resolver = Resolver {
                store: &self.store,
                tenant,
                aliases: &BTreeMap::from([("xlsx".to_owned(), self.ids["ant"].clone())]),
                model: "m",
                native_skills: NativeSkills::Unsupported,
                pins: &[],
            };
            let resolved = resolver.resolve(&self.selectors(words)).await;
            let resolved = resolved.map_err(|error| error.to_string())?;
            let skills = resolved.local.iter();
            Ok(skills
                .map(|chosen| chosen.member.skill.name.clone())
                .collect())
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
    async fn the_first_skill_that_is_not_there_is_named() {
        let store = SkillStore::with_skills(&["ant", "mole"]).await;
        let refused = async |tenant: &TenantId, words: &[&str]| {
            let refused = store.resolve(tenant, words).await;
            refused.unwrap_err().replace(&store.ids["ant"], "ANT")
        };
        let tenant = &store.tenant;
        insta::assert_snapshot!(refused(tenant, &["ant", "skill_a", "ant@7", "skill_b"]).await, @"skill `skill_a` not found: it is not stored here, and the provider of model `m` has no skills of its own; upload it, or name it in `[skills] aliases`");
        insta::assert_snapshot!(refused(tenant, &["mole", "ant@7", "skill_a"]).await, @"skill version `ANT/7` not found");
        let other = TenantId::new("other").unwrap();
        insta::assert_snapshot!(refused(&other, &["ant"]).await, @"skill `ANT` not found: it is not stored here, and the provider of model `m` has no skills of its own; upload it, or name it in `[skills] aliases`");
    }
}
