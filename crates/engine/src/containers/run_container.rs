//! A session as clients know it: a `container` with an id, pinned skills and files.

use jiff::Timestamp;
use prowess_sandbox::{Error as SandboxError, Sandbox, SkillFiles};
use prowess_store::{ContainerRecord, Store, TenantId};
use prowess_toolbox::skill_folder;
use prowess_wire::ClientDialect;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::RunError;
use crate::events::OutputFile;
use crate::ids;
use crate::resolve::{RunSkill, SkillPin};
use crate::sandbox_handle::SandboxHandle;

/// The session a request wants to go on with, and what is known of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunContainer {
    /// Ours, if it is one of ours.
    pub(crate) id: Option<String>,
    /// The upstream's own container.
    pub(crate) upstream_id: Option<String>,
    /// What it was made with.
    pub(crate) pins: Vec<SkillPin>,
    /// The upstream's own skills, as it last told them.
    pub(crate) native_skills: Vec<Value>,
}

impl RunContainer {
    /// Finds it. An id that is not ours may be the upstream's, where that has any.
    pub(crate) async fn find(
        store: &Store,
        sandbox: &SandboxHandle,
        tenant: &TenantId,
        requested_id: Option<&str>,
        allows_native: bool,
    ) -> Result<Self, RunError> {
        let Some(requested_id) = requested_id else {
            return Ok(RunContainer::default());
        };
        let not_found = || RunError::ContainerNotFound {
            id: requested_id.escape_debug().take(100).collect(),
        };
        let id = ids::container_id(requested_id);
        let record = store.container(tenant, &id).await?;
        let (pins, native_skills) = recorded_skills(record.as_ref());
        let Some(record) = record.filter(ContainerRecord::is_ours) else {
            return match allows_native {
                true => Ok(RunContainer {
                    upstream_id: Some(requested_id.to_owned()),
                    native_skills,
                    ..RunContainer::default()
                }),
                false => Err(not_found()),
            };
        };
        match sandbox.sandbox().await?.expiry(tenant.as_str(), &id).await {
            Ok(_) => {}
            Err(SandboxError::ContainerNotFound { .. }) => return Err(not_found()),
            Err(error) => return Err(RunError::Toolbox(error.into())),
        }
        Ok(RunContainer {
            id: Some(id),
            upstream_id: record.upstream,
            pins,
            native_skills,
        })
    }

    /// Shows skills in an existing session that it was not made with.
    pub(crate) async fn mount_skills(
        &self,
        sandbox: &Sandbox,
        tenant: &TenantId,
        skills: &[RunSkill],
    ) -> Result<(), RunError> {
        let Some(id) = &self.id else {
            return Ok(());
        };
        let known = |pin: &SkillPin| self.pins.iter().any(|p| p.version_id == pin.version_id);
        let new: Vec<SkillFiles> = skills
            .iter()
            .filter(|chosen| !chosen.pin.as_ref().is_some_and(known))
            .map(|chosen| {
                let skill = &chosen.member.skill;
                SkillFiles::from_skill(skill, skill_folder(&skill.name))
            })
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        let mounted = sandbox.mount(tenant.as_str(), id, new).await;
        mounted.map_err(|error| RunError::Toolbox(error.into()))
    }

    /// Remembers it, and tells it as the client's dialect does.
    pub(crate) async fn save_and_render(
        store: &Store,
        sandbox: &Sandbox,
        tenant: &TenantId,
        used: ContainerUse<'_>,
    ) -> Value {
        let pins = used.pins.iter().map(|pin| json!(pin));
        let record = ContainerRecord {
            id: used.id.to_owned(),
            upstream: used.upstream,
            skills: pins.chain(used.native_skills.iter().cloned()).collect(),
        };
        save_record(store, tenant, &record).await;
        let expires = sandbox.expiry(tenant.as_str(), used.id).await.ok();
        let expires = expires.and_then(|at| Timestamp::from_second(i64::try_from(at).ok()?).ok());
        let id = match used.client {
            ClientDialect::Responses => ids::openai_container_id(used.id),
            _ => used.id.to_owned(),
        };
        let ours = used
            .pins
            .iter()
            .map(|pin| skill_reference(pin, used.client));
        let skills: Vec<Value> = ours.chain(used.native_skills).collect();
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
pub(crate) async fn save_upstream_container(
    store: &Store,
    tenant: &TenantId,
    container: Option<&Value>,
) {
    let field = |key: &str| container.and_then(|container| container.get(key));
    if let (Some(Value::String(id)), Some(Value::Array(skills))) = (field("id"), field("skills")) {
        let record = ContainerRecord {
            id: id.clone(),
            upstream: Some(id.clone()),
            skills: json!(skills),
        };
        save_record(store, tenant, &record).await;
    }
}

async fn save_record(store: &Store, tenant: &TenantId, record: &ContainerRecord) {
    if let Err(error) = store.save_container(tenant, record).await {
        tracing::warn!(%error, session = record.id, "the session cannot be remembered");
    }
}

/// The skills that were remembered: ours, and the upstream's own.
fn recorded_skills(record: Option<&ContainerRecord>) -> (Vec<SkillPin>, Vec<Value>) {
    let all = record.and_then(|record| record.skills.as_array());
    let all = all.into_iter().flatten();
    let pins = all
        .clone()
        .filter_map(|skill| SkillPin::deserialize(skill).ok());
    let native = all.filter(|skill| skill.get("version_id").is_none());
    (pins.collect(), native.cloned().collect())
}

/// What a run knows of its session when it ends.
pub(crate) struct ContainerUse<'a> {
    pub(crate) client: ClientDialect,
    pub(crate) id: &'a str,
    pub(crate) upstream: Option<String>,
    pub(crate) pins: Vec<SkillPin>,
    /// The upstream's own skills, as it tells them.
    pub(crate) native_skills: Vec<Value>,
    pub(crate) files: &'a [OutputFile],
}

/// A skill as the answer names it: with the version it really was.
pub(crate) fn skill_reference(pin: &SkillPin, client: ClientDialect) -> Value {
    let version = match client {
        ClientDialect::Responses => pin.ordinal,
        _ => pin.number,
    };
    json!({"type": pin.kind, "skill_id": pin.named, "version": version.to_string()})
}
