//! Runs in this process, by the library: its own models, store and sandbox.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use prowess::config::{Config, ConfigOverrides};
use prowess::{EngineSettings, Event, PromptRequest, Prowess, Run, RunStep, SkillRef};
use prowess_sandbox::{DomainRule, Network};
use prowess_store::{NewFile, TenantId};
use prowess_wire::neutral::{Delta, StreamEvent};
use prowess_wire::{ClientDialect, read_request};
use pyo3::FromPyObject;
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

use super::event_json;
use super::given::{self, GivenFile, GivenSkill, MAX_FILE_BYTES};
use super::request::{RunSettings, offer_code};
use crate::failure::PyFailure;
use crate::store::find_by_name;

/// How long input files are stored: they are placed in the container when the run starts.
const INPUT_RETENTION: Duration = Duration::from_secs(3600);

/// Settings of runs in this process: the attributes of `prowess._runs._Local`.
#[derive(Debug, FromPyObject)]
pub(crate) struct LocalSettings {
    /// A `prowess.toml`.
    config: Option<PathBuf>,
    data_dir: Option<PathBuf>,
    sandbox: bool,
    reduced: bool,
    network: Vec<String>,
    launcher: PathBuf,
}

/// The library, opened.
pub(super) struct LocalPlace {
    prowess: Prowess,
    tenant: TenantId,
}

/// A run in this process; none when it has ended.
pub(super) struct LocalRun(Option<Run>);

impl LocalSettings {
    async fn read_config(&self) -> Result<Option<Config>, PyFailure> {
        let Some(file) = self.config.clone() else {
            return Ok(None);
        };
        let overrides = ConfigOverrides {
            data_dir: self.data_dir.clone(),
            ..ConfigOverrides::default()
        };
        let read = spawn_blocking(move || Config::load(Some(&file), &overrides)).await;
        let config = read.map_err(PyFailure::internal)?;
        let invalid = |error: prowess::config::ConfigError| {
            PyFailure::new("UsageError", error.code(), error.to_string())
        };
        config.map(Some).map_err(invalid)
    }

    fn network(&self) -> Result<Option<Network>, PyFailure> {
        let domains = self.network.iter().map(|text| text.parse::<DomainRule>());
        let domains: Result<Vec<_>, _> = domains.collect();
        let domains = domains.map_err(|error| PyFailure::usage(format!("network: {error}")))?;
        Ok((!domains.is_empty()).then_some(Network::Allow(domains)))
    }
}

impl LocalPlace {
    pub(super) async fn open(settings: LocalSettings) -> Result<Self, PyFailure> {
        let config = settings.read_config().await?;
        let mut runs = match &config {
            Some(config) => config.run_settings(),
            None => EngineSettings::default(),
        };
        if let Some(network) = settings.network()? {
            runs.policy.network = network;
        }
        let mut builder = Prowess::builder();
        if let Some(config) = &config {
            builder = builder.config(config);
        } else if let Some(folder) = settings.data_dir {
            builder = builder.data_dir(folder);
        }
        let (launcher, reduced) = (settings.launcher, settings.reduced);
        let builder = match settings.sandbox {
            false => builder.no_sandbox(),
            true => builder.sandbox(move |sandbox| {
                sandbox.launcher = launcher;
                sandbox.allow_reduced |= reduced;
                // A program that makes one run after another needs no prepared sandboxes.
                sandbox.warm = 0;
            }),
        };
        Ok(LocalPlace {
            prowess: builder.runs(runs).open().await?,
            tenant: TenantId::default_tenant(),
        })
    }

    pub(super) async fn start(
        &self,
        settings: &RunSettings,
        skills: Vec<GivenSkill>,
        files: Vec<GivenFile>,
    ) -> Result<LocalRun, PyFailure> {
        given::check_files(&files, settings.code)?;
        let mut ids = Vec::with_capacity(files.len());
        for file in files {
            let (name, content) = given::read_file(file).await?;
            ids.push(self.store_file(&name, content).await?);
        }
        let mut body = settings.body(&ids)?;
        // The library offers code together with skills and containers.
        if !ids.is_empty() && skills.is_empty() && settings.container.is_none() {
            offer_code(&mut body);
        }
        let mut request = read_body(body)?;
        for skill in skills {
            request = request.skill(self.skill_ref(skill).await?);
        }
        if let Some(id) = &settings.container {
            request = request.container(id);
        }
        if !settings.code {
            request = request.without_code();
        }
        Ok(LocalRun(Some(self.prowess.run(request).await?)))
    }

    async fn skill_ref(&self, skill: GivenSkill) -> Result<SkillRef, PyFailure> {
        let name = match skill {
            GivenSkill::Id { id, version } => return Ok(SkillRef::Id { id, version }),
            GivenSkill::Loaded(skill) => return Ok(SkillRef::Loaded(skill)),
            GivenSkill::Named(name) => name,
        };
        let found = find_by_name(self.prowess.store(), &self.tenant, &name).await?;
        Ok(match found {
            Some(found) => SkillRef::Id {
                id: found.id,
                version: None,
            },
            // An alias of the configuration; the library finds out.
            None => SkillRef::Source(name.into()),
        })
    }

    async fn store_file(&self, name: &str, content: Vec<u8>) -> Result<String, PyFailure> {
        let new = NewFile {
            name,
            mime: "application/octet-stream",
            purpose: "user_data",
            scope: None,
            downloadable: false,
            expires_in: Some(INPUT_RETENTION),
            limit: MAX_FILE_BYTES,
        };
        let content = stream::iter([Ok(Bytes::from(content))]);
        let store = self.prowess.store();
        Ok(store.create_file(&self.tenant, &new, content).await?.id)
    }

    pub(super) async fn read(&self, file: &str) -> Result<Vec<u8>, PyFailure> {
        let (_, content) = self.prowess.store().read_file(&self.tenant, file).await?;
        let all = content.try_fold(Vec::new(), |mut all, piece| {
            all.extend_from_slice(&piece);
            std::future::ready(Ok(all))
        });
        Ok(all.await?)
    }

    pub(super) async fn close(&self) {
        self.prowess.close().await;
    }
}

fn read_body(body: Map<String, Value>) -> Result<PromptRequest, PyFailure> {
    let body = Value::Object(body).to_string();
    let request = read_request(ClientDialect::Messages, body.as_bytes());
    let request = request.map_err(|error| PyFailure::usage(error.to_string()))?;
    Ok(PromptRequest::from(request))
}

impl LocalRun {
    pub(super) async fn next(&mut self) -> Result<Option<Value>, PyFailure> {
        while let Some(run) = &mut self.0 {
            let event = match run.next().await {
                Some(event) => to_json(event?),
                None => break,
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        let Some(run) = self.0.take() else {
            return Ok(None);
        };
        let output = run.finish().await?;
        let files: Vec<Value> = output.files.iter().map(|file| json!(file)).collect();
        let ended = event_json::ended(Some(&output.run), &output.response, &files);
        Ok(Some(ended))
    }
}

fn to_json(event: Event) -> Option<Value> {
    match event {
        Event::Text(text) => Some(event_json::text(&text)),
        Event::Step(step) => Some(step_json(&step)),
        Event::Stream(StreamEvent::BlockDelta {
            delta: Delta::Thinking(text),
            ..
        }) => Some(event_json::thinking(&text)),
        Event::Stream(_) => None,
    }
}

fn step_json(step: &RunStep) -> Value {
    let mut fields = Map::from_iter([("type".to_owned(), json!(step.kind()))]);
    fields.extend(step.fields());
    fields.into()
}
