//! The items of conversations: ordered, each with an id.

use std::time::Duration;

use crate::Store;
use crate::conversation_inserts::{add_to_totals, check_size, insert_items};
use crate::conversations::ConversationRecord;
use crate::db::Sql;
use crate::error::{Error, ResourceKind, Result};
use crate::items::NewItem;
use crate::page::SortOrder;
use crate::tenant::TenantId;
use crate::time::Timestamp;

impl Store {
    /// Appends items to a conversation. An item that it already has is not added again.
    ///
    /// # Errors
    /// [`Error::ItemIdsTaken`] when the conversation has different items with some of the
    /// ids; [`Error::ConversationFull`] when they do not all fit. In both cases none are
    /// added.
    pub async fn add_conversation_items(
        &self,
        tenant: &TenantId,
        conversation: &str,
        items: &[NewItem<'_>],
        expires_in: Duration,
    ) -> Result<()> {
        let bytes: u64 = items.iter().map(|new| new.json.len() as u64).sum();
        self.disk_space().check(bytes)?;
        let now = Timestamp::now();
        let mut tx = self.db().begin().await?;
        let sql = Sql::new(
            "SELECT next, items, size FROM conversations
             WHERE tenant = $1 AND id = $2 AND expires_at > $3",
        );
        let sql = sql.bind(tenant.as_str()).bind(conversation).bind(now);
        let row = tx.fetch_optional(sql.for_update()).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Conversation, conversation))?;
        let next = row.int("next")?;
        let (number, size) = (row.int("items")?, row.int("size")?);
        let added = insert_items(&mut tx, tenant, conversation, items, next).await?;
        let number = u64::try_from(number).unwrap_or_default() + added.count;
        check_size(conversation, number, size.saturating_add(added.bytes))?;
        add_to_totals(&mut tx, tenant, conversation, &added).await?;
        let sql =
            Sql::new("UPDATE conversations SET expires_at = $1 WHERE tenant = $2 AND id = $3");
        let sql = sql.bind(now.after(expires_in)).bind(tenant.as_str());
        tx.execute(sql.bind(conversation)).await?;
        tx.commit().await?;
        self.track_conversation_growth(tenant, added.bytes).await
    }

    /// A conversation, and all of its items as JSON, oldest first.
    pub async fn conversation_with_items(
        &self,
        tenant: &TenantId,
        conversation: &str,
    ) -> Result<(ConversationRecord, Vec<String>)> {
        let record = self.conversation(tenant, conversation).await?;
        let sql = Sql::new(
            "SELECT item FROM conversation_items
             WHERE tenant = $1 AND conversation = $2 ORDER BY position",
        );
        let rows = self
            .db()
            .fetch_all(sql.bind(tenant.as_str()).bind(conversation))
            .await?;
        let items: Result<_> = rows.iter().map(|row| row.text("item")).collect();
        Ok((record, items?))
    }

    /// Items of a conversation as JSON, in this order, after the one with an id; one more
    /// than the limit if there are more.
    pub async fn conversation_items(
        &self,
        tenant: &TenantId,
        conversation: &str,
        order: SortOrder,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>> {
        self.conversation(tenant, conversation).await?;
        let mut sql = Sql::new("SELECT item FROM conversation_items WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND conversation = ", conversation);
        let ascending = order == SortOrder::Ascending;
        if let Some(after) = after {
            let at = self.item_position(tenant, conversation, after).await?;
            let beyond = if ascending {
                " AND position > "
            } else {
                " AND position < "
            };
            sql = sql.push_bind(beyond, at);
        }
        let sql = sql.push(if ascending {
            " ORDER BY position"
        } else {
            " ORDER BY position DESC"
        });
        let sql = sql.push_bind(" LIMIT ", i64::from(limit) + 1);
        let rows = self.db().fetch_all(sql).await?;
        rows.iter().map(|row| row.text("item")).collect()
    }

    /// One item of a conversation as JSON.
    pub async fn conversation_item(
        &self,
        tenant: &TenantId,
        conversation: &str,
        id: &str,
    ) -> Result<String> {
        self.conversation(tenant, conversation).await?;
        let sql = Sql::new("SELECT item FROM conversation_items");
        let row = self
            .db()
            .fetch_optional(where_item(sql, tenant, conversation, id))
            .await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::ConversationItem, id))?;
        row.text("item")
    }

    /// Deletes an item of a conversation.
    pub async fn delete_conversation_item(
        &self,
        tenant: &TenantId,
        conversation: &str,
        id: &str,
    ) -> Result<()> {
        self.conversation(tenant, conversation).await?;
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("SELECT id FROM conversations WHERE tenant = $1 AND id = $2");
        let sql = sql.bind(tenant.as_str()).bind(conversation);
        tx.fetch_optional(sql.for_update()).await?;
        let sql = Sql::new("SELECT size FROM conversation_items");
        let row = tx
            .fetch_optional(where_item(sql, tenant, conversation, id))
            .await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::ConversationItem, id))?;
        let size = row.int("size")?;
        let sql = Sql::new("DELETE FROM conversation_items");
        tx.execute(where_item(sql, tenant, conversation, id))
            .await?;
        let sql = Sql::new(
            "UPDATE conversations SET items = items - 1, size = size - $1
             WHERE tenant = $2 AND id = $3",
        );
        tx.execute(sql.bind(size).bind(tenant.as_str()).bind(conversation))
            .await?;
        tx.commit().await
    }

    async fn item_position(&self, tenant: &TenantId, conversation: &str, id: &str) -> Result<i64> {
        let sql = Sql::new("SELECT position FROM conversation_items");
        let row = self
            .db()
            .fetch_optional(where_item(sql, tenant, conversation, id))
            .await?;
        match row {
            Some(row) => row.int("position"),
            None => Err(Error::Invalid {
                field: "after",
                reason: "no item has this id".to_owned(),
            }),
        }
    }
}

fn where_item(sql: Sql, tenant: &TenantId, conversation: &str, id: &str) -> Sql {
    sql.push_bind(" WHERE tenant = ", tenant.as_str())
        .push_bind(" AND id = ", id)
        .push_bind(" AND conversation = ", conversation)
}
