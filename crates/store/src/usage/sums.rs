//! Usage as sums: by model, key, provider, tenant or day.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{UsageGrouping, UsageQuery};
use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::Result;
use crate::past_hours::{PastHours, PastSums};
use crate::time::Timestamp;
use futures_util::future::BoxFuture;

/// Maximum groups returned; days and models are far fewer.
const MAX_GROUPS: usize = 10_000;

/// The sums of one group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageSum {
    /// The model, key, provider, tenant or day (`2026-11-15`).
    pub group: String,
    /// Requests.
    pub requests: u64,
    /// Those that failed: a status of 400 or more.
    pub errors: u64,
    /// Those without a price.
    pub unpriced: u64,
    /// Those with estimated counts.
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
}

impl UsageSum {
    /// Adds what another sum of the same group has.
    fn add(&mut self, other: &UsageSum) {
        let pairs = [
            (&mut self.requests, other.requests),
            (&mut self.errors, other.errors),
            (&mut self.unpriced, other.unpriced),
            (&mut self.estimated, other.estimated),
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.cache_read_tokens, other.cache_read_tokens),
            (&mut self.cache_write_tokens, other.cache_write_tokens),
            (&mut self.cost_nanos, other.cost_nanos),
            (&mut self.millis, other.millis),
            (&mut self.sandbox_millis, other.sandbox_millis),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }

    fn from_row(row: &DbRow, by: UsageGrouping) -> Result<Self> {
        let count = |column| -> Result<u64> {
            let count = row.int(column)?;
            Ok(u64::try_from(count).unwrap_or_default())
        };
        Ok(UsageSum {
            group: by.label(row.text("part")?),
            requests: count("requests")?,
            errors: count("errors")?,
            unpriced: count("unpriced")?,
            estimated: count("estimated")?,
            input_tokens: count("input_tokens")?,
            output_tokens: count("output_tokens")?,
            cache_read_tokens: count("cache_read_tokens")?,
            cache_write_tokens: count("cache_write_tokens")?,
            cost_nanos: count("cost_nanos")?,
            millis: count("millis")?,
            sandbox_millis: count("sandbox_ms")?,
        })
    }
}

const SELECT_SUMS: &str = " AS part,
    CAST(SUM(requests) AS BIGINT) AS requests,
    CAST(SUM(CASE WHEN status >= 400 THEN requests ELSE 0 END) AS BIGINT) AS errors,
    CAST(SUM(unpriced) AS BIGINT) AS unpriced,
    CAST(SUM(estimated) AS BIGINT) AS estimated,
    CAST(SUM(input_tokens) AS BIGINT) AS input_tokens,
    CAST(SUM(output_tokens) AS BIGINT) AS output_tokens,
    CAST(SUM(cache_read_tokens) AS BIGINT) AS cache_read_tokens,
    CAST(SUM(cache_write_tokens) AS BIGINT) AS cache_write_tokens,
    CAST(SUM(cost_nanos) AS BIGINT) AS cost_nanos,
    CAST(SUM(millis) AS BIGINT) AS millis,
    CAST(SUM(sandbox_ms) AS BIGINT) AS sandbox_ms
    FROM usage";

/// The tenant, or all; the grouping; the hours.
type PastUsageKey = (Option<String>, UsageGrouping, PastHours);

/// Sums of hours that are over.
pub(crate) struct PastUsage(PastSums<PastUsageKey, Vec<UsageSum>>);

impl Default for PastUsage {
    fn default() -> Self {
        let memory = |sum: &UsageSum| size_of::<UsageSum>() + sum.group.len();
        let memory = move |sums: &Vec<UsageSum>| 256 + sums.iter().map(memory).sum::<usize>();
        PastUsage(PastSums::new(memory))
    }
}

impl Store {
    /// The usage as sums, with the groups in order.
    pub fn usage<'a>(&'a self, query: &'a UsageQuery<'a>) -> BoxFuture<'a, Result<Vec<UsageSum>>> {
        Box::pin(async move {
            let Some(past) = PastHours::within(query.since, Timestamp::now()) else {
                return self.sum_usage(query, query.since, None).await;
            };
            let mut groups = BTreeMap::new();
            if query.since < past.start {
                let first = self.sum_usage(query, query.since, Some(past.start));
                add_sums(&mut groups, &first.await?);
            }
            add_sums(&mut groups, &self.past_usage(query, past).await?);
            add_sums(&mut groups, &self.sum_usage(query, past.end, None).await?);
            Ok(groups.into_values().take(MAX_GROUPS).collect())
        })
    }

    async fn past_usage(
        &self,
        query: &UsageQuery<'_>,
        hours: PastHours,
    ) -> Result<Arc<Vec<UsageSum>>> {
        let tenant = query.tenant.map(|tenant| tenant.as_str().to_owned());
        let key = (tenant, query.by, hours);
        let cache = &self.past_usage_cache().0.0;
        if let Some(sums) = cache.get(&key).await {
            return Ok(sums);
        }
        let sums = self.sum_usage(query, hours.start, Some(hours.end)).await?;
        let sums = Arc::new(sums);
        cache.insert(key, Arc::clone(&sums)).await;
        Ok(sums)
    }

    /// The sums of a part of the period.
    async fn sum_usage(
        &self,
        query: &UsageQuery<'_>,
        from: Timestamp,
        before: Option<Timestamp>,
    ) -> Result<Vec<UsageSum>> {
        let column = query.by.column();
        let sql = Sql::new("SELECT ").push(column).push(SELECT_SUMS);
        let mut sql = sql.push_bind(" WHERE created_at >= ", from);
        if let Some(before) = before {
            sql = sql.push_bind(" AND created_at < ", before);
        }
        if let Some(tenant) = query.tenant {
            sql = sql.push_bind(" AND tenant = ", tenant.as_str());
        }
        let limit = i64::try_from(MAX_GROUPS).unwrap_or(i64::MAX);
        let sql = sql.push(" GROUP BY ").push(column);
        let sql = sql.push_bind(" ORDER BY part LIMIT ", limit);
        let rows = self.db().fetch_all(sql).await?;
        rows.iter()
            .map(|row| UsageSum::from_row(row, query.by))
            .collect()
    }
}

fn add_sums(groups: &mut BTreeMap<String, UsageSum>, sums: &[UsageSum]) {
    for sum in sums {
        match groups.get_mut(&sum.group) {
            Some(group) => group.add(sum),
            None => drop(groups.insert(sum.group.clone(), sum.clone())),
        }
    }
}
