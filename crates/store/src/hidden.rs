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
/// Calls in one statement.
const AT_ONCE: usize = 200;

impl Store {
    /// Keeps turns, each under the call that may bring them back.
    ///
    /// # Errors
    /// [`Error::Invalid`] when some are too long to be kept; then none are.
    pub async fn keep_turns(
        &self,
        tenant: &TenantId,
        kept: &[(&str, &str)],
        time: Duration,
    ) -> Result<()> {
        let longest = kept.iter().map(|(_, turns)| turns.len()).max();
        if let Some(bytes) = longest.filter(|bytes| *bytes > MOST) {
            return Err(Error::Invalid {
                field: "turns",
                reason: format!("they have {bytes} bytes, and {MOST} is the most"),
            });
        }
        let until = Timestamp::now().after(time);
        for some in kept.chunks(AT_ONCE) {
            let row = |(call, turns): &(&str, &str)| {
                vec![
                    tenant.as_str().into(),
                    (*call).into(),
                    until.into(),
                    (*turns).into(),
                ]
            };
            let sql =
                Sql::new("INSERT INTO hidden_turns (tenant, call, expires_at, turns) VALUES ")
                    .rows(some.iter().map(row))
                    .push(
                        " ON CONFLICT (tenant, call) DO UPDATE
                  SET expires_at = excluded.expires_at, turns = excluded.turns",
                    );
            self.db().run(sql).await?;
        }
        Ok(())
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

    /// What is kept under any of these calls, with the call.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn kept_turns_of(
        &self,
        tenant: &TenantId,
        calls: &[&str],
    ) -> Result<Vec<(String, String)>> {
        let mut kept = Vec::new();
        for some in calls.chunks(AT_ONCE) {
            let sql = Sql::new("SELECT call, turns FROM hidden_turns WHERE tenant = ")
                .with("", tenant.as_str())
                .with(" AND expires_at > ", Timestamp::now())
                .push(" AND call IN ")
                .list(some.iter().copied());
            for row in self.db().all(sql).await? {
                kept.push((row.text("call")?, row.text("turns")?));
            }
        }
        Ok(kept)
    }
}
