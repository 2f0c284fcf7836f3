//! Records of sandbox containers: with which versions of which skills each was created.
//! The files are stored by the sandbox.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Ids in one query.
const BATCH_IDS: usize = 500;

/// A container that a later request may name again.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerRecord {
    /// `container_…`.
    pub id: String,
    /// The upstream's own container that belongs to it, if there is one.
    pub upstream: Option<String>,
    /// Its skills with their versions, as written by the code that created it.
    pub skills: Value,
}

impl ContainerRecord {
    /// Whether it is a container of Prowess: an upstream's own container may be recorded
    /// alone, under its own id.
    pub fn is_ours(&self) -> bool {
        self.upstream.as_deref() != Some(self.id.as_str())
    }

    /// The upstream's container as it is stored: its id may contain anything, and must not keep
    /// a step of a run from being stored.
    pub(crate) fn stored_upstream(&self) -> Option<String> {
        self.upstream.as_ref().map(|id| id.replace('\0', ""))
    }
}

impl Store {
    /// Saves a container, or its changes.
    pub async fn save_container(
        &self,
        tenant: &TenantId,
        container: &ContainerRecord,
    ) -> Result<()> {
        let row = vec![
            container.id.as_str().into(),
            tenant.as_str().into(),
            container.stored_upstream().into(),
            Timestamp::now().into(),
            container.skills.to_string().into(),
        ];
        let sql = Sql::new("INSERT INTO sessions (id, tenant, upstream, used_at, skills) VALUES ")
            .push_rows([row])
            .push(
                " ON CONFLICT (id) DO UPDATE SET upstream = excluded.upstream,
                    used_at = excluded.used_at, skills = excluded.skills
                  WHERE sessions.tenant = excluded.tenant",
            );
        tenant
            .map_unknown_tenant(self.db().execute(sql).await)
            .map(drop)
    }

    /// A container of the tenant, if it is recorded.
    pub async fn container(&self, tenant: &TenantId, id: &str) -> Result<Option<ContainerRecord>> {
        let sql = Sql::new("SELECT id, upstream, skills FROM sessions WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND id = ", id);
        let Some(row) = self.db().fetch_optional(sql).await? else {
            return Ok(None);
        };
        let skills = serde_json::from_str(&row.text("skills")?);
        Ok(Some(ContainerRecord {
            id: row.text("id")?,
            upstream: row.optional_text("upstream")?,
            skills: skills.map_err(|error| Error::MalformedRow {
                table: "sessions",
                reason: format!("skills: {error}"),
            })?,
        }))
    }

    /// Sets the display name of a recorded container of the tenant.
    pub async fn set_container_name(&self, tenant: &TenantId, id: &str, name: &str) -> Result<()> {
        let sql = Sql::new("UPDATE sessions SET name = ")
            .push_bind("", name)
            .push_bind(" WHERE tenant = ", tenant.as_str())
            .push_bind(" AND id = ", id);
        self.db().execute(sql).await.map(drop)
    }

    /// The names of those of these containers that are recorded for the tenant; empty for
    /// one without a name.
    pub async fn container_names(
        &self,
        tenant: &TenantId,
        ids: &[&str],
    ) -> Result<BTreeMap<String, String>> {
        let mut names = BTreeMap::new();
        for batch in ids.chunks(BATCH_IDS) {
            let sql = Sql::new("SELECT id, name FROM sessions WHERE tenant = ")
                .push_bind("", tenant.as_str())
                .push(" AND id IN ")
                .push_list(batch.iter().copied());
            for row in self.db().fetch_all(sql).await? {
                let name = row.optional_text("name")?.unwrap_or_default();
                names.insert(row.text("id")?, name);
            }
        }
        Ok(names)
    }
}
