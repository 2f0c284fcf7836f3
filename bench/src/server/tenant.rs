//! The requests that a tenant sends.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::config::{PASS_MODEL, SCRIPTED_MODEL, ScriptedCommand};
use super::outcome::RequestOutcome;
use super::skill;
use crate::gateway::request::{BenchEndpoint, BenchRequest};

/// Skills of a page of the list.
const PAGE_SIZE: usize = 100;
/// Pages that are read before something must be wrong.
const MAX_PAGES: usize = 1_000;

/// A tenant with a key, at some address.
#[derive(Debug, Clone)]
pub struct BenchTenant {
    /// Part of the names of its skills.
    pub name: &'static str,
    /// How the server is reached.
    pub endpoint: BenchEndpoint,
    /// Its key.
    pub key: String,
    /// How long it waits for an answer.
    pub timeout: Duration,
}

impl BenchTenant {
    /// A chat request that passes to the mock model.
    pub async fn pass_through(&self) -> RequestOutcome {
        let messages = json!([{"role": "user", "content": "Tell me about the weather."}]);
        let body = json!({"model": PASS_MODEL, "messages": messages});
        let request = BenchRequest::json("/v1/chat/completions", &self.key, &body);
        self.send(&request, "Hello there").await
    }

    /// Uploads the skill of this number; its id is at `/id`.
    pub async fn upload(&self, number: usize) -> RequestOutcome {
        let archive = match skill::archive(self.name, number) {
            Ok(archive) => archive,
            Err(error) => return RequestOutcome::NoAnswer(format!("no archive: {error:#}")),
        };
        let request = BenchRequest::form("/v1/skills", &self.key, "files[]", "skill.zip", &archive);
        self.send(&request, "skill_").await
    }

    /// Deletes a skill.
    pub async fn delete_skill(&self, id: &str) -> RequestOutcome {
        let request = BenchRequest::new("DELETE", &format!("/v1/skills/{id}"), &self.key);
        self.send(&request, id).await
    }

    /// Uploads a skill that later requests use.
    pub async fn prepare_skill(&self, number: usize) -> Result<String> {
        let uploaded = self.upload(number).await;
        let id = uploaded.text("/id");
        id.with_context(|| format!("no skill: {} {}", uploaded.class(), uploaded.reason()))
    }

    /// A run with a skill, in a new container; its id is at `/container/id`.
    pub async fn run(&self, skill: &str, command: ScriptedCommand) -> RequestOutcome {
        let skills = json!([{"type": "custom", "skill_id": skill}]);
        self.run_in(&json!({ "skills": skills }), command).await
    }

    /// A command in a container that is there.
    pub async fn command(&self, container: &str, command: ScriptedCommand) -> RequestOutcome {
        self.run_in(&container.into(), command).await
    }

    /// Begins a run with a skill, in a new container, that goes on if its server stops. It is
    /// answered at once.
    pub async fn begin_kept_run(&self, skill: &str, command: ScriptedCommand) -> RequestOutcome {
        let skills = json!([{"type": "custom", "skill_id": skill}]);
        let request = self.run_request(&json!({ "skills": skills }), command);
        let request = request.with_header("prowess-keep", "background");
        self.send(&request, "run_").await
    }

    async fn run_in(&self, container: &Value, command: ScriptedCommand) -> RequestOutcome {
        let request = self.run_request(container, command);
        self.send(&request, command.output()).await
    }

    fn run_request(&self, container: &Value, command: ScriptedCommand) -> BenchRequest {
        let tools = json!([{"type": "code_execution_20260521", "name": "code_execution"}]);
        let messages = json!([{"role": "user", "content": command.name()}]);
        let body = json!({"model": SCRIPTED_MODEL, "max_tokens": 100, "container": container,
            "tools": tools, "messages": messages});
        BenchRequest::json("/v1/messages", &self.key, &body)
    }

    /// Makes an empty container; its id is at `/id`.
    pub async fn create_container(&self, name: &str) -> RequestOutcome {
        let request = BenchRequest::json("/v1/containers", &self.key, &json!({ "name": name }));
        self.send(&request, "cntr_").await
    }

    /// Removes a container, named as a run or as its creation names it.
    pub async fn delete_container(&self, id: &str) -> RequestOutcome {
        let id = id.replace("container_", "cntr_");
        let request = BenchRequest::new("DELETE", &format!("/v1/containers/{id}"), &self.key);
        self.send(&request, &id).await
    }

    /// `/healthz` or `/readyz`.
    pub async fn health(&self, path: &str) -> RequestOutcome {
        let request = BenchRequest::new("GET", path, &self.key);
        self.send(&request, "ok").await
    }

    /// The ids of all its skills.
    pub async fn skills(&self) -> Result<Vec<String>> {
        let mut ids: Vec<String> = Vec::new();
        for _ in 0..MAX_PAGES {
            let mut path = format!("/v1/skills?limit={PAGE_SIZE}");
            if let Some(last) = ids.last() {
                path = format!("{path}&after={last}");
            }
            let request = BenchRequest::new("GET", &path, &self.key);
            let page = request.send(&self.endpoint, self.timeout).await?;
            let page = page.json().context("the list of skills is no JSON")?;
            let items = page.get("data").and_then(Value::as_array);
            let items = items.context("the list of skills has no data")?;
            let id = |item: &Value| Some(item.get("id")?.as_str()?.to_owned());
            ids.extend(items.iter().filter_map(id));
            if page.get("has_more") != Some(&Value::Bool(true)) {
                return Ok(ids);
            }
        }
        anyhow::bail!("the list of skills has no end")
    }

    async fn send(&self, request: &BenchRequest, expected: &str) -> RequestOutcome {
        RequestOutcome::from_response(request.send(&self.endpoint, self.timeout).await, expected)
    }
}
