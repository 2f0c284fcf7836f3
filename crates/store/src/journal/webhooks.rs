//! Webhooks that announce the end of runs. They are written in the transaction that ends the
//! run, and delivered at least once.

use std::time::Duration;

use crate::Store;
use crate::db::{DbRow, Sql, Tx};
use crate::error::Result;
use crate::id::{self, IdPrefix};
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::lease::micros;

/// A webhook to be delivered.
#[derive(Debug, Clone, Copy)]
pub struct NewWebhook<'a> {
    /// Where to.
    pub url: &'a str,
    /// The JSON to send.
    pub body: &'a str,
}

/// A webhook that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// `whd_…`: the id of the message, the same on every attempt.
    pub id: String,
    /// The run that has ended.
    pub run: String,
    /// Its tenant.
    pub tenant: TenantId,
    /// Where to.
    pub url: String,
    /// The JSON to send.
    pub body: String,
    /// How often it was attempted, this time included.
    pub attempts: i64,
    /// When its run ended.
    pub created_at: Timestamp,
}

impl Store {
    /// Takes up to `limit` webhooks that are due, none of them of the tenants `except`. Each is
    /// due again after `retry`, unless it is reported as delivered, or postponed, before.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn take_due_webhooks(
        &self,
        retry: Duration,
        limit: u32,
        except: &[TenantId],
    ) -> Result<Vec<WebhookDelivery>> {
        let mut tx = self.db().begin().await?;
        let clock = tx.database().clock();
        let mut sql = Sql::new("SELECT id FROM webhook_deliveries WHERE due_at <= ").push(clock);
        if !except.is_empty() {
            let except = except.iter().map(TenantId::as_str);
            sql = sql.push(" AND tenant NOT IN ").push_list(except);
        }
        let sql = sql.push_bind(" ORDER BY due_at, id LIMIT ", i64::from(limit));
        let rows = tx.fetch_all(sql.for_update_skip_locked()).await?;
        let ids = rows.iter().map(|row| row.text("id"));
        let ids = ids.collect::<Result<Vec<_>>>()?;
        if ids.is_empty() {
            tx.rollback().await;
            return Ok(Vec::new());
        }
        let sql = Sql::new("UPDATE webhook_deliveries SET attempts = attempts + 1, due_at = ")
            .push(clock)
            .push_bind(" + ", micros(retry))
            .push(" WHERE id IN ")
            .push_list(&ids)
            .push(" RETURNING id, run, tenant, url, body, attempts, created_at");
        let rows = tx.fetch_all(sql).await?;
        let due = rows.iter().map(WebhookDelivery::from_row);
        let due = due.collect::<Result<Vec<_>>>()?;
        tx.commit().await?;
        Ok(due)
    }

    /// Removes a webhook that was delivered, or is given up.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn remove_webhook(&self, id: &str) -> Result<()> {
        let sql = Sql::new("DELETE FROM webhook_deliveries WHERE id = ").push_bind("", id);
        self.db().execute(sql).await.map(drop)
    }

    /// Makes a webhook due again after `delay`.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn postpone_webhook(&self, id: &str, delay: Duration) -> Result<()> {
        let sql = Sql::new("UPDATE webhook_deliveries SET due_at = ");
        self.set_due(sql, id, delay).await
    }

    /// Makes a webhook that was taken, and not attempted, due again after `delay`.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn return_webhook(&self, id: &str, delay: Duration) -> Result<()> {
        let sql = Sql::new("UPDATE webhook_deliveries SET attempts = attempts - 1, due_at = ");
        self.set_due(sql, id, delay).await
    }

    /// Completes a statement that ends with the column.
    async fn set_due(&self, sql: Sql, id: &str, delay: Duration) -> Result<()> {
        let mut tx = self.db().begin().await?;
        let sql = sql
            .push(tx.database().clock())
            .push_bind(" + ", micros(delay))
            .push_bind(" WHERE id = ", id);
        tx.execute(sql).await?;
        tx.commit().await
    }
}

impl WebhookDelivery {
    fn from_row(row: &DbRow) -> Result<Self> {
        Ok(WebhookDelivery {
            id: row.text("id")?,
            run: row.text("run")?,
            tenant: TenantId::new(row.text("tenant")?)?,
            url: row.text("url")?,
            body: row.text("body")?,
            attempts: row.int("attempts")?,
            created_at: row.time("created_at")?,
        })
    }
}

pub(super) async fn insert_webhooks(
    tx: &mut Tx,
    tenant: &TenantId,
    run: &str,
    webhooks: &[NewWebhook<'_>],
) -> Result<()> {
    let now = Timestamp::now();
    for webhook in webhooks {
        let row = vec![
            id::new_id(IdPrefix::WebhookDelivery, now)?.into(),
            run.into(),
            tenant.as_str().into(),
            webhook.url.into(),
            webhook.body.into(),
            0.into(),
            0.into(),
            now.into(),
        ];
        let sql = Sql::new(
            "INSERT INTO webhook_deliveries
                (id, run, tenant, url, body, attempts, due_at, created_at) VALUES ",
        );
        tx.execute(sql.push_rows([row])).await?;
    }
    Ok(())
}
