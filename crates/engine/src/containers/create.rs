//! A new container, with skills and files in it.

use prowess_store::{FileRecord, SessionRecord};
use prowess_toolbox::Workspace;
use prowess_wire::neutral::Map;
use serde_json::{Value, json};

use super::{Container, Containers};
use crate::error::RunError;
use crate::naming::Naming;
use crate::resolve::{Own, Pin, Resolver};
use crate::uploads::{self, Again};

/// Letters of a name.
const LONGEST_NAME: usize = 200;

/// What a new container is to have.
#[derive(Debug, Default)]
pub struct NewContainer {
    name: String,
    naming: Naming,
    /// Bytes of memory that are asked for.
    memory: Option<u64>,
    /// Minutes it is to live unused.
    minutes: Option<u64>,
}

impl NewContainer {
    /// Reads what a client sends: `name`, `skills`, `file_ids`, `memory_limit`,
    /// `network_policy` and `expires_after`.
    ///
    /// # Errors
    /// [`RunError::Naming`] with the field at fault.
    pub fn read(body: &Map) -> Result<Self, RunError> {
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or_default();
        if name.is_empty() || name.chars().count() > LONGEST_NAME || name.contains('\0') {
            let why = format!("must be a text of 1 to {LONGEST_NAME} letters");
            return Err(RunError::naming("name", why));
        }
        let mut naming = Naming::default();
        naming.read_setting(body, "")?;
        Ok(NewContainer {
            name: name.to_owned(),
            naming,
            memory: memory(body.get("memory_limit"))?,
            minutes: minutes(body.get("expires_after"))?,
        })
    }
}

impl Containers {
    /// Makes a container.
    ///
    /// # Errors
    /// When a skill or a file is not there, more is asked for than the operator gives,
    /// or the sandbox cannot make it.
    pub async fn create(&self, new: NewContainer) -> Result<Container, RunError> {
        let settings = self.engine.settings();
        let mut policy = settings.policy.clone();
        if let Some(reach) = &new.naming.reach {
            reach.without_secrets()?;
            policy.network = reach.granted(&settings.domains)?;
        }
        if new.memory.is_some_and(|asked| asked > policy.limits.memory) {
            let why = format!("{} bytes is the most", policy.limits.memory);
            return Err(RunError::naming("memory_limit", why));
        }
        let sandbox = self.sandbox().await?;
        let store = self.engine.store();
        let resolver = Resolver {
            store,
            tenant: &self.tenant,
            aliases: &self.engine.settings().aliases,
            model: "",
            own: Own::None,
            pins: &[],
        };
        let chosen = resolver.resolve(&new.naming.skills).await?.ours;
        let files = uploads::find(store, &self.tenant, &new.naming.files, &mut [], false).await?;
        let skills = chosen.iter().map(|c| c.member.skill.clone()).collect();
        let workspace = Workspace::fresh(sandbox, self.owner(), skills, policy);
        let session = workspace.open().await?;
        let pins: Vec<&Pin> = chosen.iter().filter_map(|c| c.pin.as_ref()).collect();
        let record = SessionRecord {
            id: session,
            upstream: None,
            skills: json!(pins),
        };
        let filled = self.fill(&workspace, &files, &record, &new).await;
        if filled.is_err() {
            // Nobody knows its id; the first error is the one to tell.
            let _ = workspace.close().await;
        }
        filled
    }

    async fn fill(
        &self,
        workspace: &Workspace,
        files: &[FileRecord],
        record: &SessionRecord,
        new: &NewContainer,
    ) -> Result<Container, RunError> {
        let (store, tenant) = (self.engine.store(), &self.tenant);
        uploads::put(store, tenant, workspace, files, Again::Replace).await?;
        store.remember_session(tenant, record).await?;
        store.name_session(tenant, &record.id, &new.name).await?;
        let made = self.get(&record.id).await?;
        match new.minutes {
            Some(asked) if asked > made.minutes => {
                let why = format!("{} minutes is the most", made.minutes);
                Err(RunError::naming("expires_after.minutes", why))
            }
            _ => Ok(made),
        }
    }
}

/// `1g`, `4g`, `16g` or `64g`, in bytes.
fn memory(written: Option<&Value>) -> Result<Option<u64>, RunError> {
    let gigabytes = match written {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.strip_suffix('g').and_then(|n| n.parse::<u64>().ok()),
        Some(_) => None,
    };
    match gigabytes.filter(|n| (1..=64).contains(n)) {
        Some(gigabytes) => Ok(Some(gigabytes << 30)),
        None => Err(RunError::naming(
            "memory_limit",
            "must be 1g, 4g, 16g or 64g",
        )),
    }
}

fn minutes(written: Option<&Value>) -> Result<Option<u64>, RunError> {
    let Some(after) = written.filter(|after| !after.is_null()) else {
        return Ok(None);
    };
    let anchor = after.get("anchor").and_then(Value::as_str);
    match (anchor, after.get("minutes").and_then(Value::as_u64)) {
        (Some("last_active_at"), Some(minutes)) if minutes > 0 => Ok(Some(minutes)),
        _ => Err(RunError::naming(
            "expires_after",
            "must be {\"anchor\": \"last_active_at\", \"minutes\": N}",
        )),
    }
}
