//! Inserting items into a conversation, inside the transaction of the caller, and how large a
//! conversation may become. It must not know how conversations are created or read.

use std::collections::HashMap;

use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::items::{NewItem, text_bytes};
use crate::tenant::TenantId;

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

/// Checks the number of items and the size of a conversation against the limits.
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
