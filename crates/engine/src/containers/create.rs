//! Creates a container with skills and files.

use prowess_skill::misleading::describe_misleading;
use prowess_store::{ContainerRecord, FileRecord};
use prowess_toolbox::Workspace;
use prowess_wire::neutral::Map;
use serde_json::{Value, json};

use crate::containers::api::{Container, Containers};
use crate::error::RunError;
use crate::intake::native_skills::NativeSkills;
use crate::intake::resolve::{Resolver, SkillPin};
use crate::intake::skill_request::SkillRequest;
use crate::intake::uploads::{self, ExistingUpload};

/// Characters of a name.
const MAX_NAME_CHARS: usize = 200;

/// A container to be created.
#[derive(Debug, Default)]
pub struct NewContainer {
    name: String,
    skill_request: SkillRequest,
    /// Requested bytes of memory.
    memory_bytes: Option<u64>,
    /// Requested minutes without use until it expires.
    idle_minutes: Option<u64>,
}

impl NewContainer {
    /// Reads the body of a request: `name`, `skills`, `file_ids`, `memory_limit`,
    /// `network_policy` and `expires_after`.
    ///
    /// # Errors
    /// [`RunError::InvalidField`] with the invalid field.
    pub fn parse(body: &Map) -> Result<Self, RunError> {
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or_default();
        if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
            let why = format!("must be 1 to {MAX_NAME_CHARS} characters");
            return Err(RunError::invalid_field("name", why));
        }
        if let Some(why) = describe_misleading(name) {
            return Err(RunError::invalid_field("name", why));
        }
        let mut skill_request = SkillRequest::default();
        skill_request.read_container_settings(body, "")?;
        if skill_request.auto.is_some() {
            let why = "`auto` is for requests to models: name the skills of a container";
            return Err(RunError::invalid_field("skills", why));
        }
        Ok(NewContainer {
            name: name.to_owned(),
            skill_request,
            memory_bytes: parse_memory_limit(body.get("memory_limit"))?,
            idle_minutes: parse_expiry(body.get("expires_after"))?,
        })
    }
}

impl Containers {
    /// Creates a container.
    ///
    /// # Errors
    /// When a skill or a file does not exist, more is requested than the operator allows, or
    /// the sandbox fails.
    pub async fn create(&self, new: NewContainer) -> Result<Container, RunError> {
        let settings = self.engine.settings();
        let mut policy = settings.policy.clone();
        if let Some(network) = &new.skill_request.network {
            network.reject_secrets()?;
            policy.network = network.grant(&settings.domains)?;
        }
        if new
            .memory_bytes
            .is_some_and(|requested| requested > policy.limits.memory)
        {
            let why = format!("at most {} bytes are allowed", policy.limits.memory);
            return Err(RunError::invalid_field("memory_limit", why));
        }
        let sandbox = self.sandbox().await?;
        let store = self.engine.store();
        let resolver = Resolver {
            store,
            unpacking: self.engine.unpacking(),
            tenant: &self.tenant,
            aliases: &self.engine.settings().aliases,
            model: "",
            native_skills: NativeSkills::Unsupported,
            pins: &[],
        };
        let chosen = resolver.resolve(&new.skill_request.skills).await?.local;
        let files = uploads::find_uploads(
            store,
            &self.tenant,
            &new.skill_request.files,
            &mut [],
            false,
        )
        .await?;
        let skills = chosen.iter().map(|c| c.member.skill.clone()).collect();
        let workspace = Workspace::for_skills(sandbox, self.owner(), skills, policy);
        let container_id = workspace.open().await?;
        let pins: Vec<&SkillPin> = chosen.iter().filter_map(|c| c.pin.as_ref()).collect();
        let record = ContainerRecord {
            id: container_id,
            upstream: None,
            skills: json!(pins),
        };
        let filled = self.add_contents(&workspace, &files, &record, &new).await;
        if filled.is_err() {
            // The client never gets its id. The first error is the one to return.
            let _ = workspace.close().await;
        }
        filled
    }

    async fn add_contents(
        &self,
        workspace: &Workspace,
        files: &[FileRecord],
        record: &ContainerRecord,
        new: &NewContainer,
    ) -> Result<Container, RunError> {
        let (store, tenant) = (self.engine.store(), &self.tenant);
        uploads::place_uploads(store, tenant, workspace, files, ExistingUpload::Replace).await?;
        store.save_container(tenant, record).await?;
        store
            .set_container_name(tenant, &record.id, &new.name)
            .await?;
        let container = self.get(&record.id).await?;
        match new.idle_minutes {
            Some(requested) if requested > container.idle_minutes => {
                let why = format!("at most {} minutes are allowed", container.idle_minutes);
                Err(RunError::invalid_field("expires_after.minutes", why))
            }
            _ => Ok(container),
        }
    }
}

/// `1g`, `4g`, `16g` or `64g`, in bytes.
fn parse_memory_limit(value: Option<&Value>) -> Result<Option<u64>, RunError> {
    let gigabytes = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.strip_suffix('g').and_then(|n| n.parse::<u64>().ok()),
        Some(_) => None,
    };
    match gigabytes.filter(|n| (1..=64).contains(n)) {
        Some(gigabytes) => Ok(Some(gigabytes << 30)),
        None => Err(RunError::invalid_field(
            "memory_limit",
            "must be 1g, 4g, 16g or 64g",
        )),
    }
}

fn parse_expiry(value: Option<&Value>) -> Result<Option<u64>, RunError> {
    let Some(after) = value.filter(|after| !after.is_null()) else {
        return Ok(None);
    };
    let anchor = after.get("anchor").and_then(Value::as_str);
    match (anchor, after.get("minutes").and_then(Value::as_u64)) {
        (Some("last_active_at"), Some(minutes)) if minutes > 0 => Ok(Some(minutes)),
        _ => Err(RunError::invalid_field(
            "expires_after",
            "must be {\"anchor\": \"last_active_at\", \"minutes\": N}",
        )),
    }
}
