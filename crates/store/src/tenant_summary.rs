//! What each tenant has and did, for the operator.

use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::Result;
use crate::id::{self, IdPrefix};
use crate::page::{PageCursor, PagePosition, PageRequest, RecordPage};
use crate::tenant::TenantRecord;
use crate::time::Timestamp;

/// What a tenant has, and did in a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantSummary {
    /// The tenant.
    pub tenant: TenantRecord,
    /// Skills.
    pub skills: i64,
    /// Versions of all skills together.
    pub versions: i64,
    /// Files.
    pub files: i64,
    /// Bytes of files, of all versions of skills, and of kept runs.
    pub bytes: i64,
    /// Keys that are not revoked.
    pub keys: i64,
    /// Runs that began in the period, whether they have ended or not.
    pub runs: i64,
    /// Requests to models that ended in the period.
    pub requests: i64,
    /// Their cost, in billionths of the price currency.
    pub cost_nanos: i64,
}

impl TenantSummary {
    fn from_row(row: &DbRow) -> Result<Self> {
        Ok(TenantSummary {
            tenant: TenantRecord::from_row(row)?,
            skills: row.int("skills")?,
            versions: row.int("versions")?,
            files: row.int("files")?,
            bytes: row.int("bytes")?,
            keys: row.int("keys")?,
            runs: row.int("runs")?,
            requests: row.int("requests")?,
            cost_nanos: row.int("cost_nanos")?,
        })
    }
}

const SELECT_SUMMARIES: &str = "SELECT t.id, t.name, t.created_at,
    COALESCE(s.skills, 0) AS skills, COALESCE(s.versions, 0) AS versions,
    COALESCE(s.files, 0) AS files, COALESCE(s.bytes, 0) AS bytes,
    (SELECT COUNT(*) FROM keys k WHERE k.tenant = t.id AND k.revoked_at IS NULL) AS keys,
    (SELECT COUNT(*) FROM runs r WHERE r.tenant = t.id AND r.id >= $1)
        + (SELECT COUNT(*) FROM foreground_runs f WHERE f.tenant = t.id AND f.id >= $1)
        + (SELECT COUNT(*) FROM journal_runs j WHERE j.tenant = t.id AND j.id >= $1
             AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = j.id)) AS runs,
    (SELECT CAST(COALESCE(SUM(u.requests), 0) AS BIGINT) FROM usage u
     WHERE u.tenant = t.id AND u.created_at >= $2) AS requests,
    (SELECT CAST(COALESCE(SUM(u.cost_nanos), 0) AS BIGINT) FROM usage u
     WHERE u.tenant = t.id AND u.created_at >= $2) AS cost_nanos
    FROM tenants t LEFT JOIN tenant_storage s ON s.tenant = t.id";

impl Store {
    /// A page of all tenants by id, with what they did since a time. Pages begin at the start
    /// or after a cursor.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn tenant_summaries(
        &self,
        since: Timestamp,
        page: &PageRequest,
    ) -> Result<RecordPage<TenantSummary>> {
        let mut sql = Sql::new(SELECT_SUMMARIES)
            .bind(id::time_bound(IdPrefix::Run, since))
            .bind(since);
        if let PagePosition::After(cursor) = &page.from {
            sql = sql.push_bind(" WHERE t.id > ", cursor.id());
        }
        let sql = sql.push_bind(" ORDER BY t.id LIMIT ", page.fetch_limit());
        let rows = self.db().fetch_all(sql).await?;
        let tenants = rows.iter().map(TenantSummary::from_row);
        let tenants = tenants.collect::<Result<Vec<_>>>()?;
        Ok(RecordPage::from_fetched(
            tenants,
            page,
            |summary: &TenantSummary| PageCursor::from_id(summary.tenant.id.as_str()),
        ))
    }
}
