//! Chat completions that clients asked to be stored: for a time, and up to a size per
//! tenant.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Store;
use crate::db::{DbRow, Sql, Tx};
use crate::error::{Error, ResourceKind, Result};
use crate::items::text_bytes;
use crate::page::SortOrder;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Bytes of stored chat completions a tenant may keep; beyond that the oldest go first.
const MAX_TENANT_BYTES: i64 = 1 << 30;
/// What a chat completion counts for, beside its texts.
const OVERHEAD_BYTES: i64 = 1_024;
/// What a note counts for, beside its key and value.
const METADATA_OVERHEAD_BYTES: i64 = 256;
/// Bytes of chat completions that are listed at once, unless one alone has more.
const MAX_PAGE_BYTES: u64 = 16 << 20;

/// A note about a chat completion: its id, a key, a value.
type MetadataEntry = (String, String, String);

/// A chat completion to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewChat<'a> {
    /// Its id, as its client was given it.
    pub id: &'a str,
    /// The model, as the client named it.
    pub model: &'a str,
    /// What its client notes about it.
    pub metadata: &'a BTreeMap<String, String>,
    /// The messages of the request, as JSON.
    pub messages: &'a str,
    /// The completion as its client was given it, as JSON.
    pub completion: &'a str,
    /// How long it is kept.
    pub expires_in: Duration,
}

/// A stored chat completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRecord {
    /// Its id.
    pub id: String,
    /// What its client notes about it.
    pub metadata: BTreeMap<String, String>,
    /// The completion as its client was given it, as JSON.
    pub completion: String,
    /// Bytes that it counts for, with the messages of its request and all that is noted.
    pub size: u64,
}

/// Some of a tenant's chat completions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatPage {
    /// The chat completions.
    pub chats: Vec<ChatRecord>,
    /// Whether there are more after them.
    pub has_more: bool,
}

/// Which of a tenant's chat completions are wanted.
#[derive(Debug, Clone, Default)]
pub struct ChatFilter {
    /// Those of this model.
    pub model: Option<String>,
    /// Those with all of these notes.
    pub metadata: BTreeMap<String, String>,
    /// Those after the one of this id, in the order of the list.
    pub after: Option<String>,
    /// Which end comes first.
    pub order: SortOrder,
    /// How many at most.
    pub limit: u32,
}

impl Store {
    /// Stores a chat completion. One of the same id is replaced.
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
        );
        let sql = sql.bind(tenant.as_str()).bind(new.id).bind(new.model);
        let sql = sql.bind(bytes).bind(now).bind(now.after(new.expires_in));
        let sql = sql.bind(new.messages).bind(new.completion);
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

    /// Some of a tenant's chat completions: up to the limit, or fewer when they are large.
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
        let chats = match ids.is_empty() {
            true => Vec::new(),
            false => self.chats_by_id(tenant, &ids).await?,
        };
        Ok(ChatPage { chats, has_more })
    }

    /// Those of these chat completions that are still there, in the order of the ids.
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

    /// Replaces what a chat completion's client notes about it.
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

    /// Forgets a chat completion.
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
                reason: "there is no chat completion of this id".to_owned(),
            }),
        }
    }

    /// What is noted about each of these: its id, a key, a value.
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

    /// Drops what is past its time, and of tenants that keep too much the oldest.
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

/// The ids of those rows that are listed at once.
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

/// Bytes that notes count for.
fn metadata_bytes(metadata: &BTreeMap<String, String>) -> i64 {
    let one = |(key, value): (&String, &String)| {
        METADATA_OVERHEAD_BYTES + text_bytes(key) + text_bytes(value)
    };
    metadata.iter().map(one).sum()
}

/// A row's record, and what is noted about others.
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
