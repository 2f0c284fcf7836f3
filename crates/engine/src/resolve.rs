//! From names to skills: which are ours, which version, which are the upstream's own.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_provider::{Route, Target, Task};
use prowess_skill::{Bundle, Limits, Options, Severity, Skill};
use prowess_store::{Error as StoreError, Kind, Store, TenantId, VersionSelector};
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
            Client::Chat => false,
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
                } => match self.find(kind, id, version.as_deref()).await? {
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

    async fn find(
        &self,
        kind: &str,
        id: &str,
        version: Option<&str>,
    ) -> Result<Option<Chosen>, RunError> {
        let bare = ids::skill(id);
        let selector = self.selector(bare, version)?;
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
        let version = &resolved.detail.version;
        Ok(Some(Chosen {
            member: Member {
                skill: self.store.load(&resolved).await?,
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
        }))
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
