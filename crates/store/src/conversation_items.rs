//! The items of conversations: ordered, each with an id.

use std::collections::HashMap;
use std::time::Duration;

use crate::Store;
use crate::conversations::ConversationRecord;
use crate::db::{Sql, Tx};
use crate::error::{Error, ResourceKind, Result};
use crate::items::{NewItem, text_bytes};
use crate::page::SortOrder;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Maximum items of a conversation.
pub const MAX_CONVERSATION_ITEMS: usize = 10_000;
const MAX_ITEMS: u64 = MAX_CONVERSATION_ITEMS as u64;
/// Maximum size of a conversation in bytes. All of its items are sent to the model with
/// each request.
pub const MAX_CONVERSATION_BYTES: u64 = MAX_BYTES.unsigned_abs();
const MAX_BYTES: i64 = 16 << 20;
/// Items in one statement.
const BATCH_ITEMS: usize = 200;

/// The number and size of items added to a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AddedItems {
    pub(crate) count: u64,
    pub(crate) bytes: i64,
}

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

pub(crate) fn check_size(id: &str, number: u64, size: i64) -> Result<()> {
    let full = |what, limit| {
        Err(Error::ConversationFull {
            id: id.to_owned(),
            what,
            limit,
        })
    };
    if number > MAX_ITEMS {
        return full("items", MAX_ITEMS);
    }
    if size > MAX_BYTES {
        return full("bytes", MAX_CONVERSATION_BYTES);
    }
    Ok(())
}

/// Inserts items from a position on. The caller must hold the lock on the conversation's
/// row.
pub(crate) async fn insert_items(
    tx: &mut Tx,
    tenant: &TenantId,
    conversation: &str,
    items: &[NewItem<'_>],
    next: i64,
) -> Result<AddedItems> {
    let existing = find_existing(tx, tenant, conversation, items).await?;
    let new = new_items(conversation, items, &existing)?;
    let added = AddedItems {
        count: new.len() as u64,
        bytes: new.iter().map(|new| text_bytes(new.json)).sum(),
    };
    check_size(conversation, added.count, added.bytes)?;
    let mut positions = next..;
    for batch in new.chunks(BATCH_ITEMS) {
        let rows = batch
            .iter()
            .zip(positions.by_ref())
            .map(|(item, position)| {
                vec![
                    tenant.as_str().into(),
                    conversation.into(),
                    position.into(),
                    item.id.into(),
                    text_bytes(item.json).into(),
                    item.json.into(),
                ]
            });
        let sql = Sql::new(
            "INSERT INTO conversation_items
                 (tenant, conversation, position, id, size, item) VALUES ",
        );
        tx.execute(sql.push_rows(rows)).await?;
    }
    Ok(added)
}

/// The existing items of a conversation with the ids of these, as JSON by id.
async fn find_existing(
    tx: &mut Tx,
    tenant: &TenantId,
    conversation: &str,
    items: &[NewItem<'_>],
) -> Result<HashMap<String, String>> {
    let mut existing = HashMap::new();
    for batch in items.chunks(BATCH_ITEMS) {
        let sql = Sql::new("SELECT id, item FROM conversation_items WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND conversation = ", conversation)
            .push(" AND id IN ")
            .push_list(batch.iter().map(|item| item.id));
        for row in tx.fetch_all(sql).await? {
            existing.insert(row.text("id")?, row.text("item")?);
        }
    }
    Ok(existing)
}

/// The items without those that already exist or are duplicates.
fn new_items<'a>(
    conversation: &str,
    items: &'a [NewItem<'a>],
    existing: &'a HashMap<String, String>,
) -> Result<Vec<&'a NewItem<'a>>> {
    let (mut new, mut taken) = (Vec::new(), Vec::new());
    let own = |(id, item): (&'a String, &'a String)| (id.as_str(), item.as_str());
    let mut known: HashMap<&str, &str> = existing.iter().map(own).collect();
    for (index, item) in items.iter().enumerate() {
        match known.get(item.id) {
            Some(known) if is_same_json(known, item.json) => {}
            Some(_) => taken.push(index),
            None => {
                known.insert(item.id, item.json);
                new.push(item);
            }
        }
    }
    if !taken.is_empty() {
        return Err(Error::ItemIdsTaken {
            conversation: conversation.to_owned(),
            indexes: taken,
        });
    }
    Ok(new)
}

/// Whether two items are equal as JSON, regardless of the order of their fields.
fn is_same_json(one: &str, other: &str) -> bool {
    let read = |item| serde_json::from_str::<serde_json::Value>(item);
    one == other || matches!((read(one), read(other)), (Ok(one), Ok(other)) if one == other)
}

/// Adds the new items to the totals in the conversation's row.
pub(crate) async fn add_to_totals(
    tx: &mut Tx,
    tenant: &TenantId,
    conversation: &str,
    added: &AddedItems,
) -> Result<()> {
    let number = i64::try_from(added.count).unwrap_or(i64::MAX);
    let sql = Sql::new(
        "UPDATE conversations SET items = items + $1, size = size + $2, next = next + $3
         WHERE tenant = $4 AND id = $5",
    );
    let sql = sql.bind(number).bind(added.bytes).bind(number);
    tx.execute(sql.bind(tenant.as_str()).bind(conversation))
        .await
        .map(drop)
}
