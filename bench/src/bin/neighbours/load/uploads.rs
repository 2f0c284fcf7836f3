//! Uploads that send a byte now and then, and never end.

use std::time::Duration;

use anyhow::Result;
use prowess_bench::gateway::request::{form_start, form_type, head};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{NoiseSource, UNDER_WAY, workers};

const PART: &str = "slow uploads";
/// Twice what a server takes at once by default.
const CONNECTIONS: usize = 32;
const BODY_BYTES: usize = 1 << 20;
const BETWEEN_BYTES: Duration = Duration::from_millis(500);
const REOPEN_AFTER: Duration = Duration::from_millis(500);

pub(super) async fn run(source: NoiseSource) {
    workers(CONNECTIONS, || keep_trickling(source.clone())).await;
}

async fn keep_trickling(source: NoiseSource) {
    while !source.stop.is_due() {
        let ended = match trickle(&source).await {
            Ok(answer) if answer.is_empty() => "closed without an answer".to_owned(),
            Ok(answer) => format!("answered {answer}"),
            Err(_) => "broken off".to_owned(),
        };
        let ended = if source.stop.is_due() {
            UNDER_WAY.to_owned()
        } else {
            ended
        };
        source.tally.add(PART, ended, 1);
        source.stop.pause(REOPEN_AFTER).await;
    }
}

/// The status that the server answers with before the upload is complete.
async fn trickle(source: &NoiseSource) -> Result<String> {
    let mut stream = source.tenant.endpoint.connect().await?;
    let key = &source.tenant.key;
    let head = head("POST", "/v1/skills", key, &form_type(), BODY_BYTES);
    stream.write_all(head.as_bytes()).await?;
    let start = form_start("files[]", "skill.zip");
    stream.write_all(start.as_bytes()).await?;
    let mut answer = [0; 512];
    while !source.stop.is_due() {
        stream.write_all(b"P").await?;
        let read = tokio::time::timeout(BETWEEN_BYTES, stream.read(&mut answer)).await;
        if let Ok(read) = read {
            let answer = answer.get(..read?).unwrap_or_default();
            let answer = String::from_utf8_lossy(answer);
            return Ok(answer.split(' ').nth(1).unwrap_or_default().to_owned());
        }
    }
    Ok(String::new())
}
