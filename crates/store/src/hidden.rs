//! Turns of a run that its client's dialect could not carry, kept until the client
//! answers the call they led to.

use std::time::Duration;

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Bytes of turns kept for one answer.
const MOST: usize = 8 << 20;

impl Store {
    /// Keeps turns under each of the calls that may bring them back.
    ///
    /// # Errors
    /// [`Error::Invalid`] when they are too long to be kept.
    pub async fn keep_turns(
        &self,
        tenant: &TenantId,
        calls: &[&str],
        turns: &str,
        time: Duration,
    ) -> Result<()> {
        if turns.len() > MOST {
            return Err(Error::Invalid {
                field: "turns",
                reason: format!("they have {} bytes, and {MOST} is the most", turns.len()),
            });
        }
        if calls.is_empty() {
            return Ok(());
        }
        let until = Timestamp::now().after(time);
        let row = |call: &&str| {
            vec![
                tenant.as_str().into(),
                (*call).into(),
                until.into(),
                turns.into(),
            ]
        };
        let sql = Sql::new("INSERT INTO hidden_turns (tenant, call, expires_at, turns) VALUES ")
            .rows(calls.iter().map(row))
            .push(
                " ON CONFLICT (tenant, call) DO UPDATE
                  SET expires_at = excluded.expires_at, turns = excluded.turns",
            );
        self.db().run(sql).await.map(drop)
    }

    /// The turns kept under a call, if their time is not over.
    pub async fn kept_turns(&self, tenant: &TenantId, call: &str) -> Result<Option<String>> {
        let sql = Sql::new("SELECT turns FROM hidden_turns WHERE tenant = ")
            .with("", tenant.as_str())
            .with(" AND call = ", call)
            .with(" AND expires_at > ", Timestamp::now());
        let row = self.db().one(sql).await?;
        row.map(|row| row.text("turns")).transpose()
    }
}
