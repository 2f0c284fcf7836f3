//! Gets and lists containers of a tenant.

use serde_json::Value;

use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::container::{ClusterContainer, read_setup};
use super::rows;
use super::skills::{read_skills, select_skills};

/// Containers of one list. A tenant has fewer: see
/// [`ContainerQuota`](super::ContainerQuota).
const MAX_LISTED: i64 = 10_000;

/// A container without its skills.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterContainerSummary {
    /// `container_…`.
    pub id: String,
    /// What it was set up with, as written by the code that created it.
    pub setup: Value,
    /// The bytes of its files.
    pub stored_bytes: u64,
    /// When it was created, on the clock of the database.
    pub created_at: Timestamp,
    /// When it was last used, on the clock of the database.
    pub used_at: Timestamp,
}

impl Store {
    /// A container of the tenant, if it exists.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn cluster_container(
        &self,
        tenant: &TenantId,
        id: &str,
    ) -> Result<Option<ClusterContainer>> {
        let sql = rows::select(self.database(), tenant, id);
        let Some(row) = self.db().fetch_optional(sql).await? else {
            return Ok(None);
        };
        let mut container = ClusterContainer::from_row(&row)?;
        container.skills = read_skills(&self.db().fetch_all(select_skills(id)).await?)?;
        Ok(Some(container))
    }

    /// A container of the tenant without its skills, if it exists.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn cluster_container_summary(
        &self,
        tenant: &TenantId,
        id: &str,
    ) -> Result<Option<ClusterContainerSummary>> {
        let row = self.db().fetch_optional(select_one(tenant, id)).await?;
        let summary = row.as_ref().map(ClusterContainerSummary::from_row);
        summary.transpose()
    }

    /// All containers of the tenant, those that were used last first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list_cluster_containers(
        &self,
        tenant: &TenantId,
    ) -> Result<Vec<ClusterContainerSummary>> {
        let rows = self.db().fetch_all(select_all(tenant)).await?;
        rows.iter().map(ClusterContainerSummary::from_row).collect()
    }
}

impl ClusterContainerSummary {
    fn from_row(row: &DbRow) -> Result<Self> {
        Ok(ClusterContainerSummary {
            id: row.text("id")?,
            setup: read_setup(row)?,
            stored_bytes: u64::try_from(row.int("stored_bytes")?).unwrap_or_default(),
            created_at: row.time("created_at")?,
            used_at: row.time("used_at")?,
        })
    }
}

pub(super) fn select_all(tenant: &TenantId) -> Sql {
    select_summaries()
        .push_bind(" WHERE c.tenant = ", tenant.as_str())
        .push_bind(" ORDER BY c.used_at DESC, c.id LIMIT ", MAX_LISTED)
}

pub(super) fn select_one(tenant: &TenantId, id: &str) -> Sql {
    select_summaries()
        .push_bind(" WHERE c.tenant = ", tenant.as_str())
        .push_bind(" AND c.id = ", id)
}

fn select_summaries() -> Sql {
    Sql::new(
        "SELECT c.id, c.setup, c.created_at, c.used_at, s.stored_bytes
         FROM cluster_containers c JOIN sessions s ON s.id = c.id",
    )
}
