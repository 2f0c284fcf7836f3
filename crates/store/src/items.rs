//! Items of stored responses and conversations, by the ids that clients received.
//!
//! An item is JSON that the store does not interpret. It is stored as long as the
//! response or conversation that it belongs to.

use std::collections::{BTreeSet, HashMap};

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Items in one statement.
const BATCH_ITEMS: usize = 200;

/// An item to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewItem<'a> {
    /// Its id.
    pub id: &'a str,
    /// The item as JSON.
    pub json: &'a str,
}

const FROM_RESPONSES: &str = " FROM response_items i
    JOIN responses o ON o.tenant = i.tenant AND o.id = i.response WHERE i.tenant = ";
const FROM_CONVERSATIONS: &str = " FROM conversation_items i
    JOIN conversations o ON o.tenant = i.tenant AND o.id = i.conversation WHERE i.tenant = ";

impl Store {
    /// The sizes in bytes of those of these items that exist.
    pub async fn item_sizes(
        &self,
        tenant: &TenantId,
        ids: &BTreeSet<&str>,
    ) -> Result<HashMap<String, u64>> {
        let mut found = HashMap::new();
        for from in [FROM_RESPONSES, FROM_CONVERSATIONS] {
            let missing = missing_ids(ids, &found);
            for batch in missing.chunks(BATCH_ITEMS) {
                let sql = Sql::new("SELECT i.id AS id, i.size AS size").push(from);
                for row in self.db().fetch_all(where_ids(sql, tenant, batch)).await? {
                    let size = u64::try_from(row.int("size")?).unwrap_or_default();
                    found.insert(row.text("id")?, size);
                }
            }
        }
        Ok(found)
    }

    /// Those of these items that exist, as JSON by id. Callers check the sizes first.
    pub async fn items(
        &self,
        tenant: &TenantId,
        ids: &BTreeSet<&str>,
    ) -> Result<HashMap<String, String>> {
        let mut found = HashMap::new();
        for from in [FROM_RESPONSES, FROM_CONVERSATIONS] {
            let missing = missing_ids(ids, &found);
            for batch in missing.chunks(BATCH_ITEMS) {
                let sql = Sql::new("SELECT i.id AS id, i.item AS item").push(from);
                for row in self.db().fetch_all(where_ids(sql, tenant, batch)).await? {
                    found.insert(row.text("id")?, row.text("item")?);
                }
            }
        }
        Ok(found)
    }
}

/// The ids not found yet.
fn missing_ids<'a, T>(ids: &BTreeSet<&'a str>, found: &HashMap<String, T>) -> Vec<&'a str> {
    let unknown = |id: &&&str| !found.contains_key(**id);
    ids.iter().filter(unknown).copied().collect()
}

fn where_ids(sql: Sql, tenant: &TenantId, ids: &[&str]) -> Sql {
    sql.push_bind("", tenant.as_str())
        .push_bind(" AND o.expires_at > ", Timestamp::now())
        .push(" AND i.id IN ")
        .push_list(ids.iter().copied())
}

/// Replaces the items of a response. Of duplicates the last one counts.
pub(crate) async fn replace_items(
    tx: &mut Tx,
    tenant: &TenantId,
    response: &str,
    items: &[NewItem<'_>],
) -> Result<()> {
    let sql = Sql::new("DELETE FROM response_items WHERE tenant = $1 AND response = $2");
    tx.execute(sql.bind(tenant.as_str()).bind(response)).await?;
    // A statement must not write a row twice.
    let items: HashMap<&str, &str> = items.iter().map(|new| (new.id, new.json)).collect();
    let items: Vec<(&str, &str)> = items.into_iter().collect();
    for batch in items.chunks(BATCH_ITEMS) {
        let row = |(id, item): &(&str, &str)| {
            vec![
                tenant.as_str().into(),
                (*id).into(),
                response.into(),
                text_bytes(item).into(),
                (*item).into(),
            ]
        };
        let sql = Sql::new("INSERT INTO response_items (tenant, id, response, size, item) VALUES ")
            .push_rows(batch.iter().map(row))
            .push(
                " ON CONFLICT (tenant, id) DO UPDATE SET response = excluded.response,
                      size = excluded.size, item = excluded.item",
            );
        tx.execute(sql).await?;
    }
    Ok(())
}

/// Size of a text in bytes, for its row.
pub(crate) fn text_bytes(item: &str) -> i64 {
    i64::try_from(item.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn items_are_found_by_an_index() {
        let tenant = TenantId::default_tenant();
        let select = |from| {
            let sql = Sql::new("SELECT i.id AS id").push(from);
            where_ids(sql, &tenant, &["msg_1", "msg_2"])
        };
        assert_no_table_is_scanned([select(FROM_RESPONSES), select(FROM_CONVERSATIONS)]);
    }
}
