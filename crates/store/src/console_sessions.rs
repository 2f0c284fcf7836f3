//! Console sessions: which browser is signed in with which key.
//!
//! A session is stored by the SHA-256 of its id, which is random, so that whoever reads the
//! database cannot use it. It is valid as long as the secret with which it began: not longer
//! than the key, and not after that secret was replaced.

use std::sync::Arc;
use std::time::Duration;

use prowess_skill::Digest;

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::keys::{KeyRecord, key_prefix};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Sessions of one key; the oldest end when there are more.
const MAX_SESSIONS_PER_KEY: u32 = 100;

/// Who begins a session.
#[derive(Debug)]
pub enum ConsoleHolder<'a> {
    /// Somebody with a key that was authenticated.
    Key {
        /// The key.
        record: &'a KeyRecord,
        /// Its secret, as it was presented.
        presented: &'a str,
    },
    /// The operator, who acts for a tenant.
    Operator {
        /// The tenant.
        tenant: &'a TenantId,
        /// Compared by the server, to end the session when the master key is another.
        binding: &'a str,
    },
}

/// Who has a session.
#[derive(Debug)]
pub enum ConsoleSessionHolder {
    /// Somebody with this key, which is valid.
    Key(Arc<KeyRecord>),
    /// The operator, if the binding is still the same.
    Operator {
        /// The tenant that they act for.
        tenant: TenantId,
        /// As it was when the session began.
        binding: String,
    },
}

impl Store {
    /// Begins a session with this id. A key with too many loses its oldest one.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn begin_console_session(
        &self,
        token: &str,
        holder: &ConsoleHolder<'_>,
        life: Duration,
    ) -> Result<()> {
        let now = Timestamp::now();
        let (tenant, key, prefix, binding) = match holder {
            ConsoleHolder::Key { record, presented } => (
                &record.tenant,
                Some(record.id.clone()),
                key_prefix(presented).map(str::to_owned),
                None,
            ),
            ConsoleHolder::Operator { tenant, binding } => {
                (*tenant, None, None, Some((*binding).to_owned()))
            }
        };
        let sql = Sql::new(
            "INSERT INTO console_sessions
                 (digest, tenant, key_id, key_prefix, binding, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        );
        let sql = sql.bind(session_digest(token)).bind(tenant.as_str());
        let sql = sql.bind(key.clone()).bind(prefix).bind(binding);
        let sql = sql.bind(now).bind(now.after(life));
        let mut tx = self.db().begin().await?;
        tx.execute(sql).await?;
        if let Some(key) = key {
            tx.execute(delete_oldest(&key)).await?;
        }
        tx.commit().await
    }

    /// Who has the session with this id; `None` if there is none, or it has ended.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn console_session(&self, token: &str) -> Result<Option<ConsoleSessionHolder>> {
        let sql = Sql::new(
            "SELECT tenant, key_id, key_prefix, binding FROM console_sessions
             WHERE digest = $1 AND expires_at > $2",
        );
        let sql = sql.bind(session_digest(token)).bind(Timestamp::now());
        let Some(row) = self.db().fetch_optional(sql).await? else {
            return Ok(None);
        };
        let tenant = TenantId::new(row.text("tenant")?)?;
        if let Some(binding) = row.optional_text("binding")? {
            return Ok(Some(ConsoleSessionHolder::Operator { tenant, binding }));
        }
        let key = row.optional_text("key_id")?.unwrap_or_default();
        let prefix = row.optional_text("key_prefix")?.unwrap_or_default();
        let key = self.key_with_secret(&tenant, &key, &prefix).await?;
        Ok(key.map(|key| ConsoleSessionHolder::Key(Arc::new(key))))
    }

    /// Ends a session, if there is one with this id.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn end_console_session(&self, token: &str) -> Result<()> {
        let sql = Sql::new("DELETE FROM console_sessions WHERE digest = $1");
        let sql = sql.bind(session_digest(token));
        self.db().execute(sql).await.map(drop)
    }

    /// Deletes sessions whose time is over.
    pub(crate) async fn drop_expired_console_sessions(&self, now: Timestamp) -> Result<()> {
        let sql = Sql::new("DELETE FROM console_sessions WHERE expires_at <= $1");
        self.db().execute(sql.bind(now)).await.map(drop)
    }
}

/// Deletes the sessions of a key beyond the newest.
fn delete_oldest(key: &str) -> Sql {
    Sql::new(
        "DELETE FROM console_sessions WHERE key_id = $1 AND digest NOT IN (
             SELECT digest FROM console_sessions WHERE key_id = $1
             ORDER BY created_at DESC, digest LIMIT $2)",
    )
    .bind(key)
    .bind(i64::from(MAX_SESSIONS_PER_KEY))
}

fn session_digest(token: &str) -> String {
    Digest::from_content(token.as_bytes()).hex()
}
