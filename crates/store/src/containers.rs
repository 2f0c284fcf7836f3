//! What is remembered of a sandbox's session: which versions of which skills it was
//! made with. Its files are the sandbox's.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Ids in one query.
const BATCH_IDS: usize = 500;

/// A session, as its user may name it again.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerRecord {
    /// `container_…`.
    pub id: String,
    /// The upstream's own container that goes with it, if there is one.
    pub upstream: Option<String>,
    /// Its skills with their versions, as whoever made it wrote them.
    pub skills: Value,
}

impl ContainerRecord {
    /// Whether it is a session of ours: some upstream's own container may be remembered
    /// by itself, under its own id.
    pub fn is_ours(&self) -> bool {
        self.upstream.as_deref() != Some(self.id.as_str())
    }
}

impl Store {
    /// Remembers a session, or what has changed about it.
    pub async fn save_container(
        &self,
        tenant: &TenantId,
        container: &ContainerRecord,
    ) -> Result<()> {
        let row = vec![
            container.id.as_str().into(),
            tenant.as_str().into(),
            container.upstream.as_deref().into(),
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

    /// A session of the tenant's, if it is remembered.
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

    /// Gives a session of the tenant's that is remembered a name, for people.
    pub async fn set_container_name(&self, tenant: &TenantId, id: &str, name: &str) -> Result<()> {
        let sql = Sql::new("UPDATE sessions SET name = ")
            .push_bind("", name)
            .push_bind(" WHERE tenant = ", tenant.as_str())
            .push_bind(" AND id = ", id);
        self.db().execute(sql).await.map(drop)
    }

    /// The names of those among some sessions that the tenant has, and that are
    /// remembered; empty for one that was given none.
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
