//! Requests with `auto` over all stored skills: is the right skill offered and loaded, and does
//! the next request of a conversation begin with what was sent before?

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prowess_bench::gateway::request::BenchRequest;
use serde_json::{Value, json};

use super::offer_model::{ANSWER, OfferModel, each_text, offered};
use super::pool_server::PoolServer;
use super::skill_file::SkillFiles;
use crate::dataset::{Dataset, GoldQuery};

const MODEL: &str = "mock/m";
/// What the user says next, in a request that is not streamed.
const LATER: &str = "Thank you. Is there anything else that I should know?";

/// How a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AutoDialect {
    Messages,
    Chat,
    Responses,
}

/// What became of all requests of one kind.
pub(super) struct AutoTotals {
    pub(super) case: String,
    pub(super) requests: usize,
    /// Requests that offered a skill that fits.
    pub(super) offered: usize,
    /// Requests whose model was sent the instructions of one.
    pub(super) loaded: usize,
    /// Requests to the model after the first of their conversation, and those that began with
    /// all that was sent before.
    pub(super) later: usize,
    pub(super) unchanged: usize,
    pub(super) times: Vec<Duration>,
}

/// Sends some queries in every dialect, streamed and not.
pub(super) async fn measure(
    server: &PoolServer,
    model: &OfferModel,
    dataset: &Dataset,
    count: usize,
) -> Result<Vec<AutoTotals>> {
    let names = SkillFiles::new(&dataset.pool);
    let step = (dataset.queries.len() / count.max(1)).max(1);
    let queries: Vec<&GoldQuery> = dataset.queries.iter().step_by(step).take(count).collect();
    let mut all = Vec::new();
    for dialect in [
        AutoDialect::Messages,
        AutoDialect::Chat,
        AutoDialect::Responses,
    ] {
        for stream in [false, true] {
            let kind = if stream { "streamed" } else { "whole" };
            let mut totals = AutoTotals {
                case: format!("{dialect:?}, {kind}"),
                requests: 0,
                offered: 0,
                loaded: 0,
                later: 0,
                unchanged: 0,
                times: Vec::new(),
            };
            for query in &queries {
                model.expect(fitting(query, &names));
                converse(server, dialect, stream, &query.text, &mut totals).await?;
                totals.count(dialect, query, &names, &model.requests())?;
            }
            all.push(totals);
        }
    }
    Ok(all)
}

/// The names of all skills that fit a query, as they were uploaded.
fn fitting(query: &GoldQuery, files: &SkillFiles<'_>) -> HashSet<String> {
    let places = query.gold.iter().flatten();
    let files = places.filter_map(|place| files.file(*place as usize));
    files.map(|file| file.folder).collect()
}

/// Sends a request, and if it is not streamed the next one of its conversation.
async fn converse(
    server: &PoolServer,
    dialect: AutoDialect,
    stream: bool,
    text: &str,
    totals: &mut AutoTotals,
) -> Result<()> {
    let mut body = dialect.body(text, stream);
    let start = Instant::now();
    let answer = send(server, dialect, &body).await?;
    totals.times.push(start.elapsed());
    if stream {
        return Ok(());
    }
    let answer: Value = serde_json::from_str(&answer).context("a response without JSON")?;
    dialect.continue_with(&mut body, &answer)?;
    send(server, dialect, &body).await.map(drop)
}

async fn send(server: &PoolServer, dialect: AutoDialect, body: &Value) -> Result<String> {
    let request = BenchRequest::json(dialect.path(), &server.key, body);
    let answer = server.send(&request).await?;
    ensure!(
        answer.body.contains(ANSWER),
        "{dialect:?}: the run did not end: {}",
        answer.body
    );
    Ok(answer.body)
}

impl AutoDialect {
    fn path(self) -> &'static str {
        match self {
            AutoDialect::Messages => "/v1/messages",
            AutoDialect::Chat => "/v1/chat/completions",
            AutoDialect::Responses => "/v1/responses",
        }
    }

    fn body(self, text: &str, stream: bool) -> Value {
        let container = json!({"skills": [{"type": "custom", "skill_id": "auto"}]});
        let messages = json!([{"role": "user", "content": text}]);
        match self {
            AutoDialect::Messages => json!({
                "model": MODEL, "max_tokens": 100, "stream": stream, "container": container,
                "messages": messages,
            }),
            AutoDialect::Chat => json!({
                "model": MODEL, "stream": stream, "container": container, "messages": messages,
            }),
            AutoDialect::Responses => {
                let skills = json!([{"type": "skill_reference", "skill_id": "auto"}]);
                let environment = json!({"type": "container_auto", "skills": skills});
                json!({
                    "model": MODEL, "stream": stream, "input": text,
                    "tools": [{"type": "shell", "environment": environment}],
                })
            }
        }
    }

    /// Makes a request the next one of its conversation.
    fn continue_with(self, body: &mut Value, answer: &Value) -> Result<()> {
        let body = body.as_object_mut().context("no object")?;
        let reply = match self {
            AutoDialect::Messages => {
                let content = answer.get("content").context("no content")?;
                json!({"role": "assistant", "content": content})
            }
            AutoDialect::Chat => {
                let message = answer.pointer("/choices/0/message");
                message.context("no message")?.clone()
            }
            AutoDialect::Responses => {
                let id = answer.get("id").context("no id")?;
                body.insert("previous_response_id".to_owned(), id.clone());
                body.insert("input".to_owned(), LATER.into());
                return Ok(());
            }
        };
        let messages = body.get_mut("messages").and_then(Value::as_array_mut);
        let messages = messages.context("no messages")?;
        messages.extend([reply, json!({"role": "user", "content": LATER})]);
        Ok(())
    }
}

impl AutoTotals {
    /// Counts what the model was sent for one conversation.
    fn count(
        &mut self,
        dialect: AutoDialect,
        query: &GoldQuery,
        files: &SkillFiles<'_>,
        requests: &[Value],
    ) -> Result<()> {
        let first = requests.first().context("the model was not asked")?;
        let fitting = fitting(query, files);
        self.requests += 1;
        self.offered += usize::from(offered(first).any(|name| fitting.contains(&name)));
        let has_result = |request: &Value| {
            let messages = request.get("messages").and_then(Value::as_array);
            let mut messages = messages.into_iter().flatten();
            messages.any(|message| {
                // Instructions may contain the word too.
                let mut is_error = false;
                each_text(message.get("content"), &mut |text| {
                    is_error |= text.starts_with("Error:");
                });
                message.get("role") == Some(&json!("tool")) && !is_error
            })
        };
        self.loaded += usize::from(requests.iter().any(has_result));
        for pair in requests.windows(2) {
            let [before, after] = pair else { continue };
            self.later += 1;
            // Chat clients do not send the calls of earlier requests back.
            let is_unchanged = begins_with(after, before)
                || dialect == AutoDialect::Chat && begins_with(after, first);
            self.unchanged += usize::from(is_unchanged);
        }
        Ok(())
    }
}

/// Whether a request has the same tools and begins with the same messages.
fn begins_with(after: &Value, before: &Value) -> bool {
    let messages = |request: &Value| request.get("messages").map(Value::to_string);
    let (Some(after_text), Some(before_text)) = (messages(after), messages(before)) else {
        return false;
    };
    let begins = before_text
        .strip_suffix(']')
        .is_some_and(|before| after_text.starts_with(before));
    begins && after.get("tools") == before.get("tools")
}
