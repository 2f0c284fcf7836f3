//! The record of a run: written when the run has ended.

use std::collections::HashMap;

use serde_json::Value;

use crate::Store;
use crate::db::{DbRow, Sql, SqlValue, Tx};
use crate::error::Result;
use crate::id::{self, IdPrefix};
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

/// A record, its tenant, and the key of its request.
type RecordRow<'a> = (&'a TenantId, &'a NewRun, Option<&'a str>);

impl Store {
    /// A new id for a run that begins now.
    pub fn new_run_id() -> Result<String> {
        id::new_id(IdPrefix::Run, Timestamp::now())
    }

    /// Stores the record of a run. One that was stored before is replaced: its server was
    /// thought to be dead, or died before it ended the run in the journal.
    pub async fn record_run(&self, tenant: &TenantId, run: &NewRun) -> Result<()> {
        let mut tx = self.db().begin().await?;
        let keys = kept_run_keys(&mut tx, [run.id.as_str()]).await?;
        let row = (tenant, run, keys.get(&run.id).map(String::as_str));
        tenant.map_unknown_tenant(insert_records(&mut tx, &[row]).await)?;
        tx.commit().await
    }

    /// Stores the records of several runs, all or none.
    pub async fn record_runs(&self, runs: &[(TenantId, NewRun)]) -> Result<()> {
        let mut tx = self.db().begin().await?;
        let keys = kept_run_keys(&mut tx, runs.iter().map(|(_, run)| run.id.as_str())).await?;
        let rows = runs.iter().map(|(tenant, run)| {
            let key = keys.get(&run.id).map(String::as_str);
            (tenant, run, key)
        });
        let rows: Vec<RecordRow<'_>> = rows.collect();
        insert_records(&mut tx, &rows).await?;
        tx.commit().await
    }
}

/// Writes records within a transaction.
pub(crate) async fn insert_records(tx: &mut Tx, runs: &[RecordRow<'_>]) -> Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let sql = Sql::new(
        "INSERT INTO runs (id, tenant, model, provider, dialect, status, turns, calls,
            input_tokens, output_tokens, started_at, ended_at, session, error, usage,
            skills, files, events, api_key) VALUES ",
    );
    let sql = sql.push_rows(runs.iter().map(|row| values(row)));
    let sql = sql.push(
        " ON CONFLICT (id) DO UPDATE SET model = excluded.model, provider = excluded.provider,
            dialect = excluded.dialect, status = excluded.status, turns = excluded.turns,
            calls = excluded.calls, input_tokens = excluded.input_tokens,
            output_tokens = excluded.output_tokens, ended_at = excluded.ended_at,
            session = excluded.session, error = excluded.error, usage = excluded.usage,
            skills = excluded.skills, files = excluded.files, events = excluded.events,
            api_key = COALESCE(excluded.api_key, runs.api_key)
          WHERE runs.tenant = excluded.tenant",
    );
    tx.execute(sql).await.map(drop)
}

/// The keys of kept runs, whose journal has them.
async fn kept_run_keys(
    tx: &mut Tx,
    ids: impl IntoIterator<Item = &'_ str>,
) -> Result<HashMap<String, String>> {
    let ids: Vec<&str> = ids.into_iter().collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = Sql::new("SELECT id, api_key FROM journal_runs WHERE api_key IS NOT NULL AND id IN ");
    let rows = tx.fetch_all(sql.push_list(ids)).await?;
    let key = |row: &DbRow| Ok((row.text("id")?, row.text("api_key")?));
    rows.iter().map(key).collect()
}

fn values((tenant, run, key): &RecordRow<'_>) -> Vec<SqlValue> {
    // Names of models and texts of errors come from clients and upstreams, and may contain
    // anything.
    let without_nul = |text: &Option<String>| text.as_ref().map(|text| text.replace('\0', ""));
    vec![
        run.id.as_str().into(),
        tenant.as_str().into(),
        run.model.replace('\0', "").into(),
        without_nul(&run.provider).into(),
        run.dialect.into(),
        run.status.into(),
        run.turns.into(),
        run.calls.into(),
        run.input_tokens.into(),
        run.output_tokens.into(),
        run.started_at.into(),
        run.ended_at.into(),
        run.container.as_deref().into(),
        without_nul(&run.error).into(),
        run.usage.to_string().into(),
        run.skills.to_string().into(),
        run.files.to_string().into(),
        run.events.to_string().into(),
        (*key).into(),
    ]
}
