//! How a client sends a run: waiting for it, waiting for one that is kept, or in the
//! background, polling.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use prowess_bench::gateway::request::{BenchEndpoint, BenchRequest};
use serde_json::{Value, json};

use super::shape::{ANSWER, RunShape};

const PATH: &str = "/v1/responses";
/// The pause between two polls of a run in the background.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// No run takes longer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How a run is sent. The request is the same but for what makes it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunMode {
    /// Without anything: it ends when its client leaves.
    Foreground,
    /// With `prowess-keep: true`.
    Kept,
    /// With `background: true`.
    Background,
}

impl RunMode {
    pub(crate) const ALL: [RunMode; 3] = [RunMode::Foreground, RunMode::Kept, RunMode::Background];

    /// Its column in a table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RunMode::Foreground => "foreground",
            RunMode::Kept => "kept",
            RunMode::Background => "background",
        }
    }
}

/// A client of one server.
#[derive(Debug, Clone)]
pub(crate) struct RunClient {
    pub(crate) endpoint: BenchEndpoint,
    pub(crate) key: String,
    /// The id of the skill that all runs have.
    pub(crate) skill: String,
}

impl RunClient {
    /// Sends a run and waits for its end; how long that took.
    pub(crate) async fn run(&self, shape: RunShape, mode: RunMode) -> Result<Duration> {
        let start = Instant::now();
        let request = BenchRequest::json(PATH, &self.key, &self.body(shape, mode));
        let request = match mode {
            RunMode::Kept => request.with_header("prowess-keep", "true"),
            RunMode::Foreground | RunMode::Background => request,
        };
        let response = request.send(&self.endpoint, TIMEOUT).await?;
        ensure!(response.status == 200, "the run failed: {}", response.body);
        if mode == RunMode::Background && !shape.stream {
            let id = response.json().unwrap_or_default();
            let id = id.get("id").and_then(Value::as_str);
            self.poll(id.context("a run without an id")?).await?;
        } else {
            ensure_complete(&response.body, shape)?;
        }
        Ok(start.elapsed())
    }

    fn body(&self, shape: RunShape, mode: RunMode) -> Value {
        let skills = json!([{"type": "skill_reference", "skill_id": self.skill}]);
        let environment = json!({"type": "container_auto", "skills": skills});
        let mut body = json!({
            "model": format!("scripted/{}", shape.model()),
            "input": "Do it.",
            "stream": shape.stream,
            "tools": [{"type": "shell", "environment": environment}],
        });
        if mode == RunMode::Background
            && let Some(fields) = body.as_object_mut()
        {
            fields.insert("background".to_owned(), true.into());
        }
        body
    }

    /// Waits for the end of a run in the background.
    async fn poll(&self, id: &str) -> Result<()> {
        let request = BenchRequest::new("GET", &format!("{PATH}/{id}"), &self.key);
        let start = Instant::now();
        while start.elapsed() < TIMEOUT {
            let response = request.send(&self.endpoint, TIMEOUT).await?;
            let run = response.json().unwrap_or_default();
            match run.get("status").and_then(Value::as_str) {
                Some("queued" | "in_progress") => tokio::time::sleep(POLL_INTERVAL).await,
                Some("completed") => return Ok(()),
                _ => bail!("the run failed: {}", response.body),
            }
        }
        bail!("a run has not ended after {} s", TIMEOUT.as_secs())
    }
}

/// Whether the response is that of a run that made all its calls.
fn ensure_complete(body: &str, shape: RunShape) -> Result<()> {
    let is_complete = match shape.stream {
        true => body.contains("response.completed"),
        false => body.contains(ANSWER),
    };
    ensure!(is_complete, "the run is not complete: {body}");
    Ok(())
}
