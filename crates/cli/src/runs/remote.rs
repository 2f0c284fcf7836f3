//! Runs of a server, in the form in which the store has them.

use anyhow::Context;
use prowess_client::Client;
use prowess_store::{KeptProgress, RunDetail, RunRecord, Timestamp};
use serde_json::Value;

use super::show::FoundRun;

/// The newest runs that match a filter, newest first.
pub(super) async fn list(
    client: &Client,
    limit: u32,
    filter: &[(&str, &str)],
) -> anyhow::Result<Vec<RunRecord>> {
    let listed = client.runs(limit, filter).await?;
    listed.iter().map(parse).collect()
}

/// A run with its record, or the state of one that has none yet.
pub(super) async fn find(client: &Client, id: &str) -> anyhow::Result<FoundRun> {
    let found = client.run_record(id).await?;
    let run = parse(&found)?;
    if found.get("events").is_none() {
        return Ok(FoundRun::Unrecorded(Box::new(run)));
    }
    let part = |name: &str| found.get(name).cloned().unwrap_or_default();
    Ok(FoundRun::Recorded(Box::new(RunDetail {
        usage: part("usage"),
        skills: part("skills"),
        files: part("files"),
        events: part("events"),
        run,
    })))
}

fn parse(run: &Value) -> anyhow::Result<RunRecord> {
    let text = |name: &str| run.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| run.get(name).and_then(Value::as_i64);
    let time = |name: &str| text(name).map(|text| parse_time(&text)).transpose();
    // Only a kept run without a record has steps.
    let kept = number("steps").map(|steps| KeptProgress {
        steps,
        cancel_requested: run
            .get("cancel_requested")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
    });
    Ok(RunRecord {
        id: text("id").context("the server sent a run without an id")?,
        model: text("model").unwrap_or_default(),
        provider: text("provider"),
        dialect: text("dialect").unwrap_or_default(),
        status: text("status").unwrap_or_default(),
        turns: number("turns").unwrap_or_default(),
        calls: number("calls").unwrap_or_default(),
        input_tokens: number("input_tokens").unwrap_or_default(),
        output_tokens: number("output_tokens").unwrap_or_default(),
        started_at: time("created_at")?.context("the server sent a run without its beginning")?,
        ended_at: time("ended_at")?,
        container: text("container"),
        error: text("error"),
        key: text("key"),
        cost: run.get("cost").and_then(Value::as_f64),
        // Neither lists nor summaries show them.
        skills: Vec::new(),
        kept,
    })
}

fn parse_time(text: &str) -> anyhow::Result<Timestamp> {
    let time: jiff::Timestamp = text.parse().context("the server sent no time")?;
    Ok(Timestamp::from_micros(time.as_microsecond()))
}
