//! Our engine with the skills stored, and a model that takes no time to answer.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use prowess_engine::{Engine, EngineSettings, RecordDetail, RunRequest, SandboxHandle};
use prowess_provider::config::{ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions};
use prowess_provider::{ClientCredentials, Providers};
use prowess_sandbox::{Sandbox, SandboxSettings};
use prowess_skill::Skill;
use prowess_store::{NewSkill, Store, StoreConfig, TenantId};
use prowess_wire::neutral::Request;
use prowess_wire::{ClientDialect, read_request};
use serde_json::{Value, json};

use crate::cpu;

/// Calls the tool that the user names, then ends.
const SCRIPT: &str = r#"
[[step]]
when.turn = 1
when.user = "load"
calls = [{ name = "load_skill", input = { name = "sheets-0" } }]

[[step]]
when.turn = 1
when.user = "run"
calls = [{ name = "bash_code_execution", input = { command = "true" } }]

[[step]]
text = "Done."
"#;

/// An engine and its requests.
pub(crate) struct EngineBench {
    pub(crate) engine: Engine,
    pub(crate) sandbox: Sandbox,
    tenant: TenantId,
    providers: Providers,
    ids: Vec<String>,
}

impl EngineBench {
    pub(crate) async fn open(
        folder: &Path,
        prowess: &Path,
        skills: &[Skill],
        record: RecordDetail,
        freshness: Duration,
    ) -> Result<EngineBench> {
        let store = Store::open(&StoreConfig {
            freshness,
            ..StoreConfig::local(folder)
        })
        .await?;
        let tenant = TenantId::default_tenant();
        let mut ids = Vec::new();
        for skill in skills {
            let new = NewSkill::from_skill(skill);
            let uploaded = store.create_skill(&tenant, &new).await?;
            ids.push(uploaded.skill.id);
        }
        let mut settings = SandboxSettings::new(folder.join("sandbox"));
        settings.launcher = prowess.to_owned();
        settings.allow_reduced = true;
        let sandbox = Sandbox::open(settings).await?;
        let script = ProviderKind::new(ScriptedOptions::Text(SCRIPT.to_owned()));
        let providers = Providers::new(ProvidersConfig {
            providers: vec![ProviderConfig::new("stage", script)],
            ..ProvidersConfig::default()
        })?;
        let settings = EngineSettings {
            record_detail: record,
            ..EngineSettings::default()
        };
        Ok(EngineBench {
            engine: Engine::new(store, settings, SandboxHandle::ready(sandbox.clone())),
            sandbox,
            tenant,
            providers,
            ids,
        })
    }

    /// The owner of the containers in the sandbox.
    pub(crate) fn owner(&self) -> &str {
        self.tenant.as_str()
    }

    /// A request with this prompt that names all skills, or continues in a container.
    pub(crate) fn request(&self, prompt: &str, container: Option<&str>) -> Result<Request> {
        let named = |id: &String| json!({"type": "custom", "skill_id": id});
        let container: Value = match container {
            Some(id) => json!(id),
            None => json!({"skills": self.ids.iter().map(named).collect::<Vec<_>>()}),
        };
        let body = json!({
            "model": "stage/hero",
            "max_tokens": 1000,
            "system": "Be brief.",
            "messages": [{"role": "user", "content": prompt}],
            "container": container,
            "tools": [{"type": "code_execution_20250825", "name": "code_execution"}],
        });
        let body = body.to_string();
        read_request(ClientDialect::Messages, body.as_bytes()).context("the request is invalid")
    }

    pub(crate) fn run_request(&self, request: Request) -> Result<RunRequest> {
        Ok(RunRequest {
            tenant: self.tenant.clone(),
            client: ClientDialect::Messages,
            route: self.providers.route(&request.model)?,
            request,
            members: Vec::new(),
            auto: None,
            max_turns: None,
            spend_check: None,
            credentials: ClientCredentials::default(),
        })
    }

    /// The processor time from a request to a run whose model is to be called next, as
    /// a mean of some.
    pub(crate) async fn prepare(&self, requests: u32) -> Result<Duration> {
        let request = self.request("Make a sheet of it.", None)?;
        let run_requests: Result<Vec<_>> = (0..requests)
            .map(|_| self.run_request(request.clone()))
            .collect();
        let run_requests = run_requests?;
        let before = cpu();
        for run_request in run_requests {
            drop(self.engine.start(run_request).await?);
        }
        Ok((cpu() - before) / requests)
    }
}
