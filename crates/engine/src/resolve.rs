//! From names to skills: which are ours, which version, which are the upstream's own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_provider::{Route, Target, Task};
use prowess_skill::{Bundle, Limits, Options, Severity, Skill};
use prowess_store::{Error as StoreError, Kind, ResolvedSkill, Store, TenantId, VersionSelector};
use prowess_toolbox::Member;
use prowess_wire::Client;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::RunError;
use crate::ids;
use crate::naming::Named;

/// A skill of the run, and which stored version it is, if it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) member: Member,
    pub(crate) pin: Option<Pin>,
}

/// A version, held fast for as long as its session lives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pin {
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
pub(crate) struct Resolved {
    /// Those we give the model, in the request's order.
    pub(crate) ours: Vec<Chosen>,
    /// Those the upstream gives it, as they stood.
    pub(crate) native: Vec<Value>,
}

/// Whose skills the models of a route have beside ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// Nobody's.
    None,
    /// Their vendor's, named as the client names them: its bytes may pass as they came.
    Passed,
    /// Anthropic's, for a client of another dialect.
    Translated,
}

impl Own {
    /// What every model of a route has, for a client.
    pub(crate) fn of(route: &Route, client: Client) -> Self {
        let all = |own: &dyn Fn(&Target) -> bool| {
            !route.targets().is_empty() && route.targets().iter().all(own)
        };
        let vendor = |target: &Target| match client {
            Client::Messages => target.kind() == "anthropic",
            Client::Responses => matches!(target.kind(), "openai" | "azure"),
            Client::Chat | Client::Gemini => false,
        };
        if all(&|target| vendor(target) && target.speaks(client, Task::Generate)) {
            Own::Passed
        } else if client != Client::Messages && all(&|target| target.kind() == "anthropic") {
            Own::Translated
        } else {
            Own::None
        }
    }
}

/// The newest versions of skills, looked up together.
type Latest = HashMap<String, Arc<ResolvedSkill>>;

/// Where skills are looked for.
pub(crate) struct Resolver<'a> {
    pub(crate) store: &'a Store,
    pub(crate) tenant: &'a TenantId,
    pub(crate) aliases: &'a BTreeMap<String, String>,
    pub(crate) model: &'a str,
    /// Whether ids that are not ours may be the upstream's.
    pub(crate) own: Own,
    /// The versions that the session was made with.
    pub(crate) pins: &'a [Pin],
}

impl Resolver<'_> {
    /// All skills of a request; those of its session when it names none.
    pub(crate) async fn resolve(&self, named: &[Named]) -> Result<Resolved, RunError> {
        let mut resolved = Resolved::default();
        if named.is_empty() {
            for pin in self.pins {
                let selector = VersionSelector::Id(pin.version_id.clone());
                let found = self
                    .stored(&pin.skill_id, &selector, &pin.kind, &pin.named)
                    .await?;
                let found = found.ok_or_else(|| self.unknown(&pin.named))?;
                resolved.ours.push(found);
            }
        }
        let latest = self.latest(named).await?;
        for skill in named {
            match skill {
                Named::Inline { name, data } => {
                    resolved.ours.push(inline(name, data).await?);
                }
                Named::Id {
                    written,
                    kind,
                    id,
                    version,
                } => match self.find(kind, id, version.as_deref(), &latest).await? {
                    Some(chosen) => resolved.ours.push(chosen),
                    None => match self.own {
                        Own::Passed => resolved.native.push(written.clone()),
                        Own::Translated => resolved.native.push(anthropic(written, kind, id)),
                        Own::None => return Err(self.unknown(id)),
                    },
                },
            }
        }
        Ok(resolved)
    }

    /// Whether an id is one of ours.
    pub(crate) async fn is_ours(&self, id: &str) -> Result<bool, RunError> {
        match self.store.skill(self.tenant, ids::skill(id)).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Those whose newest version is meant, as many as there are.
    async fn latest(&self, named: &[Named]) -> Result<Latest, RunError> {
        let ids = named.iter().filter_map(|skill| {
            let Named::Id { id, version, .. } = skill else {
                return None;
            };
            let bare = ids::skill(id);
            let selector = self.selector(bare, version.as_deref());
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
        latest: &Latest,
    ) -> Result<Option<Chosen>, RunError> {
        let bare = ids::skill(id);
        let selector = self.selector(bare, version)?;
        if let (VersionSelector::Latest, Some(found)) = (&selector, latest.get(bare)) {
            return self.chosen(found, bare, kind, id).await.map(Some);
        }
        if let Some(found) = self.stored(bare, &selector, kind, id).await? {
            return Ok(Some(found));
        }
        match self.aliases.get(id) {
            // Versions of a vendor's skill say nothing about the one that stands in.
            Some(stored) if self.own == Own::None => {
                let selector = self.selector(stored, None)?;
                self.stored(stored, &selector, kind, id).await
            }
            _ => Ok(None),
        }
    }

    /// The version that is meant: in a session, the latest is the one it began with.
    fn selector(&self, id: &str, version: Option<&str>) -> Result<VersionSelector, RunError> {
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

    async fn stored(
        &self,
        id: &str,
        selector: &VersionSelector,
        kind: &str,
        named: &str,
    ) -> Result<Option<Chosen>, RunError> {
        let resolved = match self.store.resolve(self.tenant, id, selector).await {
            Ok(resolved) => resolved,
            Err(StoreError::NotFound {
                kind: Kind::Skill, ..
            }) => return Ok(None),
            Err(error @ (StoreError::NotFound { .. } | StoreError::NoVersion { .. })) => {
                return Err(RunError::UnknownVersion {
                    id: id.to_owned(),
                    error,
                });
            }
            Err(error) => return Err(error.into()),
        };
        self.chosen(&resolved, id, kind, named).await.map(Some)
    }

    /// A stored version with its files.
    async fn chosen(
        &self,
        resolved: &ResolvedSkill,
        id: &str,
        kind: &str,
        named: &str,
    ) -> Result<Chosen, RunError> {
        let version = &resolved.detail.version;
        Ok(Chosen {
            member: Member {
                skill: self.store.load(resolved).await?,
                id: Some(id.to_owned()),
                title: resolved.title.clone(),
            },
            pin: Some(Pin {
                kind: kind.to_owned(),
                named: named.to_owned(),
                skill_id: id.to_owned(),
                version_id: version.id.clone(),
                number: version.number,
                ordinal: version.ordinal,
            }),
        })
    }

    fn unknown(&self, id: &str) -> RunError {
        RunError::UnknownSkill {
            id: id.escape_debug().take(200).collect(),
            model: self.model.to_owned(),
        }
    }
}

/// A skill as Anthropic wants it named. OpenAI's clients know one word for all of them;
/// Anthropic's own have plain names, those of its users ids.
fn anthropic(written: &Value, kind: &str, id: &str) -> Value {
    let mut written = written.clone();
    if let Some(map) = written.as_object_mut()
        && !matches!(kind, "anthropic" | "custom")
    {
        let kind = match id.starts_with("skill_") {
            true => "custom",
            false => "anthropic",
        };
        map.insert("type".to_owned(), kind.into());
    }
    written
}

/// A skill that is in the request itself. Unpacking is work for the processor, so it
/// is done where it holds up nobody.
async fn inline(name: &str, data: &str) -> Result<Chosen, RunError> {
    let (name, data) = (name.to_owned(), data.to_owned());
    let work = tokio::task::spawn_blocking(move || unpack(&name, &data));
    let skill = work.await.map_err(|error| RunError::Inline {
        name: "inline".to_owned(),
        why: error.to_string(),
    })??;
    Ok(Chosen {
        member: Member::from(skill),
        pin: None,
    })
}

fn unpack(name: &str, data: &str) -> Result<Skill, RunError> {
    let cannot = |why: String| RunError::Inline {
        name: name.to_owned(),
        why,
    };
    let zip = STANDARD
        .decode(data)
        .map_err(|error| cannot(format!("its data is not base64: {error}")))?;
    let bundle = Bundle::from_archive(&zip, &Limits::default());
    let bundle = bundle.map_err(|error| RunError::bundle(name, &error))?;
    let loaded = Skill::load(bundle, &Options::default());
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
    struct Shelf {
        store: Store,
        tenant: TenantId,
        ids: BTreeMap<String, String>,
        _folder: TempDir,
    }

    impl Shelf {
        async fn of(names: &[&str]) -> Shelf {
            let folder = tempfile::tempdir().unwrap();
            let config = StoreConfig::local(folder.path());
            let store = Store::open(&config).await.unwrap();
            let tenant = TenantId::default_tenant();
            let mut ids = BTreeMap::new();
            for name in names {
                let text = format!("---\nname: {name}\ndescription: Does it.\n---\nGo.\n");
                let loaded = Skill::from_text(&text, &Options::default());
                let skill = loaded.skill.unwrap();
                let made = store.create_skill(&tenant, &NewSkill::of(&skill)).await;
                ids.insert((*name).to_owned(), made.unwrap().skill.id);
            }
            Shelf {
                store,
                tenant,
                ids,
                _folder: folder,
            }
        }

        /// By `NAME`, `NAME@VERSION`, or an id of somebody else's.
        fn named(&self, words: &[&str]) -> Vec<Named> {
            let named = words.iter().map(|word| {
                let (name, version) = match word.split_once('@') {
                    Some((name, version)) => (name, Some(version.to_owned())),
                    None => (*word, None),
                };
                let id = self.ids.get(name).map_or(name, String::as_str);
                Named::Id {
                    written: json!({}),
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
                own: Own::None,
                pins: &[],
            };
            let resolved = resolver.resolve(&self.named(words)).await;
            let resolved = resolved.map_err(|error| error.to_string())?;
            let skills = resolved.ours.iter();
            Ok(skills
                .map(|chosen| chosen.member.skill.name.clone())
                .collect())
        }
    }

    #[tokio::test]
    async fn skills_come_in_the_order_of_the_request_as_often_as_they_are_named() {
        let shelf = Shelf::of(&["ant", "mole", "zebra"]).await;
        let asked = ["zebra", "xlsx", "mole@1", "ant", "zebra@latest", "mole"];
        let found = shelf.resolve(&shelf.tenant, &asked).await.unwrap();
        assert_eq!(found, ["zebra", "ant", "mole", "ant", "zebra", "mole"]);
    }

    #[tokio::test]
    async fn the_first_skill_that_is_not_there_is_named() {
        let shelf = Shelf::of(&["ant", "mole"]).await;
        let refused = async |tenant: &TenantId, words: &[&str]| {
            let refused = shelf.resolve(tenant, words).await;
            refused.unwrap_err().replace(&shelf.ids["ant"], "ANT")
        };
        let tenant = &shelf.tenant;
        insta::assert_snapshot!(refused(tenant, &["ant", "skill_a", "ant@7", "skill_b"]).await, @"skill `skill_a` not found: it is not stored here, and the provider of model `m` has no skills of its own; upload it, or name it in `[skills] aliases`");
        insta::assert_snapshot!(refused(tenant, &["mole", "ant@7", "skill_a"]).await, @"skill version `ANT/7` not found");
        let other = TenantId::new("other").unwrap();
        insta::assert_snapshot!(refused(&other, &["ant"]).await, @"skill `ANT` not found: it is not stored here, and the provider of model `m` has no skills of its own; upload it, or name it in `[skills] aliases`");
    }
}
