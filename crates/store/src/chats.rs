//! Stored chat completions: kept for a time, and up to a size per tenant.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Store;
use crate::db::{DbRow, Sql, Tx};
use crate::error::{Error, ResourceKind, Result};
use crate::items::text_bytes;
use crate::page::SortOrder;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Bytes of stored chat completions per tenant; beyond that the oldest are dropped first.
const MAX_TENANT_BYTES: i64 = 1 << 30;
/// Size counted for a chat completion in addition to its texts.
const OVERHEAD_BYTES: i64 = 1_024;
/// Size counted for a metadata entry in addition to its key and value.
const METADATA_OVERHEAD_BYTES: i64 = 256;
/// Bytes of chat completions per page, unless a single one is larger.
const MAX_PAGE_BYTES: u64 = 16 << 20;

/// A metadata entry of a chat completion: its id, a key, a value.
type MetadataEntry = (String, String, String);

/// A chat completion to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewChat<'a> {
    /// The id that its client received.
    pub id: &'a str,
    /// The model name that the client sent.
    pub model: &'a str,
    /// The client's metadata.
    pub metadata: &'a BTreeMap<String, String>,
    /// The messages of the request, as JSON.
    pub messages: &'a str,
    /// The completion as sent to its client, as JSON.
    pub completion: &'a str,
    /// How long it is stored.
    pub expires_in: Duration,
}

/// A stored chat completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRecord {
    /// Its id.
    pub id: String,
    /// The client's metadata.
    pub metadata: BTreeMap<String, String>,
    /// The completion as sent to its client, as JSON.
    pub completion: String,
    /// Its size in bytes, including the messages of its request and its metadata.
    pub size: u64,
}

/// A page of a tenant's chat completions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatPage {
    /// The chat completions.
    pub chats: Vec<ChatRecord>,
    /// Whether there are more after them.
    pub has_more: bool,
}

/// A filter for a tenant's chat completions.
#[derive(Debug, Clone, Default)]
pub struct ChatFilter {
    /// Only those of this model.
    pub model: Option<String>,
    /// Only those with all of these metadata entries.
    pub metadata: BTreeMap<String, String>,
    /// Only those after the one with this id, in list order.
    pub after: Option<String>,
    /// The sort order.
    pub order: SortOrder,
    /// Maximum number.
    pub limit: u32,
}

impl Store {
    /// Stores a chat completion. One with the same id is replaced.
    pub async fn save_chat(&self, tenant: &TenantId, new: &NewChat<'_>) -> Result<()> {
        let now = Timestamp::now();
        let texts = [new.id, new.model, new.messages, new.completion];
        let bytes: i64 = texts.into_iter().map(text_bytes).sum();
        let bytes = OVERHEAD_BYTES + bytes + metadata_bytes(new.metadata);
        self.disk_space().check(bytes.unsigned_abs())?;
        let sql = Sql::new(
            "INSERT INTO chat_completions
                 (tenant, id, model, size, created_at, expires_at, messages, completion)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT (tenant, id) DO UPDATE SET model = excluded.model,
                 size = excluded.size, created_at = excluded.created_at,
                 expires_at = excluded.expires_at, messages = excluded.messages,
                 completion = excluded.completion",
        )
        .bind(tenant.as_str())
        .bind(new.id)
        .bind(new.model)
        .bind(bytes)
        .bind(now)
        .bind(now.after(new.expires_in))
        .bind(new.messages)
        .bind(new.completion);
        let mut tx = self.db().begin().await?;
        tenant.map_unknown_tenant(tx.execute(sql).await)?;
        replace_metadata(&mut tx, tenant, new.id, new.metadata).await?;
        tx.commit().await?;
        self.track_chat_growth(tenant, bytes).await
    }

    /// A stored chat completion.
    pub async fn chat(&self, tenant: &TenantId, id: &str) -> Result<ChatRecord> {
        let sql = Sql::new("SELECT id, size, completion FROM chat_completions");
        let row = self
            .db()
            .fetch_optional(where_unexpired(sql, tenant, id))
            .await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::ChatCompletion, id))?;
        let metadata = self.chat_metadata(tenant, &[id]).await?;
        Ok(to_record(&row, metadata)?.0)
    }

    /// The messages of a stored chat completion's request, as JSON.
    pub async fn chat_messages(&self, tenant: &TenantId, id: &str) -> Result<String> {
        let sql = Sql::new("SELECT messages FROM chat_completions");
        let row = self
            .db()
            .fetch_optional(where_unexpired(sql, tenant, id))
            .await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::ChatCompletion, id))?;
        row.text("messages")
    }

    /// Lists a tenant's chat completions: up to the limit, or fewer if they are large.
    pub async fn list_chats(&self, tenant: &TenantId, filter: &ChatFilter) -> Result<ChatPage> {
        let after = match &filter.after {
            None => None,
            Some(id) => Some((self.chat_created_at(tenant, id).await?, id.as_str())),
        };
        let rows = self
            .db()
            .fetch_all(select_page(tenant, filter, after))
            .await?;
        let ids = page_ids(&rows, filter.limit)?;
        let has_more = ids.len() < rows.len();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let chats = if ids.is_empty() {
            Vec::new()
        } else {
            self.chats_by_id(tenant, &ids).await?
        };
        Ok(ChatPage { chats, has_more })
    }

    /// Those of these chat completions that still exist, in the order of the ids.
    async fn chats_by_id(&self, tenant: &TenantId, ids: &[&str]) -> Result<Vec<ChatRecord>> {
        let sql = Sql::new("SELECT id, size, completion FROM chat_completions WHERE tenant = ")
            .push_bind("", tenant.as_str())
            .push(" AND id IN ")
            .push_list(ids.iter().copied());
        let rows = self.db().fetch_all(sql).await?;
        let mut metadata = self.chat_metadata(tenant, ids).await?;
        let mut records = BTreeMap::new();
        for row in &rows {
            let (record, rest) = to_record(row, metadata)?;
            records.insert(record.id.clone(), record);
            metadata = rest;
        }
        Ok(ids.iter().filter_map(|id| records.remove(*id)).collect())
    }

    /// Replaces the metadata of a chat completion.
    pub async fn update_chat(
        &self,
        tenant: &TenantId,
        id: &str,
        metadata: &BTreeMap<String, String>,
    ) -> Result<ChatRecord> {
        let bytes = metadata_bytes(metadata);
        self.disk_space().check(bytes.unsigned_abs())?;
        let mut tx = self.db().begin().await?;
        let sql = Sql::new("SELECT id, size, completion FROM chat_completions");
        let row = tx
            .fetch_optional(where_unexpired(sql, tenant, id).for_update())
            .await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::ChatCompletion, id))?;
        let before = read_metadata(&tx.fetch_all(select_metadata(tenant, &[id])).await?)?;
        let record = to_record(&row, before)?.0;
        let growth = bytes - metadata_bytes(&record.metadata);
        replace_metadata(&mut tx, tenant, id, metadata).await?;
        let sql = Sql::new("UPDATE chat_completions SET size = size + $1");
        let sql = sql
            .bind(growth)
            .push_bind(" WHERE tenant = ", tenant.as_str());
        tx.execute(sql.push_bind(" AND id = ", id)).await?;
        tx.commit().await?;
        self.track_chat_growth(tenant, growth).await?;
        Ok(ChatRecord {
            metadata: metadata.clone(),
            size: record.size.saturating_add_signed(growth),
            ..record
        })
    }

    /// Deletes a chat completion.
    pub async fn delete_chat(&self, tenant: &TenantId, id: &str) -> Result<()> {
        let sql = Sql::new("DELETE FROM chat_completions WHERE tenant = $1 AND id = $2");
        match self
            .db()
            .execute(sql.bind(tenant.as_str()).bind(id))
            .await?
        {
            0 => Err(Error::not_found(ResourceKind::ChatCompletion, id)),
            _ => Ok(()),
        }
    }

    async fn chat_created_at(&self, tenant: &TenantId, id: &str) -> Result<Timestamp> {
        let sql = Sql::new("SELECT created_at FROM chat_completions");
        match self
            .db()
            .fetch_optional(where_unexpired(sql, tenant, id))
            .await?
        {
            Some(row) => row.time("created_at"),
            None => Err(Error::Invalid {
                field: "after",
                reason: "no chat completion has this id".to_owned(),
            }),
        }
    }

    /// The metadata entries of these chat completions.
    async fn chat_metadata(&self, tenant: &TenantId, ids: &[&str]) -> Result<Vec<MetadataEntry>> {
        read_metadata(&self.db().fetch_all(select_metadata(tenant, ids)).await?)
    }

    async fn track_chat_growth(&self, tenant: &TenantId, bytes: i64) -> Result<()> {
        let bytes = usize::try_from(bytes).unwrap_or_default();
        if self.chat_growth().record(tenant, bytes) {
            self.drop_chats_over(MAX_TENANT_BYTES, Some(tenant)).await?;
        }
        Ok(())
    }

    /// Drops expired chat completions, and the oldest of tenants over their limit.
    pub(crate) async fn drop_old_chats(&self, now: Timestamp) -> Result<()> {
        let sql = Sql::new("DELETE FROM chat_completions WHERE expires_at <= $1");
        self.db().execute(sql.bind(now)).await?;
        self.drop_chats_over(MAX_TENANT_BYTES, None).await
    }

    async fn drop_chats_over(&self, bytes: i64, tenant: Option<&TenantId>) -> Result<()> {
        let mut sql = Sql::new(
            "DELETE FROM chat_completions WHERE (tenant, id) IN (
                 SELECT tenant, id FROM (
                     SELECT tenant, id, SUM(size) OVER (
                         PARTITION BY tenant ORDER BY created_at DESC, id DESC
                     ) AS so_far FROM chat_completions",
        );
        if let Some(tenant) = tenant {
            sql = sql.push_bind(" WHERE tenant = ", tenant.as_str());
        }
        let sql = sql.push_bind(") AS sums WHERE so_far > ", bytes).push(")");
        self.db().execute(sql).await.map(drop)
    }
}

fn where_unexpired(sql: Sql, tenant: &TenantId, id: &str) -> Sql {
    sql.push_bind(" WHERE tenant = ", tenant.as_str())
        .push_bind(" AND id = ", id)
        .push_bind(" AND expires_at > ", Timestamp::now())
}

/// The ids of the rows that fit on one page.
fn page_ids(rows: &[DbRow], limit: u32) -> Result<Vec<String>> {
    let (mut ids, mut bytes) = (Vec::new(), 0_u64);
    for row in rows.iter().take(limit as usize) {
        let size = u64::try_from(row.int("size")?).unwrap_or_default();
        bytes = bytes.saturating_add(size);
        if bytes > MAX_PAGE_BYTES && !ids.is_empty() {
            break;
        }
        ids.push(row.text("id")?);
    }
    Ok(ids)
}

fn select_metadata(tenant: &TenantId, ids: &[&str]) -> Sql {
    Sql::new("SELECT completion, key, value FROM chat_completion_metadata")
        .push_bind(" WHERE tenant = ", tenant.as_str())
        .push(" AND completion IN ")
        .push_list(ids.iter().copied())
}

fn read_metadata(rows: &[DbRow]) -> Result<Vec<MetadataEntry>> {
    let read = |row: &DbRow| {
        Ok((
            row.text("completion")?,
            row.text("key")?,
            row.text("value")?,
        ))
    };
    rows.iter().map(read).collect()
}

/// The counted size of metadata.
fn metadata_bytes(metadata: &BTreeMap<String, String>) -> i64 {
    let one = |(key, value): (&String, &String)| {
        METADATA_OVERHEAD_BYTES + text_bytes(key) + text_bytes(value)
    };
    metadata.iter().map(one).sum()
}

/// A row's record, and the metadata of the other rows.
fn to_record(
    row: &DbRow,
    metadata: Vec<MetadataEntry>,
) -> Result<(ChatRecord, Vec<MetadataEntry>)> {
    let id = row.text("id")?;
    let (own, rest): (Vec<_>, Vec<_>) = metadata
        .into_iter()
        .partition(|(completion, ..)| *completion == id);
    let record = ChatRecord {
        id,
        metadata: own
            .into_iter()
            .map(|(_, key, value)| (key, value))
            .collect(),
        completion: row.text("completion")?,
        size: u64::try_from(row.int("size")?).unwrap_or_default(),
    };
    Ok((record, rest))
}

fn select_page(tenant: &TenantId, filter: &ChatFilter, after: Option<(Timestamp, &str)>) -> Sql {
    let mut sql = Sql::new("SELECT id, size FROM chat_completions c WHERE tenant = ")
        .push_bind("", tenant.as_str())
        .push_bind(" AND expires_at > ", Timestamp::now());
    if let Some(model) = &filter.model {
        sql = sql.push_bind(" AND model = ", model);
    }
    for (key, value) in &filter.metadata {
        sql = sql
            .push(" AND EXISTS (SELECT 1 FROM chat_completion_metadata m")
            .push(" WHERE m.tenant = c.tenant AND m.completion = c.id")
            .push_bind(" AND m.key = ", key)
            .push_bind(" AND m.value = ", value)
            .push(")");
    }
    let ascending = filter.order == SortOrder::Ascending;
    if let Some((time, id)) = after {
        let beyond = if ascending { ">" } else { "<" };
        sql = sql.push(" AND (created_at, id) ").push(beyond);
        sql = sql.push_bind(" (", time).push_bind(", ", id).push(")");
    }
    sql.push(if ascending {
        " ORDER BY created_at, id"
    } else {
        " ORDER BY created_at DESC, id DESC"
    })
    .push_bind(" LIMIT ", i64::from(filter.limit) + 1)
}

async fn replace_metadata(
    tx: &mut Tx,
    tenant: &TenantId,
    id: &str,
    metadata: &BTreeMap<String, String>,
) -> Result<()> {
    let sql =
        Sql::new("DELETE FROM chat_completion_metadata WHERE tenant = $1 AND completion = $2");
    tx.execute(sql.bind(tenant.as_str()).bind(id)).await?;
    if metadata.is_empty() {
        return Ok(());
    }
    let row = |(key, value): (&String, &String)| {
        vec![tenant.as_str().into(), id.into(), key.into(), value.into()]
    };
    let sql =
        Sql::new("INSERT INTO chat_completion_metadata (tenant, completion, key, value) VALUES ");
    tx.execute(sql.push_rows(metadata.iter().map(row)))
        .await
        .map(drop)
}
