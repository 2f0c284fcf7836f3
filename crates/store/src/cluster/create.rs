//! Creates containers.

use std::time::Duration;

use serde_json::Value;

use crate::Store;
use crate::db::{Database, Sql, Tx};
use crate::error::{Error, Result};
use crate::journal::{StagedContent, and_no_run_holds, micros};
use crate::quota::lock_totals;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::apply::{StagedContents, check_contents};
use super::container::ClusterSkill;
use super::delete::remove;
use super::skills::{check_count, digests, insert_skills};

/// Bytes of an id.
const MAX_ID_BYTES: usize = 128;
/// Bytes of a setup, or of requirements.
const MAX_SETUP_BYTES: usize = 1 << 20;

/// A container that is about to be created.
#[derive(Debug)]
pub struct NewClusterContainer<'a> {
    /// `container_…`. The id of a container that has expired may be used again by its tenant,
    /// and so may that of one whose files alone are stored: those stay.
    pub id: &'a str,
    /// What it is set up with, which the store does not interpret.
    pub setup: &'a Value,
    /// The packages that its skills require, which the store does not interpret.
    pub requirements: Option<&'a str>,
    /// Its skills.
    pub skills: &'a [ClusterSkill],
    /// The contents of all files of its skills.
    pub contents: Vec<StagedContent>,
    /// How many containers its tenant may have.
    pub quota: ContainerQuota,
}

/// How many containers a tenant may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerQuota {
    /// Containers.
    pub containers: u32,
    /// How long the least recently used one must be unused to be deleted for a new one.
    pub evict_idle: Duration,
}

/// What became of [`Store::create_cluster_container`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum CreateContainerOutcome {
    /// It exists.
    Created {
        /// Its generation: not 0 if the id was used before.
        generation: i64,
        /// The container of the tenant that was deleted for it.
        evicted: Option<String>,
    },
    /// There is one with this id, of this tenant or of another.
    Exists,
    /// The tenant has as many as it may, and all of them are in use.
    TooMany {
        /// The limit.
        limit: u32,
    },
}

impl Store {
    /// Creates a container, or creates one that has expired again under its id. It is
    /// recorded ([`Store::container`]) without skills until
    /// [`Store::save_container`].
    ///
    /// # Errors
    /// When something of it is too large, a content is missing, or the store cannot be written.
    pub async fn create_cluster_container(
        &self,
        tenant: &TenantId,
        new: NewClusterContainer<'_>,
    ) -> Result<CreateContainerOutcome> {
        check_count(new.skills)?;
        let setup = setup_text(new.setup)?;
        check_size("id", new.id.len(), MAX_ID_BYTES)?;
        let requirements = new.requirements.unwrap_or_default();
        check_size("requirements", requirements.len(), MAX_SETUP_BYTES)?;
        let NewClusterContainer {
            id,
            requirements,
            skills,
            contents,
            quota,
            setup: _,
        } = new;
        let staged = StagedContents::new(contents);
        let row = ContainerRow {
            id,
            setup,
            requirements,
        };
        let created = self
            .insert_cluster_container(tenant, row, skills, &staged, quota)
            .await;
        let stored = created
            .as_ref()
            .map(|created| matches!(created, CreateContainerOutcome::Created { .. }));
        self.finish_staged(staged, stored).await;
        created
    }

    async fn insert_cluster_container(
        &self,
        tenant: &TenantId,
        row: ContainerRow<'_>,
        skills: &[ClusterSkill],
        staged: &StagedContents,
        quota: ContainerQuota,
    ) -> Result<CreateContainerOutcome> {
        let id = row.id;
        let mut tx = self.db().begin().await?;
        // Always before other rows: see `quota`. It also lets one server at a time count.
        lock_totals(&mut tx, tenant).await?;
        let Some(generation) = insert_record(&mut tx, tenant, id).await? else {
            tx.rollback().await;
            return Ok(CreateContainerOutcome::Exists);
        };
        if !row.insert(&mut tx, tenant).await? {
            tx.rollback().await;
            return Ok(CreateContainerOutcome::Exists);
        }
        let Ok(evicted) = make_room(&mut tx, tenant, id, quota).await? else {
            tx.rollback().await;
            let limit = quota.containers;
            return Ok(CreateContainerOutcome::TooMany { limit });
        };
        check_contents(&mut tx, id, digests(skills), staged).await?;
        insert_skills(&mut tx, id, skills).await?;
        staged.activate(&mut tx).await?;
        tx.commit().await?;
        Ok(CreateContainerOutcome::Created {
            generation,
            evicted,
        })
    }
}

/// The text of a setup.
pub(super) fn setup_text(setup: &Value) -> Result<String> {
    let text = setup.to_string();
    check_size("setup", text.len(), MAX_SETUP_BYTES)?;
    Ok(text)
}

fn check_size(field: &'static str, bytes: usize, limit: usize) -> Result<()> {
    if bytes <= limit {
        return Ok(());
    }
    Err(Error::Invalid {
        field,
        reason: format!("it has {bytes} bytes; the limit is {limit}"),
    })
}

/// Records the id, or locks its record. Returns its generation; `None` if it is another
/// tenant's.
async fn insert_record(tx: &mut Tx, tenant: &TenantId, id: &str) -> Result<Option<i64>> {
    let row = vec![
        id.into(),
        tenant.as_str().into(),
        Timestamp::now().into(),
        "[]".into(),
    ];
    let sql = Sql::new("INSERT INTO sessions (id, tenant, used_at, skills) VALUES ")
        .push_rows([row])
        .push(" ON CONFLICT (id) DO NOTHING");
    tenant.map_unknown_tenant(tx.execute(sql).await)?;
    let sql = Sql::new("SELECT generation FROM sessions WHERE tenant = ")
        .push_bind("", tenant.as_str())
        .push_bind(" AND id = ", id)
        .for_update();
    let row = tx.fetch_optional(sql).await?;
    row.map(|row| row.int("generation")).transpose()
}

struct ContainerRow<'a> {
    id: &'a str,
    setup: String,
    requirements: Option<&'a str>,
}

impl ContainerRow<'_> {
    /// Returns false if there is such a container.
    async fn insert(&self, tx: &mut Tx, tenant: &TenantId) -> Result<bool> {
        let clock = tx.database().clock();
        let sql = Sql::new(
            "INSERT INTO cluster_containers
                (id, tenant, setup, requirements, created_at, used_at) VALUES (",
        )
        .push_bind("", self.id)
        .push_bind(", ", tenant.as_str())
        .push_bind(", ", &self.setup)
        .push_bind(", ", self.requirements)
        .push(", ")
        .push(clock)
        .push(", ")
        .push(clock)
        .push(") ON CONFLICT (id) DO NOTHING");
        Ok(tx.execute(sql).await? == 1)
    }
}

/// The tenant's containers are all in use.
struct NoRoom;

/// Deletes another container of the tenant if it has too many with the new one. Returns the
/// deleted one.
async fn make_room(
    tx: &mut Tx,
    tenant: &TenantId,
    new: &str,
    quota: ContainerQuota,
) -> Result<std::result::Result<Option<String>, NoRoom>> {
    let row = tx.fetch_optional(count_containers(tenant)).await?;
    let containers = row.map_or(Ok(0), |row| row.int("containers"))?;
    if containers <= i64::from(quota.containers) {
        return Ok(Ok(None));
    }
    let sql = select_idle(tx.database(), tenant, new, quota.evict_idle);
    let Some(oldest) = tx.fetch_optional(sql).await? else {
        return Ok(Err(NoRoom));
    };
    let id = oldest.text("id")?;
    remove(tx, &id).await?;
    Ok(Ok(Some(id)))
}

pub(super) fn count_containers(tenant: &TenantId) -> Sql {
    Sql::new("SELECT COUNT(*) AS containers FROM cluster_containers WHERE tenant = ")
        .push_bind("", tenant.as_str())
}

/// The least recently used other container of the tenant that nobody holds, locked. Those that
/// others have locked are in use.
pub(super) fn select_idle(
    database: Database,
    tenant: &TenantId,
    except: &str,
    idle: Duration,
) -> Sql {
    let clock = database.clock();
    let sql = Sql::new(
        "SELECT c.id FROM sessions s JOIN cluster_containers c ON c.id = s.id WHERE c.tenant = ",
    )
    .push_bind("", tenant.as_str())
    .push(" AND c.used_at <= ")
    .push(clock)
    .push_bind(" - ", micros(idle))
    .push_bind(" AND c.id <> ", except)
    .push(" AND c.held_until <= ")
    .push(clock);
    and_no_run_holds(sql, database)
        .push(" ORDER BY c.used_at LIMIT 1")
        .for_update_skip_locked()
}
