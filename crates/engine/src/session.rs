//! A session as clients know it: a `container` with an id, pinned skills and files.

use jiff::Timestamp;
use prowess_sandbox::{Error as SandboxError, Sandbox, SkillFiles};
use prowess_store::{SessionRecord, Store, TenantId};
use prowess_toolbox::folder_of;
use prowess_wire::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::door::Door;
use crate::error::RunError;
use crate::events::Made;
use crate::ids;
use crate::resolve::{Chosen, Pin};

/// The session a request wants to go on with, and what is known of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Session {
    /// Ours, if it is one of ours.
    pub(crate) id: Option<String>,
    /// The upstream's own container.
    pub(crate) upstream: Option<String>,
    /// What it was made with.
    pub(crate) pins: Vec<Pin>,
    /// The upstream's own skills, as it last told them.
    pub(crate) native: Vec<Value>,
}

impl Session {
    /// Finds it. An id that is not ours may be the upstream's, where that has any.
    pub(crate) async fn find(
        store: &Store,
        door: &Door,
        tenant: &TenantId,
        written: Option<&str>,
        native: bool,
    ) -> Result<Self, RunError> {
        let Some(written) = written else {
            return Ok(Session::default());
        };
        let none = || RunError::NoContainer {
            id: written.escape_debug().take(100).collect(),
        };
        let id = ids::session(written);
        let record = store.session(tenant, &id).await?;
        let (pins, theirs) = skills_of(record.as_ref());
        let Some(record) = record.filter(SessionRecord::is_ours) else {
            return match native {
                true => Ok(Session {
                    upstream: Some(written.to_owned()),
                    native: theirs,
                    ..Session::default()
                }),
                false => Err(none()),
            };
        };
        match door.sandbox().await?.expiry(tenant.as_str(), &id).await {
            Ok(_) => {}
            Err(SandboxError::NoSession { .. }) => return Err(none()),
            Err(error) => return Err(RunError::Toolbox(error.into())),
        }
        Ok(Session {
            id: Some(id),
            upstream: record.upstream,
            pins,
            native: theirs,
        })
    }

    /// Shows skills in an existing session that it was not made with.
    pub(crate) async fn mount(
        &self,
        sandbox: &Sandbox,
        tenant: &TenantId,
        chosen: &[Chosen],
    ) -> Result<(), RunError> {
        let Some(id) = &self.id else {
            return Ok(());
        };
        let known = |pin: &Pin| self.pins.iter().any(|p| p.version_id == pin.version_id);
        let new: Vec<SkillFiles> = chosen
            .iter()
            .filter(|chosen| !chosen.pin.as_ref().is_some_and(known))
            .map(|chosen| {
                let skill = &chosen.member.skill;
                SkillFiles::of(skill, folder_of(&skill.name))
            })
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        let mounted = sandbox.mount(tenant.as_str(), id, new).await;
        mounted.map_err(|error| RunError::Toolbox(error.into()))
    }

    /// Remembers it, and tells it as the client's dialect does.
    pub(crate) async fn container(
        store: &Store,
        sandbox: &Sandbox,
        tenant: &TenantId,
        used: Used<'_>,
    ) -> Value {
        let pins = used.pins.iter().map(|pin| json!(pin));
        let record = SessionRecord {
            id: used.id.to_owned(),
            upstream: used.upstream,
            skills: pins.chain(used.native.iter().cloned()).collect(),
        };
        remember(store, tenant, &record).await;
        let expires = sandbox.expiry(tenant.as_str(), used.id).await.ok();
        let expires = expires.and_then(|at| Timestamp::from_second(i64::try_from(at).ok()?).ok());
        let id = match used.client {
            Client::Responses => ids::openai_session(used.id),
            _ => used.id.to_owned(),
        };
        let ours = used.pins.iter().map(|pin| told(pin, used.client));
        let skills: Vec<Value> = ours.chain(used.native).collect();
        json!({
            "id": id,
            "expires_at": expires.map(|at| at.to_string()),
            "skills": skills,
            "files": used.files,
        })
    }
}

/// Remembers which skills the upstream's own container has, for clients whose dialect
/// names a container again, but not its skills.
pub(crate) async fn remember_upstream(store: &Store, tenant: &TenantId, told: Option<&Value>) {
    let field = |key: &str| told.and_then(|container| container.get(key));
    if let (Some(Value::String(id)), Some(Value::Array(skills))) = (field("id"), field("skills")) {
        let record = SessionRecord {
            id: id.clone(),
            upstream: Some(id.clone()),
            skills: json!(skills),
        };
        remember(store, tenant, &record).await;
    }
}

async fn remember(store: &Store, tenant: &TenantId, record: &SessionRecord) {
    if let Err(error) = store.remember_session(tenant, record).await {
        tracing::warn!(%error, session = record.id, "the session cannot be remembered");
    }
}

/// The skills that were remembered: ours, and the upstream's own.
fn skills_of(record: Option<&SessionRecord>) -> (Vec<Pin>, Vec<Value>) {
    let all = record.and_then(|record| record.skills.as_array());
    let all = all.into_iter().flatten();
    let pins = all.clone().filter_map(|skill| Pin::deserialize(skill).ok());
    let native = all.filter(|skill| skill.get("version_id").is_none());
    (pins.collect(), native.cloned().collect())
}

/// What a run knows of its session when it ends.
pub(crate) struct Used<'a> {
    pub(crate) client: Client,
    pub(crate) id: &'a str,
    pub(crate) upstream: Option<String>,
    pub(crate) pins: Vec<Pin>,
    /// The upstream's own skills, as it tells them.
    pub(crate) native: Vec<Value>,
    pub(crate) files: &'a [Made],
}

/// A skill as the answer names it: with the version it really was.
pub(crate) fn told(pin: &Pin, client: Client) -> Value {
    let version = match client {
        Client::Responses => pin.ordinal,
        _ => pin.number,
    };
    json!({"type": pin.kind, "skill_id": pin.named, "version": version.to_string()})
}
