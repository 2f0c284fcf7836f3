//! Waiting for the end of a batch.

use std::time::Duration;

use prowess_client::{Client, Error, RemoteBatch};

use super::report::BatchReport;
use crate::runs::reconnect::{Reconnect, is_transient};

/// How often a batch is read, at first and later.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(2);

/// Reports the progress of a batch until it has ended.
pub(super) async fn follow(
    client: &Client,
    mut batch: RemoteBatch,
    report: &mut BatchReport,
) -> anyhow::Result<RemoteBatch> {
    let mut delay = FIRST_DELAY;
    loop {
        report.on_progress(&batch)?;
        if batch.is_ended() {
            return Ok(batch);
        }
        tokio::time::sleep(delay).await;
        delay = delay.mul_f32(1.5).min(MAX_DELAY);
        batch = retry(report, async || client.batch(&batch.id).await).await?;
    }
}

/// Repeats a request until the server can be reached, for about a minute.
pub(super) async fn retry<T>(
    report: &mut BatchReport,
    request: impl AsyncFn() -> Result<T, Error>,
) -> anyhow::Result<T> {
    let mut reconnect = Reconnect::default();
    loop {
        let error = match request().await {
            Err(error) if is_transient(&error) => error,
            other => return Ok(other?),
        };
        if reconnect.is_first() {
            report.on_lost_connection();
        }
        match reconnect.next_delay() {
            Some(delay) => tokio::time::sleep(delay).await,
            None => return Err(error.into()),
        }
    }
}
