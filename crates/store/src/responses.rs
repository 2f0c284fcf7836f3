//! Answers that can be asked for, and answered to, later.
//!
//! Both the conversation and the answer are JSON whose meaning is their writer's; the
//! store only keeps them: for a time, and up to a size per tenant.

use std::time::Duration;

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, ResourceKind, Result};
use crate::items::{self, NewItem};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Bytes of stored answers a tenant may keep; beyond that the oldest go first.
const MAX_TENANT_BYTES: i64 = 1 << 30;

/// An answer to be kept.
#[derive(Debug, Clone, Copy)]
pub struct NewResponse<'a> {
    /// Its id, of its writer's making.
    pub id: &'a str,
    /// All that was said before it and in it, as JSON.
    pub conversation: &'a str,
    /// The answer as its client was given it, as JSON.
    pub response: &'a str,
    /// The items of the answer that can be referred to by their ids.
    pub items: &'a [NewItem<'a>],
    /// How long it is kept.
    pub expires_in: Duration,
}

/// An answer that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseRecord {
    /// Its id.
    pub id: String,
    /// All that was said before it and in it, as JSON.
    pub conversation: String,
    /// The answer as its client was given it, as JSON.
    pub response: String,
    /// When it was kept.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
}

impl Store {
    /// Keeps an answer. One of the same id is replaced.
    pub async fn save_response(&self, tenant: &TenantId, new: &NewResponse<'_>) -> Result<()> {
        let now = Timestamp::now();
        let items: usize = new.items.iter().map(|item| item.json.len()).sum();
        let size = new.conversation.len() + new.response.len() + items;
        self.disk_space().check(size as u64)?;
        let sql = Sql::new(
            "INSERT INTO responses (tenant, id, size, created_at, expires_at, conversation, response)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (tenant, id) DO UPDATE SET size = excluded.size,
                 created_at = excluded.created_at, expires_at = excluded.expires_at,
                 conversation = excluded.conversation, response = excluded.response",
        );
        let sql = sql.bind(tenant.as_str()).bind(new.id);
        let sql = sql.bind(i64::try_from(size).unwrap_or(i64::MAX));
        let sql = sql.bind(now).bind(now.after(new.expires_in));
        let sql = sql.bind(new.conversation).bind(new.response);
        let mut tx = self.db().begin().await?;
        tenant.map_unknown_tenant(tx.execute(sql).await)?;
        items::replace_items(&mut tx, tenant, new.id, new.items).await?;
        tx.commit().await?;
        if self.response_growth().record(tenant, size) {
            self.drop_responses_over(MAX_TENANT_BYTES, Some(tenant))
                .await?;
        }
        Ok(())
    }

    /// An answer that was kept and is not past its time.
    pub async fn load_response(&self, tenant: &TenantId, id: &str) -> Result<ResponseRecord> {
        let sql = Sql::new(
            "SELECT created_at, expires_at, conversation, response FROM responses
             WHERE tenant = $1 AND id = $2 AND expires_at > $3",
        );
        let sql = sql.bind(tenant.as_str()).bind(id).bind(Timestamp::now());
        let row = self.db().fetch_optional(sql).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Response, id))?;
        Ok(ResponseRecord {
            id: id.to_owned(),
            conversation: row.text("conversation")?,
            response: row.text("response")?,
            created_at: row.time("created_at")?,
            expires_at: row.time("expires_at")?,
        })
    }

    /// Forgets an answer.
    pub async fn delete_response(&self, tenant: &TenantId, id: &str) -> Result<()> {
        let sql = Sql::new("DELETE FROM responses WHERE tenant = $1 AND id = $2");
        match self
            .db()
            .execute(sql.bind(tenant.as_str()).bind(id))
            .await?
        {
            0 => Err(Error::not_found(ResourceKind::Response, id)),
            _ => Ok(()),
        }
    }

    /// Drops what is past its time, and of tenants that keep too much the oldest.
    pub(crate) async fn drop_old_responses(&self, now: Timestamp) -> Result<()> {
        let sql = Sql::new("DELETE FROM responses WHERE expires_at <= $1");
        self.db().execute(sql.bind(now)).await?;
        self.drop_responses_over(MAX_TENANT_BYTES, None).await
    }

    /// Drops the oldest of one tenant, or of each, that are more than so many bytes.
    async fn drop_responses_over(&self, bytes: i64, tenant: Option<&TenantId>) -> Result<()> {
        let mut sql = Sql::new(
            "DELETE FROM responses WHERE (tenant, id) IN (
                 SELECT tenant, id FROM (
                     SELECT tenant, id, SUM(size) OVER (
                         PARTITION BY tenant ORDER BY created_at DESC, id DESC
                     ) AS so_far FROM responses",
        );
        if let Some(tenant) = tenant {
            sql = sql.push_bind(" WHERE tenant = ", tenant.as_str());
        }
        let sql = sql.push_bind(") AS sums WHERE so_far > ", bytes).push(")");
        self.db().execute(sql).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreConfig;

    #[tokio::test]
    async fn of_a_tenant_that_keeps_too_much_the_oldest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path()))
            .await
            .unwrap();
        let tenant = TenantId::default_tenant();
        for id in ["a", "b", "c"] {
            let new = NewResponse {
                id,
                conversation: "12345",
                response: "12345",
                items: &[],
                expires_in: Duration::from_secs(60),
            };
            store.save_response(&tenant, &new).await.unwrap();
        }
        let other = TenantId::new("other").unwrap();
        store.drop_responses_over(5, Some(&other)).await.unwrap();
        assert!(store.load_response(&tenant, "a").await.is_ok());
        for whose in [Some(&tenant), None] {
            store.drop_responses_over(25, whose).await.unwrap();
            assert!(store.load_response(&tenant, "a").await.is_err());
            for id in ["b", "c"] {
                assert!(store.load_response(&tenant, id).await.is_ok(), "{id}");
            }
        }
    }
}
