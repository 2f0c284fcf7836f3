//! Large requests to a model that lack their last byte.

use std::time::Duration;

use anyhow::Result;
use prowess_bench::gateway::request::head;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{NoiseSource, UNDER_WAY, workers};

const PART: &str = "unfinished bodies of 28 MB";
const CONNECTIONS: usize = 12;
const BODY_BYTES: usize = 28_000_000;
const PIECE_BYTES: usize = 1_000_000;
const REOPEN_AFTER: Duration = Duration::from_secs(1);

pub(super) async fn run(source: NoiseSource) {
    workers(CONNECTIONS, || keep_open(source.clone())).await;
}

async fn keep_open(source: NoiseSource) {
    while !source.stop.is_due() {
        let ended = match source.stop.unless_due(send(&source)).await {
            Some(Ok(status)) if status.is_empty() => "closed without an answer".to_owned(),
            Some(Ok(status)) => format!("answered {status}"),
            Some(Err(_)) => "broken off".to_owned(),
            None => UNDER_WAY.to_owned(),
        };
        source.tally.add(PART, ended, 1);
        source.stop.pause(REOPEN_AFTER).await;
    }
}

/// Sends all but the last byte, and gives the status that is answered all the same.
async fn send(source: &NoiseSource) -> Result<String> {
    let mut stream = source.tenant.endpoint.connect().await?;
    let kind = "application/json";
    let key = &source.tenant.key;
    let head = head("POST", "/v1/messages", key, kind, BODY_BYTES);
    stream.write_all(head.as_bytes()).await?;
    let piece = vec![b' '; PIECE_BYTES];
    for _ in 1..BODY_BYTES / PIECE_BYTES {
        stream.write_all(&piece).await?;
    }
    let rest = piece.get(1..).unwrap_or_default();
    stream.write_all(rest).await?;
    let mut answer = [0; 512];
    let read = stream.read(&mut answer).await?;
    let answer = String::from_utf8_lossy(answer.get(..read).unwrap_or_default());
    Ok(answer.split(' ').nth(1).unwrap_or_default().to_owned())
}
