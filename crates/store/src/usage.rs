//! Usage of models: written in batches, read as sums (`sums`).
//!
//! A row counts all requests of one kind that ended at about the same time. Rows are only
//! ever added, so any number of processes may write concurrently. What skills took of a row is
//! written with it (`skill_costs`).

#[cfg(test)]
mod protocol_tests;
mod sums;

pub(crate) use sums::PastUsage;
pub use sums::UsageSum;

use std::time::Duration;

use jiff::tz::TimeZone;

use crate::Store;
use crate::db::{Sql, SqlValue, Tx};
use crate::error::{Error, Result};
use crate::id::{self, IdPrefix};
use crate::skill_costs::{SkillCost, insert_skill_costs};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Requests that are equal in everything but what they used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// The tenant.
    pub tenant: TenantId,
    /// The key; `None` for the operator.
    pub key: Option<String>,
    /// The model name that the client sent; `(unknown)` if there was no route to it, and
    /// `(other)` for the rest of a tenant that named too many at once.
    pub model: String,
    /// The provider that responded; empty if none was reached.
    pub provider: String,
    /// The provider's name for the model.
    pub upstream_model: String,
    /// The client's dialect.
    pub dialect: String,
    /// The status sent to the client; 499 if it disconnected early.
    pub status: u16,
    /// Number of requests.
    pub requests: u64,
    /// How many of them have no price.
    pub unpriced: u64,
    /// How many of them have estimated counts, because the upstream sent none.
    pub estimated: u64,
    /// Input that was neither read from nor written to a cache.
    pub input_tokens: u64,
    /// Output, thinking included.
    pub output_tokens: u64,
    /// Input read from a cache.
    pub cache_read_tokens: u64,
    /// Input written to a cache.
    pub cache_write_tokens: u64,
    /// Their cost, in billionths of the price currency.
    pub cost_nanos: u64,
    /// Their total duration.
    pub millis: u64,
    /// Their time in the sandbox.
    pub sandbox_millis: u64,
    /// What skills took of all this, sorted by name and id.
    pub skills: Vec<SkillCost>,
}

/// What to group by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsageGrouping {
    /// The model name that clients send.
    Model,
    /// The key's id.
    Key,
    /// The provider.
    Provider,
    /// The tenant.
    Tenant,
    /// The day in UTC.
    Day,
}

impl UsageGrouping {
    /// All of them.
    pub const ALL: [UsageGrouping; 5] = [
        UsageGrouping::Model,
        UsageGrouping::Key,
        UsageGrouping::Provider,
        UsageGrouping::Tenant,
        UsageGrouping::Day,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            UsageGrouping::Model => "model",
            UsageGrouping::Key => "key",
            UsageGrouping::Provider => "provider",
            UsageGrouping::Tenant => "tenant",
            UsageGrouping::Day => "day",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        UsageGrouping::ALL
            .into_iter()
            .find(|by| by.as_str() == text)
    }

    /// The grouping expression, as sortable text.
    fn column(self) -> &'static str {
        match self {
            UsageGrouping::Model => "model",
            UsageGrouping::Key => "COALESCE(key, '')",
            UsageGrouping::Provider => "provider",
            UsageGrouping::Tenant => "tenant",
            // Days since 1970: five digits until the year 2243.
            UsageGrouping::Day => "CAST(created_at / 86400000000 AS TEXT)",
        }
    }

    fn label(self, group: String) -> String {
        match (self, group.parse::<i64>()) {
            (UsageGrouping::Day, Ok(day)) => {
                let time = jiff::Timestamp::from_second(day.saturating_mul(86_400));
                time.map_or(group, |time| time.strftime("%F").to_string())
            }
            _ => group,
        }
    }
}

/// Which rows to add up.
#[derive(Debug, Clone)]
pub struct UsageQuery<'a> {
    /// Only this tenant; `None` for all.
    pub tenant: Option<&'a TenantId>,
    /// The start of the period.
    pub since: Timestamp,
    /// The grouping.
    pub by: UsageGrouping,
}

impl UsageQuery<'_> {
    /// Parses a time: `7d`, `24h`, `30m` before now, a day (`2026-11-01`) or a timestamp
    /// (`2026-11-01T12:00:00Z`).
    pub fn parse_since(text: &str, now: Timestamp) -> Result<Timestamp> {
        let unit = |suffix, seconds: u64| {
            let count: u64 = text.strip_suffix(suffix)?.parse().ok()?;
            let ago = Duration::from_secs(count.checked_mul(seconds)?);
            Some(now.before(ago))
        };
        let ago = unit('d', 86_400)
            .or_else(|| unit('h', 3_600))
            .or_else(|| unit('m', 60));
        let day = || {
            text.parse::<jiff::civil::Date>()
                .ok()?
                .to_zoned(TimeZone::UTC)
                .ok()
        };
        let time = || text.parse::<jiff::Timestamp>().ok();
        let time = || time().or_else(|| day().map(|day| day.timestamp()));
        let at = ago.or_else(|| time().map(|at| Timestamp::from_micros(at.as_microsecond())));
        at.ok_or_else(|| Error::Invalid {
            field: "since",
            reason: format!(
                "`{}` is not a time: use 7d, 24h, 2026-11-01 or 2026-11-01T12:00:00Z",
                text.escape_debug()
            ),
        })
    }
}

/// The highest count of a row. What upstreams count may be any number, and sums of many rows must
/// be numbers of the database.
const MAX_COUNT: i64 = 1 << 50;

/// A count as it is stored.
pub(crate) fn stored_count(count: u64) -> i64 {
    i64::try_from(count).map_or(MAX_COUNT, |count| count.min(MAX_COUNT))
}

const INSERT_USAGE: &str =
    "INSERT INTO usage (id, tenant, key, model, provider, upstream_model, dialect,
    status, requests, unpriced, estimated, input_tokens, output_tokens, cache_read_tokens,
    cache_write_tokens, cost_nanos, millis, sandbox_ms, created_at) VALUES ";

/// Writes rows within a transaction.
pub(crate) async fn insert_usage(tx: &mut Tx, rows: &[UsageRow]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let first_id = id::new_id(IdPrefix::Usage, Timestamp::now())?;
    insert_rows(tx, first_id, rows).await
}

async fn insert_rows(tx: &mut Tx, first_id: String, rows: &[UsageRow]) -> Result<()> {
    let now = Timestamp::now();
    let mut first_id = Some(first_id);
    let mut values = Vec::with_capacity(rows.len());
    for row in rows {
        let id = match first_id.take() {
            Some(id) => id,
            None => id::new_id(IdPrefix::Usage, now)?,
        };
        values.push(row.values(id, now));
    }
    tx.execute(Sql::new(INSERT_USAGE).push_rows(values)).await?;
    let mut costs = Vec::new();
    for row in rows {
        costs.extend(row.skills.iter().map(|cost| (&row.tenant, cost)));
    }
    insert_skill_costs(tx, &costs, now).await
}

/// Rows that are written once, however often that is attempted: when a connection breaks, whether
/// a transaction was committed is unknown.
#[derive(Debug, Clone)]
pub struct UsageBatch {
    /// The id of the first row.
    first_id: String,
    rows: Vec<UsageRow>,
}

impl UsageBatch {
    /// A batch of these rows; a few hundred at most.
    ///
    /// # Errors
    /// When there are no random numbers for an id.
    pub fn new(rows: Vec<UsageRow>) -> Result<Self> {
        Ok(UsageBatch {
            first_id: id::new_id(IdPrefix::Usage, Timestamp::now())?,
            rows,
        })
    }

    /// Its rows.
    #[must_use]
    pub fn rows(&self) -> &[UsageRow] {
        &self.rows
    }

    async fn is_stored(&self, tx: &mut Tx) -> Result<bool> {
        let sql = Sql::new("SELECT id FROM usage WHERE id = ").push_bind("", &self.first_id);
        Ok(tx.fetch_optional(sql).await?.is_some())
    }
}

impl Store {
    /// Writes rows, all or none. Callers pass a few hundred at most. After an error they may
    /// be written or not; see [`Store::record_usage_batch`].
    pub async fn record_usage(&self, rows: &[UsageRow]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut tx = self.db().begin().await?;
        insert_usage(&mut tx, rows).await?;
        tx.commit().await
    }

    /// Writes a batch, all of it or nothing. One that is stored already is not written again, so
    /// after an error the same batch can be written again.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn record_usage_batch(&self, batch: &UsageBatch) -> Result<()> {
        if batch.rows.is_empty() {
            return Ok(());
        }
        let mut tx = self.db().begin().await?;
        if batch.is_stored(&mut tx).await? {
            tx.rollback().await;
            return Ok(());
        }
        // If a transaction before is about to be committed, the id of the first row is refused.
        insert_rows(&mut tx, batch.first_id.clone(), &batch.rows).await?;
        tx.commit().await
    }

    /// What a key has spent since a time, in billionths.
    pub async fn spent_nanos(&self, key: &str, since: Timestamp) -> Result<u64> {
        let sql =
            Sql::new("SELECT CAST(COALESCE(SUM(cost_nanos), 0) AS BIGINT) AS spent FROM usage");
        let sql = sql.push_bind(" WHERE key = ", key);
        let row = self
            .db()
            .fetch_optional(sql.push_bind(" AND created_at >= ", since))
            .await?;
        let spent = row.map_or(Ok(0), |row| row.int("spent"))?;
        Ok(u64::try_from(spent).unwrap_or_default())
    }

    pub(crate) async fn drop_old_usage(&self, before: Timestamp) -> Result<u64> {
        let sql = Sql::new("DELETE FROM usage WHERE created_at < $1");
        self.db().execute(sql.bind(before)).await
    }
}

impl UsageRow {
    fn values(&self, id: String, now: Timestamp) -> Vec<SqlValue> {
        let count = |n: u64| SqlValue::from(stored_count(n));
        vec![
            id.into(),
            self.tenant.as_str().into(),
            self.key.as_deref().into(),
            // Model names come from clients and may contain anything.
            self.model.replace('\0', "").into(),
            (&self.provider).into(),
            self.upstream_model.replace('\0', "").into(),
            (&self.dialect).into(),
            i64::from(self.status).into(),
            count(self.requests),
            count(self.unpriced),
            count(self.estimated),
            count(self.input_tokens),
            count(self.output_tokens),
            count(self.cache_read_tokens),
            count(self.cache_write_tokens),
            count(self.cost_nanos),
            count(self.millis),
            count(self.sandbox_millis),
            now.into(),
        ]
    }
}
