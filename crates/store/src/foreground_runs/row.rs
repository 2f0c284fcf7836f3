//! What is stored of a foreground run.

use serde_json::{Value, json};

use crate::db::{DbRow, SqlValue};
use crate::error::{Error, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;
use crate::usage::UsageRow;

/// A foreground run in progress, as far as its turns are finished.
#[derive(Debug, Clone, PartialEq)]
pub struct ForegroundRun {
    /// `run_…`, from [`Store::new_run_id`](crate::Store::new_run_id).
    pub id: String,
    /// Number of finished turns of the model.
    pub turns: i64,
    /// Number of finished calls of Prowess's tools.
    pub calls: i64,
    /// When it began.
    pub started_at: Timestamp,
    /// The container its code runs in, if any.
    pub container: Option<String>,
    /// The usage of its turns, as in its record.
    pub turn_usage: Value,
    /// Its skills, and how each was used.
    pub skills: Value,
    /// The files it created.
    pub files: Value,
    /// Its usage row, if its server dies. Duration, and the numbers of requests and estimates
    /// are not stored.
    pub usage: UsageRow,
}

/// The columns of [`ForegroundRun::values`].
pub(super) const COLUMNS: &str = "id, tenant, api_key, dialect, model, status, provider,
    upstream_model, turns, calls, unpriced, input_tokens, output_tokens, cache_read_tokens,
    cache_write_tokens, cost_nanos, container, usage, skills, files, sandbox_ms, skill_costs,
    started_at";

/// Those of them that change while the run is in progress.
pub(super) const CHANGING: [&str; 16] = [
    "provider = ",
    ", upstream_model = ",
    ", turns = ",
    ", calls = ",
    ", unpriced = ",
    ", input_tokens = ",
    ", output_tokens = ",
    ", cache_read_tokens = ",
    ", cache_write_tokens = ",
    ", cost_nanos = ",
    ", container = ",
    ", usage = ",
    ", skills = ",
    ", files = ",
    ", sandbox_ms = ",
    ", skill_costs = ",
];

impl ForegroundRun {
    pub(super) fn values(&self) -> Vec<SqlValue> {
        let usage = &self.usage;
        let mut values = vec![
            self.id.as_str().into(),
            usage.tenant.as_str().into(),
            usage.key.as_deref().into(),
            usage.dialect.as_str().into(),
            // Model names come from clients and may contain anything.
            usage.model.replace('\0', "").into(),
            i64::from(usage.status).into(),
        ];
        values.extend(self.changing_values());
        values.push(self.started_at.into());
        values
    }

    /// The values of [`CHANGING`].
    pub(super) fn changing_values(&self) -> [SqlValue; 16] {
        let count = |n: u64| SqlValue::from(i64::try_from(n).unwrap_or(i64::MAX));
        let usage = &self.usage;
        [
            usage.provider.as_str().into(),
            usage.upstream_model.replace('\0', "").into(),
            self.turns.into(),
            self.calls.into(),
            count(usage.unpriced),
            count(usage.input_tokens),
            count(usage.output_tokens),
            count(usage.cache_read_tokens),
            count(usage.cache_write_tokens),
            count(usage.cost_nanos),
            self.container.as_deref().into(),
            self.turn_usage.to_string().into(),
            self.skills.to_string().into(),
            self.files.to_string().into(),
            count(usage.sandbox_millis),
            json!(usage.skills).to_string().into(),
        ]
    }
}

/// The usage of a run whose server died.
pub(super) fn interrupted_usage(row: &DbRow) -> Result<UsageRow> {
    let count = |column| -> Result<u64> { Ok(u64::try_from(row.int(column)?).unwrap_or_default()) };
    let micros = row.int("seen_at")?.saturating_sub(row.int("started_at")?);
    let skills = row.text("skill_costs")?;
    let skills = serde_json::from_str(&skills).map_err(|error| Error::MalformedRow {
        table: "foreground_runs",
        reason: format!("skill_costs: {error}"),
    })?;
    Ok(UsageRow {
        tenant: TenantId::new(row.text("tenant")?)?,
        key: row.optional_text("api_key")?,
        model: row.text("model")?,
        provider: row.text("provider")?,
        upstream_model: row.text("upstream_model")?,
        dialect: row.text("dialect")?,
        status: u16::try_from(row.int("status")?).unwrap_or_default(),
        requests: 1,
        unpriced: count("unpriced")?,
        estimated: 0,
        input_tokens: count("input_tokens")?,
        output_tokens: count("output_tokens")?,
        cache_read_tokens: count("cache_read_tokens")?,
        cache_write_tokens: count("cache_write_tokens")?,
        cost_nanos: count("cost_nanos")?,
        millis: u64::try_from(micros / 1_000).unwrap_or_default(),
        sandbox_millis: count("sandbox_ms")?,
        skills,
    })
}
