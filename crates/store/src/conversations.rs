//! Stored conversations, which clients continue in any number of requests.
//!
//! An unused conversation is dropped after a time. Of a tenant over its limit, the least
//! recently used are dropped first: clients cannot list conversations, so they could not
//! free space themselves.

use std::time::Duration;

use crate::Store;
use crate::conversation_inserts::{add_to_totals, check_size, insert_items};
use crate::db::{DbRow, Sql};
use crate::error::{Error, ResourceKind, Result};
use crate::items::{NewItem, text_bytes};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Bytes of conversations per tenant.
const MAX_TENANT_BYTES: i64 = 1 << 30;
/// Size counted for a conversation in addition to its items and metadata.
const OVERHEAD_BYTES: i64 = 1_024;

/// A conversation to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewConversation<'a> {
    /// Its id, chosen by the caller.
    pub id: &'a str,
    /// The client's metadata, as JSON.
    pub metadata: &'a str,
    /// Its first items.
    pub items: &'a [NewItem<'a>],
    /// How long it is stored after its last use.
    pub expires_in: Duration,
}

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRecord {
    /// Its id.
    pub id: String,
    /// The client's metadata, as JSON.
    pub metadata: String,
    /// How many items it has.
    pub items: u64,
    /// Its size in bytes: items, metadata and an overhead.
    pub size: u64,
    /// When it was created.
    pub created_at: Timestamp,
}

impl ConversationRecord {
    fn from_row(row: &DbRow) -> Result<Self> {
        Ok(ConversationRecord {
            id: row.text("id")?,
            metadata: row.text("metadata")?,
            items: u64::try_from(row.int("items")?).unwrap_or_default(),
            size: u64::try_from(row.int("size")?).unwrap_or_default(),
            created_at: row.time("created_at")?,
        })
    }
}

impl Store {
    /// Creates a conversation.
    pub async fn create_conversation(
        &self,
        tenant: &TenantId,
        new: &NewConversation<'_>,
    ) -> Result<ConversationRecord> {
        let now = Timestamp::now();
        let bytes: usize = new.items.iter().map(|new| new.json.len()).sum();
        self.disk_space()
            .check(new.metadata.len().saturating_add(bytes) as u64)?;
        let size = OVERHEAD_BYTES.saturating_add(text_bytes(new.metadata));
        let sql = Sql::new(
            "INSERT INTO conversations
                 (tenant, id, metadata, items, size, next, created_at, expires_at)
             VALUES ($1, $2, $3, 0, $4, 0, $5, $6)",
        )
        .bind(tenant.as_str())
        .bind(new.id)
        .bind(new.metadata)
        .bind(size)
        .bind(now)
        .bind(now.after(new.expires_in));
        let mut tx = self.db().begin().await?;
        tenant.map_unknown_tenant(tx.execute(sql).await)?;
        let added = insert_items(&mut tx, tenant, new.id, new.items, 0).await?;
        let size = size.saturating_add(added.bytes);
        check_size(new.id, added.count, size)?;
        add_to_totals(&mut tx, tenant, new.id, &added).await?;
        tx.commit().await?;
        self.track_conversation_growth(tenant, size).await?;
        Ok(ConversationRecord {
            id: new.id.to_owned(),
            metadata: new.metadata.to_owned(),
            items: added.count,
            size: size.unsigned_abs(),
            created_at: now,
        })
    }

    /// A conversation.
    pub async fn conversation(&self, tenant: &TenantId, id: &str) -> Result<ConversationRecord> {
        let row = self
            .db()
            .fetch_optional(select_unexpired(tenant, id))
            .await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Conversation, id))?;
        ConversationRecord::from_row(&row)
    }

    /// Replaces the metadata of a conversation.
    pub async fn update_conversation(
        &self,
        tenant: &TenantId,
        id: &str,
        metadata: &str,
    ) -> Result<ConversationRecord> {
        self.disk_space().check(metadata.len() as u64)?;
        let mut tx = self.db().begin().await?;
        let row = tx
            .fetch_optional(select_unexpired(tenant, id).for_update())
            .await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Conversation, id))?;
        let record = ConversationRecord::from_row(&row)?;
        let growth = text_bytes(metadata) - text_bytes(&record.metadata);
        let sql = Sql::new(
            "UPDATE conversations SET metadata = $1, size = size + $2
             WHERE tenant = $3 AND id = $4",
        );
        let sql = sql.bind(metadata).bind(growth);
        tx.execute(sql.bind(tenant.as_str()).bind(id)).await?;
        tx.commit().await?;
        self.track_conversation_growth(tenant, growth).await?;
        Ok(ConversationRecord {
            metadata: metadata.to_owned(),
            size: record.size.saturating_add_signed(growth),
            ..record
        })
    }

    /// Deletes a conversation with its items.
    pub async fn delete_conversation(&self, tenant: &TenantId, id: &str) -> Result<()> {
        let sql = Sql::new("DELETE FROM conversations WHERE tenant = $1 AND id = $2");
        match self
            .db()
            .execute(sql.bind(tenant.as_str()).bind(id))
            .await?
        {
            0 => Err(Error::not_found(ResourceKind::Conversation, id)),
            _ => Ok(()),
        }
    }

    /// Drops expired conversations, and the least recently used of tenants over their
    /// limit.
    pub(crate) async fn drop_old_conversations(&self, now: Timestamp) -> Result<()> {
        let sql = Sql::new("DELETE FROM conversations WHERE expires_at <= $1");
        self.db().execute(sql.bind(now)).await?;
        self.drop_conversations_over(MAX_TENANT_BYTES, None).await
    }

    pub(crate) async fn track_conversation_growth(
        &self,
        tenant: &TenantId,
        bytes: i64,
    ) -> Result<()> {
        let bytes = usize::try_from(bytes).unwrap_or_default();
        if self.conversation_growth().record(tenant, bytes) {
            self.drop_conversations_over(MAX_TENANT_BYTES, Some(tenant))
                .await?;
        }
        Ok(())
    }

    async fn drop_conversations_over(&self, bytes: i64, tenant: Option<&TenantId>) -> Result<()> {
        let mut sql = Sql::new(
            "DELETE FROM conversations WHERE (tenant, id) IN (
                 SELECT tenant, id FROM (
                     SELECT tenant, id, SUM(size) OVER (
                         PARTITION BY tenant ORDER BY expires_at DESC, id DESC
                     ) AS so_far FROM conversations",
        );
        if let Some(tenant) = tenant {
            sql = sql.push_bind(" WHERE tenant = ", tenant.as_str());
        }
        let sql = sql.push_bind(") AS sums WHERE so_far > ", bytes).push(")");
        self.db().execute(sql).await.map(drop)
    }
}

fn select_unexpired(tenant: &TenantId, id: &str) -> Sql {
    let sql = Sql::new(
        "SELECT id, metadata, items, size, created_at FROM conversations
         WHERE tenant = $1 AND id = $2 AND expires_at > $3",
    );
    sql.bind(tenant.as_str()).bind(id).bind(Timestamp::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreConfig;

    #[tokio::test]
    async fn of_a_tenant_that_keeps_too_much_what_was_unused_for_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let config = StoreConfig::local(folder.path());
        let store = Store::open(&config).await.unwrap();
        let tenant = TenantId::default_tenant();
        for (id, seconds) in [("a", 100), ("b", 300), ("c", 200)] {
            let new = NewConversation {
                id,
                metadata: "{}",
                items: &[],
                expires_in: Duration::from_secs(seconds),
            };
            store.create_conversation(&tenant, &new).await.unwrap();
        }
        let limit = 2 * (OVERHEAD_BYTES + 2);
        let other = TenantId::new("other").unwrap();
        store
            .drop_conversations_over(1, Some(&other))
            .await
            .unwrap();
        assert!(store.conversation(&tenant, "a").await.is_ok());
        store.drop_conversations_over(limit, None).await.unwrap();
        assert!(store.conversation(&tenant, "a").await.is_err());
        for id in ["b", "c"] {
            assert!(store.conversation(&tenant, id).await.is_ok(), "{id}");
        }
        let later = Timestamp::now().after(Duration::from_secs(250));
        store.drop_old_conversations(later).await.unwrap();
        assert!(store.conversation(&tenant, "c").await.is_err());
        assert!(store.conversation(&tenant, "b").await.is_ok());
    }
}
