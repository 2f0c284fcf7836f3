//! Reading runs and their steps.

use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::{Error, ResourceKind, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::run_state::RunState;

/// A run, as clients ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRun {
    /// `run_…`.
    pub id: String,
    /// The model name that the client sent.
    pub model: String,
    /// The client's dialect.
    pub dialect: String,
    /// Its state.
    pub state: RunState,
    /// Whether it goes on without its client.
    pub kept: bool,
    /// Number of finished steps.
    pub steps: i64,
    /// Whether it is to be cancelled, or was.
    pub cancel_requested: bool,
    /// The response or error with which it ended, as JSON.
    pub result: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// The kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// What was fixed before the first turn.
    Start,
    /// A turn of the model.
    Turn,
    /// The result of a tool.
    ToolResult,
}

impl StepKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            StepKind::Start => "start",
            StepKind::Turn => "turn",
            StepKind::ToolResult => "tool_result",
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let mut all = [StepKind::Start, StepKind::Turn, StepKind::ToolResult].into_iter();
        all.find(|kind| kind.as_str() == text)
            .ok_or_else(|| Error::MalformedRow {
                table: "journal_steps",
                reason: format!("unknown kind `{text}`"),
            })
    }
}

/// A finished step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalStep {
    /// Its number, from 0.
    pub seq: i64,
    /// The epoch of the owner that wrote it.
    pub epoch: i64,
    /// Its kind.
    pub kind: StepKind,
    /// The id of the tool call, of a tool's result.
    pub call: Option<String>,
    /// Its content, as the caller wrote it.
    pub body: String,
    /// When it finished, on the clock of the server that wrote it.
    pub created_at: Timestamp,
}

impl Store {
    /// A run of the tenant that is in progress or ended recently.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn journal_run(&self, tenant: &TenantId, id: &str) -> Result<JournalRun> {
        let sql = Sql::new(
            "SELECT id, model, dialect, state, kept, next_step, cancel_requested, result,
                    created_at, ended_at
             FROM journal_runs WHERE tenant = $1 AND id = $2",
        );
        let row = self
            .db()
            .fetch_optional(sql.bind(tenant.as_str()).bind(id))
            .await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Run, id))?;
        JournalRun::from_row(&row)
    }

    /// The state of a run of the tenant. Its result may be large, and is not read.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn journal_state(&self, tenant: &TenantId, id: &str) -> Result<RunState> {
        let sql = Sql::new("SELECT state FROM journal_runs WHERE tenant = $1 AND id = $2");
        let sql = sql.bind(tenant.as_str()).bind(id);
        let row = self.db().fetch_optional(sql).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Run, id))?;
        RunState::parse(&row.text("state")?)
    }

    /// The run of the tenant that began with this idempotency key, if there is one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn run_by_idempotency_key(
        &self,
        tenant: &TenantId,
        key: &str,
    ) -> Result<Option<String>> {
        let sql = Sql::new("SELECT id FROM journal_runs WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND idempotency_key = ", key);
        let row = self.db().fetch_optional(sql).await?;
        row.map(|row| row.text("id")).transpose()
    }

    /// The request of a run of the tenant, as it was stored.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn journal_request(&self, tenant: &TenantId, id: &str) -> Result<Vec<u8>> {
        let sql = Sql::new("SELECT request FROM journal_runs WHERE tenant = $1 AND id = $2");
        let sql = sql.bind(tenant.as_str()).bind(id);
        let row = self.db().fetch_optional(sql).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Run, id))?;
        Ok(row.optional_bytes("request")?.unwrap_or_default())
    }

    /// The id of the key that the request of a run was authenticated with; `None` for the
    /// operator.
    ///
    /// # Errors
    /// When there is no run with this id.
    pub async fn journal_key(&self, tenant: &TenantId, id: &str) -> Result<Option<String>> {
        let sql = Sql::new("SELECT api_key FROM journal_runs WHERE tenant = $1 AND id = $2");
        let sql = sql.bind(tenant.as_str()).bind(id);
        let row = self.db().fetch_optional(sql).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Run, id))?;
        row.optional_text("api_key")
    }

    /// The number of the tenant's kept runs that have not ended.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn count_open_runs(&self, tenant: &TenantId) -> Result<u64> {
        let row = self.db().fetch_optional(select_open_runs(tenant)).await?;
        let open = row.map_or(Ok(0), |row| row.int("open"))?;
        Ok(u64::try_from(open).unwrap_or_default())
    }

    /// The finished steps of a run, in order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn journal_steps(&self, run: &str) -> Result<Vec<JournalStep>> {
        let sql = Sql::new(
            "SELECT seq, epoch, kind, call, body, created_at FROM journal_steps
             WHERE run = $1 ORDER BY seq",
        );
        let rows = self.db().fetch_all(sql.bind(run)).await?;
        rows.iter().map(JournalStep::from_row).collect()
    }
}

/// The number of a tenant's kept runs that have not ended, as `open`.
pub(super) fn select_open_runs(tenant: &TenantId) -> Sql {
    let sql = Sql::new(
        "SELECT COUNT(*) AS open FROM journal_runs
         WHERE tenant = $1 AND state IN ('queued', 'running') AND kept = 1",
    );
    sql.bind(tenant.as_str())
}

impl JournalRun {
    pub(super) fn from_row(row: &DbRow) -> Result<Self> {
        Ok(JournalRun {
            id: row.text("id")?,
            model: row.text("model")?,
            dialect: row.text("dialect")?,
            state: RunState::parse(&row.text("state")?)?,
            kept: row.flag("kept")?,
            steps: row.int("next_step")?,
            cancel_requested: row.flag("cancel_requested")?,
            result: row.optional_text("result")?,
            created_at: row.time("created_at")?,
            ended_at: row.optional_time("ended_at")?,
        })
    }
}

impl JournalStep {
    fn from_row(row: &DbRow) -> Result<Self> {
        Ok(JournalStep {
            seq: row.int("seq")?,
            epoch: row.int("epoch")?,
            kind: StepKind::parse(&row.text("kind")?)?,
            call: row.optional_text("call")?,
            body: row.text("body")?,
            created_at: row.time("created_at")?,
        })
    }
}
