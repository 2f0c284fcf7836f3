//! Records of runs: written once when a run has ended, and read by people.

use serde_json::Value;

use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::{Error, ResourceKind, Result};
use crate::id::{self, IdPrefix};
use crate::page::{PageCursor, PageRequest, RecordPage};
use crate::skills::{ID_COLUMN, paginate};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// A run that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// `run_…`, from [`Store::new_run_id`].
    pub id: String,
    /// The model name that the client sent.
    pub model: String,
    /// The provider that responded, if any.
    pub provider: Option<String>,
    /// The client's dialect.
    pub dialect: &'static str,
    /// How it ended.
    pub status: &'static str,
    /// Number of model turns.
    pub turns: i64,
    /// Number of calls of Prowess's tools.
    pub calls: i64,
    /// Input tokens of all turns, cached or not.
    pub input_tokens: i64,
    /// Output tokens of all turns.
    pub output_tokens: i64,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// The container its code ran in, if any.
    pub container: Option<String>,
    /// What ended it early, if anything.
    pub error: Option<String>,
    /// The usage of all turns.
    pub usage: Value,
    /// Its skills, and how each was used.
    pub skills: Value,
    /// The files it created.
    pub files: Value,
    /// What happened, in order.
    pub events: Value,
}

/// A run, as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// `run_…`.
    pub id: String,
    /// The model name that the client sent.
    pub model: String,
    /// The provider that responded, if any.
    pub provider: Option<String>,
    /// The client's dialect.
    pub dialect: String,
    /// How it ended.
    pub status: String,
    /// Number of model turns.
    pub turns: i64,
    /// Number of calls of Prowess's tools.
    pub calls: i64,
    /// Input tokens of all turns, cached or not.
    pub input_tokens: i64,
    /// Output tokens of all turns.
    pub output_tokens: i64,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// The container its code ran in, if any.
    pub container: Option<String>,
    /// What ended it early, if anything.
    pub error: Option<String>,
}

/// A run with all stored details.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDetail {
    /// As lists show it.
    pub run: RunRecord,
    /// The usage of all turns.
    pub usage: Value,
    /// Its skills, and how each was used.
    pub skills: Value,
    /// The files it created.
    pub files: Value,
    /// What happened, in order.
    pub events: Value,
}

const COLUMNS: &str = "id, model, provider, dialect, status, turns, calls, input_tokens,
    output_tokens, started_at, ended_at, session, error";

impl RunRecord {
    fn from_row(row: &DbRow) -> Result<Self> {
        Ok(RunRecord {
            id: row.text("id")?,
            model: row.text("model")?,
            provider: row.optional_text("provider")?,
            dialect: row.text("dialect")?,
            status: row.text("status")?,
            turns: row.int("turns")?,
            calls: row.int("calls")?,
            input_tokens: row.int("input_tokens")?,
            output_tokens: row.int("output_tokens")?,
            started_at: row.time("started_at")?,
            ended_at: row.time("ended_at")?,
            container: row.optional_text("session")?,
            error: row.optional_text("error")?,
        })
    }
}

impl Store {
    /// A new id for a run that begins now.
    pub fn new_run_id() -> Result<String> {
        id::new_id(IdPrefix::Run, Timestamp::now())
    }

    /// Stores the record of a run.
    pub async fn record_run(&self, tenant: &TenantId, run: &NewRun) -> Result<()> {
        let row = vec![
            run.id.as_str().into(),
            tenant.as_str().into(),
            run.model.as_str().into(),
            run.provider.as_deref().into(),
            run.dialect.into(),
            run.status.into(),
            run.turns.into(),
            run.calls.into(),
            run.input_tokens.into(),
            run.output_tokens.into(),
            run.started_at.into(),
            run.ended_at.into(),
            run.container.as_deref().into(),
            run.error.as_deref().into(),
            run.usage.to_string().into(),
            run.skills.to_string().into(),
            run.files.to_string().into(),
            run.events.to_string().into(),
        ];
        let sql = Sql::new(
            "INSERT INTO runs (id, tenant, model, provider, dialect, status, turns, calls,
                input_tokens, output_tokens, started_at, ended_at, session, error, usage,
                skills, files, events) VALUES ",
        );
        tenant
            .map_unknown_tenant(self.db().execute(sql.push_rows([row])).await)
            .map(drop)
    }

    /// A page of the tenant's runs, by age.
    pub async fn list_runs(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> Result<RecordPage<RunRecord>> {
        let sql = Sql::new("SELECT ").push(COLUMNS);
        let sql = sql.push_bind(" FROM runs WHERE tenant = ", tenant.as_str());
        let rows = self.db().fetch_all(paginate(sql, &ID_COLUMN, page)).await?;
        let runs = rows
            .iter()
            .map(RunRecord::from_row)
            .collect::<Result<_>>()?;
        Ok(RecordPage::from_fetched(runs, page, |run: &RunRecord| {
            PageCursor::from_id(&run.id)
        }))
    }

    /// Gets a run.
    pub async fn run(&self, tenant: &TenantId, id: &str) -> Result<RunDetail> {
        let sql = Sql::new("SELECT usage, skills, files, events, ").push(COLUMNS);
        let sql = sql.push_bind(" FROM runs WHERE tenant = ", tenant.as_str());
        let row = self
            .db()
            .fetch_optional(sql.push_bind(" AND id = ", id))
            .await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Run, id))?;
        let json = |column: &'static str| {
            serde_json::from_str(&row.text(column)?).map_err(|error| Error::MalformedRow {
                table: "runs",
                reason: format!("{column}: {error}"),
            })
        };
        Ok(RunDetail {
            usage: json("usage")?,
            skills: json("skills")?,
            files: json("files")?,
            events: json("events")?,
            run: RunRecord::from_row(&row)?,
        })
    }
}
