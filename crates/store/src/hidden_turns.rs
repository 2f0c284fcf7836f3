//! Turns of a run that the client's dialect cannot carry, stored until the client returns
//! the result of the tool call that followed them.

use std::time::Duration;

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Bytes of turns stored for one tool call.
const MAX_TURN_BYTES: usize = 8 << 20;
/// Characters of turns stored per tenant; beyond that those that expire first are
/// dropped.
const MAX_TENANT_CHARS: i64 = 256 << 20;
/// Calls in one statement.
const BATCH_CALLS: usize = 200;

impl Store {
    /// Stores turns, each under the tool call that retrieves them.
    ///
    /// # Errors
    /// [`Error::Invalid`] when some are too large; then none are stored.
    pub async fn save_hidden_turns(
        &self,
        tenant: &TenantId,
        turns_by_call: &[(&str, &str)],
        time: Duration,
    ) -> Result<()> {
        let longest = turns_by_call.iter().map(|(_, turns)| turns.len()).max();
        if let Some(bytes) = longest.filter(|bytes| *bytes > MAX_TURN_BYTES) {
            return Err(Error::Invalid {
                field: "turns",
                reason: format!("they have {bytes} bytes; the limit is {MAX_TURN_BYTES}"),
            });
        }
        let size: usize = turns_by_call.iter().map(|(_, turns)| turns.len()).sum();
        let until = Timestamp::now().after(time);
        // Ids come from models and clients. One that cannot be stored is no reason to lose the
        // others.
        let storable = turns_by_call.iter().filter(|(call, _)| is_storable(call));
        let storable: Vec<(&str, &str)> = storable.copied().collect();
        for batch in storable.chunks(BATCH_CALLS) {
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
                    .push_rows(batch.iter().map(row))
                    .push(
                        " ON CONFLICT (tenant, call) DO UPDATE
                  SET expires_at = excluded.expires_at, turns = excluded.turns",
                    );
            self.db().execute(sql).await?;
        }
        if self.turn_growth().record(tenant, size) {
            self.drop_turns_over(MAX_TENANT_CHARS, tenant).await?;
        }
        Ok(())
    }

    /// Drops those of a tenant's turns that expire first, beyond this many characters.
    async fn drop_turns_over(&self, max_chars: i64, tenant: &TenantId) -> Result<()> {
        let sql = Sql::new(
            "DELETE FROM hidden_turns WHERE (tenant, call) IN (
                 SELECT tenant, call FROM (
                     SELECT tenant, call, SUM(LENGTH(turns)) OVER (
                         ORDER BY expires_at DESC, call DESC
                     ) AS so_far FROM hidden_turns WHERE tenant = $1
                 ) AS sums WHERE so_far > $2)",
        );
        let sql = sql.bind(tenant.as_str()).bind(max_chars);
        self.db().execute(sql).await.map(drop)
    }

    /// The turns stored under a tool call, unless expired.
    pub async fn hidden_turns(&self, tenant: &TenantId, call: &str) -> Result<Option<String>> {
        if !is_storable(call) {
            return Ok(None);
        }
        let sql = Sql::new("SELECT turns FROM hidden_turns WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND call = ", call)
            .push_bind(" AND expires_at > ", Timestamp::now());
        let row = self.db().fetch_optional(sql).await?;
        row.map(|row| row.text("turns")).transpose()
    }

    /// The turns stored under any of these tool calls, with the call.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn hidden_turns_by_call(
        &self,
        tenant: &TenantId,
        calls: &[&str],
    ) -> Result<Vec<(String, String)>> {
        let mut kept = Vec::new();
        let storable = calls.iter().copied().filter(|call| is_storable(call));
        let calls: Vec<&str> = storable.collect();
        for batch in calls.chunks(BATCH_CALLS) {
            let sql = Sql::new("SELECT call, turns FROM hidden_turns WHERE tenant = ")
                .push_bind("", tenant.as_str())
                .push_bind(" AND expires_at > ", Timestamp::now())
                .push(" AND call IN ")
                .push_list(batch.iter().copied());
            for row in self.db().fetch_all(sql).await? {
                kept.push((row.text("call")?, row.text("turns")?));
            }
        }
        Ok(kept)
    }
}

fn is_storable(call: &str) -> bool {
    !call.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreConfig;

    #[tokio::test]
    async fn of_a_tenant_that_keeps_too_much_those_go_that_would_be_forgotten_first() {
        let folder = tempfile::tempdir().unwrap();
        let config = StoreConfig::local(folder.path());
        let store = Store::open(&config).await.unwrap();
        let tenant = TenantId::default_tenant();
        for (call, seconds) in [("a", 10), ("b", 20), ("c", 30)] {
            let (turns, time) = ([(call, "1234567890")], Duration::from_secs(seconds));
            store
                .save_hidden_turns(&tenant, &turns, time)
                .await
                .unwrap();
        }
        store.drop_turns_over(25, &tenant).await.unwrap();
        let calls = ["a", "b", "c"];
        let mut kept = store.hidden_turns_by_call(&tenant, &calls).await.unwrap();
        kept.sort();
        let left: Vec<_> = kept.iter().map(|(call, _)| call.as_str()).collect();
        assert_eq!(left, ["b", "c"]);
    }

    #[tokio::test]
    async fn a_call_whose_id_cannot_be_stored_does_not_keep_others_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let config = StoreConfig::local(folder.path());
        let store = Store::open(&config).await.unwrap();
        let tenant = TenantId::default_tenant();
        let turns = [("a", "1"), ("b\0", "2"), ("c", "3")];
        let saved = store.save_hidden_turns(&tenant, &turns, Duration::from_secs(9));
        saved.await.unwrap();
        let found = store
            .hidden_turns_by_call(&tenant, &["a", "b\0", "c"])
            .await;
        assert_eq!(found.unwrap().len(), 2);
        assert_eq!(store.hidden_turns(&tenant, "b\0").await.unwrap(), None);
    }
}
