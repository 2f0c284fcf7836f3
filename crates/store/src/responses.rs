//! Stored responses, which can be retrieved and continued later.
//!
//! Conversation and response are JSON that the store does not interpret. They are stored
//! for a time, and up to a size per tenant.

use std::time::Duration;

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, ResourceKind, Result};
use crate::items::{self, NewItem};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Bytes of stored responses per tenant; beyond that the oldest are dropped first.
const MAX_TENANT_BYTES: i64 = 1 << 30;

/// A response to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewResponse<'a> {
    /// Its id, chosen by the caller.
    pub id: &'a str,
    /// The whole conversation including the response, as JSON.
    pub conversation: &'a str,
    /// The response as sent to its client, as JSON.
    pub response: &'a str,
    /// The items of the response that can be referenced by id.
    pub items: &'a [NewItem<'a>],
    /// How long it is stored.
    pub expires_in: Duration,
}

/// A stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseRecord {
    /// Its id.
    pub id: String,
    /// The whole conversation including the response, as JSON.
    pub conversation: String,
    /// The response as sent to its client, as JSON.
    pub response: String,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}

impl Store {
    /// Stores a response. One with the same id is replaced.
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
        ).bind(tenant.as_str()).bind(new.id).bind(i64::try_from(size).unwrap_or(i64::MAX)).bind(now).bind(now.after(new.expires_in)).bind(new.conversation).bind(new.response);
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

    /// A stored response, unless expired.
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

    /// Deletes a response.
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

    /// Drops expired responses, and the oldest of tenants over their limit.
    pub(crate) async fn drop_old_responses(&self, now: Timestamp) -> Result<()> {
        let sql = Sql::new("DELETE FROM responses WHERE expires_at <= $1");
        self.db().execute(sql.bind(now)).await?;
        self.drop_responses_over(MAX_TENANT_BYTES, None).await
    }

    /// Drops the oldest responses of one tenant, or of each, beyond this many bytes.
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
