//! Connections that never finish a request, kept open and opened again when closed.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use crate::gateway::request::BenchEndpoint;
use crate::stop::Stop;

/// How long to wait before a connection that was closed or refused is opened again.
const REOPEN_AFTER: Duration = Duration::from_millis(500);

/// Keeps `count` connections open that have sent `start` and nothing else, until `stop`.
/// Gives how many connections were opened in all.
pub async fn hold(endpoint: BenchEndpoint, count: usize, start: &'static [u8], stop: Stop) -> u64 {
    let mut open = JoinSet::new();
    for _ in 0..count {
        let stop = stop.clone();
        open.spawn(async move {
            let mut opened = 0;
            while !stop.is_due() {
                opened += u64::from(hold_one(endpoint, start, &stop).await);
                stop.pause(REOPEN_AFTER).await;
            }
            opened
        });
    }
    open.join_all().await.into_iter().sum()
}

/// Whether it was opened; returns when the server closes it or at the end.
async fn hold_one(endpoint: BenchEndpoint, start: &[u8], stop: &Stop) -> bool {
    let Some(Ok(mut stream)) = stop.unless_due(endpoint.connect()).await else {
        return false;
    };
    if stream.write_all(start).await.is_err() {
        return true;
    }
    let mut buffer = [0; 256];
    while let Some(Ok(1..)) = stop.unless_due(stream.read(&mut buffer)).await {}
    true
}
