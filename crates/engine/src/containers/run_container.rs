//! The container of a run, as clients name it: an id, pinned skills and files.

use jiff::Timestamp;
use prowess_sandbox::{Error as SandboxError, SharedSandboxes, SkillFiles};
use prowess_store::{ContainerRecord, Store, TenantId};
use prowess_toolbox::skill_folder;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client_features::ClientFeatures;
use crate::containers::sandbox_handle::SandboxHandle;
use crate::error::RunError;
use crate::events::OutputFile;
use crate::ids;
use crate::intake::resolve::{RunSkill, SkillPin};
use crate::intake::routing::SkillOffer;

/// The container that a request continues in, and what is recorded of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunContainer {
    /// Its id, if it is one of Prowess's.
    pub(crate) id: Option<String>,
    /// The id of the upstream's own container.
    pub(crate) upstream_id: Option<String>,
    /// The skills it was created with.
    pub(crate) pins: Vec<SkillPin>,
    /// The skills that its conversation offers with `auto`.
    pub(crate) offer: Option<SkillOffer>,
    /// The upstream's own skills, as it last sent them.
    pub(crate) native_skills: Vec<Value>,
    /// Whether it had expired and was created again, without its skills.
    pub(crate) is_recreated: bool,
}

impl RunContainer {
    /// Finds it. Any other id may be the upstream's, where `allows_native`. One that another
    /// run uses is an error if it is to be used now; a kept run waits for it.
    pub(crate) async fn find(
        store: &Store,
        sandbox: &SandboxHandle,
        tenant: &TenantId,
        requested_id: Option<&str>,
        allows_native: bool,
        use_now: bool,
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
        let offer = recorded_offer(record.as_ref());
        let Some(record) = record.filter(ContainerRecord::is_ours) else {
            if !allows_native {
                return Err(not_found());
            }
            return Ok(RunContainer {
                upstream_id: Some(requested_id.to_owned()),
                native_skills,
                ..RunContainer::default()
            });
        };
        // The files that a kept run has not committed yet must not be seen or changed.
        if use_now && store.is_container_held(tenant, &id).await? {
            return Err(RunError::Toolbox(SandboxError::ContainerBusy { id }.into()));
        }
        match sandbox.sandbox().await?.expiry(tenant.as_str(), &id).await {
            Ok(_) => {}
            Err(SandboxError::ContainerNotFound { .. }) => return Err(not_found()),
            Err(error) => return Err(RunError::Toolbox(error.into())),
        }
        Ok(RunContainer {
            id: Some(id),
            upstream_id: record.upstream,
            pins,
            offer,
            native_skills,
            is_recreated: false,
        })
    }

    /// Mounts skills in an existing container that it was not created with.
    pub(crate) async fn mount_skills(
        &self,
        sandbox: &SharedSandboxes,
        tenant: &TenantId,
        skills: &[RunSkill],
    ) -> Result<(), RunError> {
        let Some(id) = &self.id else {
            return Ok(());
        };
        let known = |pin: &SkillPin| {
            !self.is_recreated && self.pins.iter().any(|p| p.version_id == pin.version_id)
        };
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

    /// Saves its record, unless it was saved so during the run, and renders it for the client.
    pub(crate) async fn save_and_render(
        store: &Store,
        sandbox: &SharedSandboxes,
        tenant: &TenantId,
        used: ContainerUse<'_>,
    ) -> Value {
        let record = ContainerRecord {
            id: used.id.to_owned(),
            upstream: used.upstream,
            skills: record_skills(&used.pins, &used.native_skills, used.offer),
        };
        if used.saved != Some(&record) {
            save_record(store, tenant, &record).await;
        }
        let expires = sandbox.expiry_after_use(tenant.as_str(), used.id);
        let expires = expires.await.ok();
        let expires = expires.and_then(|at| Timestamp::from_second(i64::try_from(at).ok()?).ok());
        let id = if used.features.uses_openai_references {
            ids::openai_container_id(used.id)
        } else {
            used.id.to_owned()
        };
        let pins = used.pins.iter();
        let references = pins.map(|pin| skill_reference(pin, used.features));
        let skills: Vec<Value> = references.chain(used.native_skills).collect();
        json!({
            "id": id,
            "expires_at": expires.map(|at| at.to_string()),
            "skills": skills,
            "files": used.files,
        })
    }
}

/// Saves which skills the upstream's own container has, for clients whose requests name a
/// container again, but not its skills.
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
        tracing::warn!(%error, container = record.id, "cannot save the record of a container");
    }
}

/// What is recorded of the skills of a container.
pub(crate) fn record_skills(
    pins: &[SkillPin],
    native_skills: &[Value],
    offer: Option<&SkillOffer>,
) -> Value {
    let pins = pins.iter().map(|pin| json!(pin));
    let offer = offer.map(|offer| json!({ OFFER: offer }));
    pins.chain(native_skills.iter().cloned())
        .chain(offer)
        .collect()
}

/// The field of a record with what `auto` offers.
const OFFER: &str = "offer";

fn recorded_offer(record: Option<&ContainerRecord>) -> Option<SkillOffer> {
    let mut all = record?.skills.as_array()?.iter();
    let offer = all.find_map(|skill| skill.get(OFFER))?;
    SkillOffer::deserialize(offer).ok()
}

/// The recorded skills: Prowess's, and the upstream's own.
pub(super) fn recorded_skills(record: Option<&ContainerRecord>) -> (Vec<SkillPin>, Vec<Value>) {
    let all = record.and_then(|record| record.skills.as_array());
    let all = all.into_iter().flatten();
    let pins = all
        .clone()
        .filter_map(|skill| SkillPin::deserialize(skill).ok());
    let is_native = |skill: &&Value| {
        let ours = ["version_id", OFFER];
        ours.iter().all(|field| skill.get(*field).is_none())
    };
    let native = all.filter(is_native);
    (pins.collect(), native.cloned().collect())
}

/// The container at the end of a run.
pub(crate) struct ContainerUse<'a> {
    pub(crate) features: &'a ClientFeatures,
    pub(crate) id: &'a str,
    pub(crate) upstream: Option<String>,
    pub(crate) pins: Vec<SkillPin>,
    pub(crate) offer: Option<&'a SkillOffer>,
    /// The upstream's own skills, as it sends them.
    pub(crate) native_skills: Vec<Value>,
    pub(crate) files: &'a [OutputFile],
    /// Its record, as a step of the run has saved it.
    pub(crate) saved: Option<&'a ContainerRecord>,
}

/// A skill as the response names it: with the version that was used.
fn skill_reference(pin: &SkillPin, features: &ClientFeatures) -> Value {
    let version = if features.uses_openai_references {
        pin.ordinal
    } else {
        pin.number
    };
    json!({"type": pin.kind, "skill_id": pin.named, "version": version.to_string()})
}
