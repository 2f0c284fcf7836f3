//! A run as it is read. Whether it has ended is not known before: one statement reads the
//! record, the journal and the foreground runs, so that a run that ends meanwhile is found in
//! exactly one state.

use serde_json::Value;

use crate::db::DbRow;
use crate::error::{Error, Result};
use crate::journal::JournalRun;
use crate::time::Timestamp;

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
    /// `queued`, `running`, or how it ended.
    pub status: String,
    /// Number of finished turns of the model.
    pub turns: i64,
    /// Number of calls of Prowess's tools.
    pub calls: i64,
    /// Input tokens of all turns, cached or not.
    pub input_tokens: i64,
    /// Output tokens of all turns.
    pub output_tokens: i64,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended, if it has.
    pub ended_at: Option<Timestamp>,
    /// The container its code ran in, if any.
    pub container: Option<String>,
    /// What ended it early, if anything.
    pub error: Option<String>,
    /// The key of its request, by its id.
    pub key: Option<String>,
    /// What it cost, in the price currency; none when nothing was counted.
    pub cost: Option<f64>,
    /// The skills that its request named or its model loaded.
    pub skills: Vec<RunSkillName>,
    /// How far a kept run is that has no record: one in progress, or one that ended before
    /// its first turn. Turns, calls and tokens are then unknown.
    pub kept: Option<KeptProgress>,
}

/// A skill of a run, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSkillName {
    /// Its name.
    pub name: String,
    /// Its id, if it is stored.
    pub id: Option<String>,
    /// The id of its version.
    pub version: Option<String>,
}

/// Skills of a run in a list.
const MAX_LISTED_SKILLS: usize = 20;

/// How far a kept run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptProgress {
    /// Number of finished steps.
    pub steps: i64,
    /// Whether it is to be cancelled, or was.
    pub cancel_requested: bool,
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

/// The columns of [`RunRecord`], from the ids in `found` and what [`JOINS`] finds for them.
/// While a kept run is in progress its journal is right: the record is written just before the
/// run ends in the journal, and its server may die between the two.
pub(super) const COLUMNS: &str = "found.id AS id, r.id AS record_id, j.id AS journal_id,
    COALESCE(r.model, j.model, f.model) AS model,
    COALESCE(r.dialect, j.dialect, f.dialect) AS dialect,
    COALESCE(r.provider, f.provider) AS provider,
    COALESCE(j.state, r.status, 'running') AS status,
    COALESCE(r.turns, f.turns, 0) AS turns,
    COALESCE(r.calls, f.calls, 0) AS calls,
    COALESCE(r.input_tokens,
        f.input_tokens + f.cache_read_tokens + f.cache_write_tokens, 0) AS input_tokens,
    COALESCE(r.output_tokens, f.output_tokens, 0) AS output_tokens,
    COALESCE(r.started_at, j.created_at, f.started_at) AS started_at,
    CASE WHEN j.state IN ('queued', 'running') THEN NULL
        ELSE COALESCE(r.ended_at, j.ended_at) END AS ended_at,
    COALESCE(r.session, f.container) AS container, r.error AS error,
    COALESCE(r.api_key, j.api_key, f.api_key) AS api_key,
    COALESCE(r.usage, f.usage, '{}') AS usage, COALESCE(r.skills, f.skills, '[]') AS skills,
    j.next_step AS steps, j.cancel_requested AS cancel_requested,
    CAST(CASE WHEN j.state IN ('queued', 'running') THEN 1 ELSE 0 END AS BIGINT)
        AS is_in_progress";

/// What is known of the ids in `found`.
pub(super) const JOINS: &str = " LEFT JOIN runs r ON r.id = found.id
    LEFT JOIN journal_runs j ON j.id = found.id
    LEFT JOIN foreground_runs f ON f.id = found.id";

impl RunRecord {
    pub(super) fn from_row(row: &DbRow) -> Result<Self> {
        let has_record = row.optional_text("record_id")?.is_some();
        let is_journaled = row.optional_text("journal_id")?.is_some();
        let is_in_progress = row.flag("is_in_progress")?;
        let kept = if is_journaled && (is_in_progress || !has_record) {
            Some(KeptProgress {
                steps: row.int("steps")?,
                cancel_requested: row.flag("cancel_requested")?,
            })
        } else {
            None
        };
        let provider = row.optional_text("provider")?;
        Ok(RunRecord {
            id: row.text("id")?,
            model: row.text("model")?,
            provider: provider.filter(|name| !name.is_empty()),
            dialect: row.text("dialect")?,
            status: row.text("status")?,
            turns: row.int("turns")?,
            calls: row.int("calls")?,
            input_tokens: row.int("input_tokens")?,
            output_tokens: row.int("output_tokens")?,
            started_at: row.time("started_at")?,
            ended_at: row.optional_time("ended_at")?,
            container: row.optional_text("container")?,
            error: row.optional_text("error")?,
            key: row.optional_text("api_key")?,
            cost: json_column(row, "usage")?
                .get("cost")
                .and_then(Value::as_f64),
            skills: skill_names(&json_column(row, "skills")?),
            kept,
        })
    }
}

impl From<&JournalRun> for RunRecord {
    /// A kept run that has no record.
    fn from(run: &JournalRun) -> Self {
        RunRecord {
            id: run.id.clone(),
            model: run.model.clone(),
            provider: None,
            dialect: run.dialect.clone(),
            status: run.state.as_str().to_owned(),
            turns: 0,
            calls: 0,
            input_tokens: 0,
            output_tokens: 0,
            started_at: run.created_at,
            ended_at: run.ended_at,
            container: None,
            error: None,
            key: None,
            cost: None,
            skills: Vec::new(),
            kept: Some(KeptProgress {
                steps: run.steps,
                cancel_requested: run.cancel_requested,
            }),
        }
    }
}

impl RunDetail {
    pub(super) fn from_row(row: &DbRow) -> Result<Self> {
        Ok(RunDetail {
            usage: json_column(row, "usage")?,
            skills: json_column(row, "skills")?,
            files: json_column(row, "files")?,
            events: json_column(row, "events")?,
            run: RunRecord::from_row(row)?,
        })
    }
}

fn json_column(row: &DbRow, column: &'static str) -> Result<Value> {
    serde_json::from_str(&row.text(column)?).map_err(|error| Error::MalformedRow {
        table: "runs",
        reason: format!("{column}: {error}"),
    })
}

/// Skills that were only offered have no version.
fn skill_names(skills: &Value) -> Vec<RunSkillName> {
    let skills = skills.as_array().into_iter().flatten();
    let named = skills.filter_map(|skill| {
        let text = |field: &str| skill.get(field).and_then(Value::as_str).map(str::to_owned);
        let (name, version) = (text("name")?, text("version"));
        let is_loaded = skill.get("loaded").and_then(Value::as_bool) == Some(true);
        (is_loaded || version.is_some()).then(|| RunSkillName {
            name,
            id: text("id"),
            version,
        })
    });
    named.take(MAX_LISTED_SKILLS).collect()
}
