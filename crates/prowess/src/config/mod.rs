//! `prowess.toml`: parsed, then checked. Only checked values leave this module.
//!
//! One file per section, with its keys, their checks and the resulting settings. The types of
//! the sections are the only definition of the keys: `definition` makes a schema of them, from
//! which unknown keys, earlier names, what is shown, the schema for editors and
//! `docs/configuration.md` are derived. A build without the feature `server` reads `[server]`,
//! `[telemetry]`, `[webhooks]` and `[batches]` too, but does not check their values.

mod audit;
mod batches;
mod blobs;
mod cluster;
mod definition;
#[cfg(test)]
mod definition_tests;
mod docs;
mod error;
mod file;
pub mod import;
mod keys;
mod models;
mod overrides;
mod paths;
mod places;
mod problems;
mod providers;
#[cfg(feature = "server")]
pub mod reload;
mod runs;
mod sandbox;
mod schema;
mod secret;
mod server;
#[cfg(feature = "server")]
mod shown;
mod skills;
mod store;
mod telemetry;
#[cfg(test)]
mod tests;
mod values;
mod webhooks;
mod worker;

use std::path::Path;

use prowess_engine::EngineSettings;
use prowess_provider::config::ProvidersConfig as Gateway;
use prowess_sandbox::Policy;
#[cfg(feature = "server")]
use prowess_server::ServerSettings;
use prowess_store::StoreConfig;
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use file::ConfigToml;
use problems::first_problem;

pub use cluster::ClusterConfig;
pub use error::ConfigError;
pub use overrides::ConfigOverrides;
pub use problems::ConfigProblems;
pub use sandbox::{BackendSetting, SandboxConfig};
#[cfg(feature = "server")]
pub use server::check::ServerConfig;
pub use worker::WorkerConfig;

/// The file that is read by default, if it exists.
pub const CONFIG_FILE: &str = "prowess.toml";

/// The checked configuration.
#[derive(Debug)]
pub struct Config {
    /// Settings of the server.
    #[cfg(feature = "server")]
    pub server: ServerConfig,
    /// Settings of runs.
    pub runs: EngineSettings,
    /// Settings of the store.
    pub store: StoreConfig,
    /// Providers and models.
    pub gateway: Gateway,
    /// Settings of the sandbox.
    pub sandbox: SandboxConfig,
    /// The cluster, if there is one.
    pub cluster: Option<ClusterConfig>,
    /// Settings of a worker.
    pub worker: WorkerConfig,
}

/// The JSON schema of the file, for editors.
pub fn schema() -> serde_json::Value {
    schema::render()
}

/// The documentation of the file, as Markdown.
pub fn documentation() -> String {
    docs::render()
}

impl Config {
    /// The settings of runs, with the sandbox's limits and domains.
    #[must_use]
    pub fn run_settings(&self) -> EngineSettings {
        EngineSettings {
            policy: Policy {
                limits: self.sandbox.limits.clone(),
                ..self.runs.policy.clone()
            },
            domains: self.sandbox.domains.clone(),
            ..self.runs.clone()
        }
    }

    /// Whether a server with this configuration is a gateway of a cluster. A worker has a
    /// cluster, but no store that others share.
    #[must_use]
    pub fn is_gateway(&self) -> bool {
        self.cluster.is_some() && cluster::check_store(&self.store).is_ok()
    }

    /// Reads the given file, or [`CONFIG_FILE`] if it exists, and checks everything.
    pub fn load(file: Option<&Path>, overrides: &ConfigOverrides) -> Result<Config, ConfigError> {
        Config::load_all(file, overrides).map_err(first_problem)
    }

    /// Like [`Config::load`], but returns all problems that can be found at once.
    pub fn load_all(
        file: Option<&Path>,
        overrides: &ConfigOverrides,
    ) -> Result<Config, ConfigProblems> {
        let named = file.is_some();
        let path = file.unwrap_or(Path::new(CONFIG_FILE));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if !named && error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(ConfigError::from_io(path, &error).into()),
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        Config::read_all(&text, folder, overrides).map_err(|problems| problems.in_file(path))
    }

    /// Reads and checks a text. Paths of scripts are relative to `folder`.
    pub fn read(
        text: &str,
        folder: &Path,
        overrides: &ConfigOverrides,
    ) -> Result<Config, ConfigError> {
        Config::read_all(text, folder, overrides).map_err(first_problem)
    }

    /// Like [`Config::read`], but returns all problems: the unknown keys; if there are none,
    /// the first value of a wrong type; else the invalid values: one of every section, of every
    /// provider and of every model.
    fn read_all(
        text: &str,
        folder: &Path,
        overrides: &ConfigOverrides,
    ) -> Result<Config, ConfigProblems> {
        let file = DeTable::parse(text);
        let mut file = file.map_err(|error| ConfigError::from_syntax(text, &error))?;
        ConfigProblems::from_list(keys::check(text, file.get_mut())).ensure_none()?;
        let checked = Config::check(text, &file, folder, overrides);
        checked.map_err(|problems| {
            problems.with_lines(|setting| {
                let place = (!overrides.sets(setting)).then_some(file.get_ref())?;
                let place = places::find_key(place, setting)?;
                Some(error::line_at(text, place))
            })
        })
    }

    /// Checks the values of a file whose keys are known.
    fn check(
        text: &str,
        file: &Spanned<DeTable<'_>>,
        folder: &Path,
        overrides: &ConfigOverrides,
    ) -> Result<Config, ConfigProblems> {
        let mut problems = ConfigProblems::default();
        let raw = ConfigToml::deserialize(toml::Deserializer::from(file.clone()));
        let raw = raw.map_err(|error| ConfigError::from_value(text, file.get_ref(), &error))?;
        let data_dir = server::data_dir(&raw.server, overrides)?;
        let providers = providers::check_all(raw.providers, folder, &mut problems);
        #[cfg(feature = "server")]
        let server = problems.record(server::check::check(&raw.server, overrides, &providers));
        let sandbox = problems.record(sandbox::check(raw.sandbox, &data_dir, overrides));
        let worker = problems.record(worker::check(&raw.worker, &data_dir));
        let cluster = problems.record(cluster::check(&raw.cluster));
        let audit_retention = audit::retention(&raw.audit);
        let store = problems.record(store::check(&raw.store, &raw.blobs, data_dir, overrides));
        // A worker has no store.
        if let (Some(Some(_)), Some(store), None) = (&cluster, &store, file.get_ref().get("worker"))
        {
            problems.record(cluster::check_store(store));
        }
        #[cfg(feature = "server")]
        let releases = skills::releases(&raw.skills);
        let runs = problems.record(skills::check(raw.skills));
        let kept = problems.record(runs::check(&raw.runs));
        #[cfg(feature = "server")]
        let telemetry = problems.record(telemetry::check::check(&raw.telemetry));
        #[cfg(feature = "server")]
        let webhooks = problems.record(webhooks::check::check(&raw.webhooks));
        #[cfg(feature = "server")]
        let batches = problems.record(batches::check::check(&raw.batches));
        let models = models::check_all(raw.models, &providers, &mut problems);
        problems.ensure_none()?;
        let (Some(sandbox), Some(store), Some(runs), Some(kept)) = (sandbox, store, runs, kept)
        else {
            return Err(problems);
        };
        let (Some(cluster), Some(worker)) = (cluster, worker) else {
            return Err(problems);
        };
        #[cfg(feature = "server")]
        let (Some(server), Some(telemetry), Some(webhooks), Some(batches)) =
            (server, telemetry, webhooks, batches)
        else {
            return Err(problems);
        };
        Ok(Config {
            sandbox,
            cluster,
            worker,
            store: StoreConfig {
                audit_retention,
                ..store
            },
            runs: EngineSettings {
                rerun: kept.rerun,
                max_open_runs: kept.max_open,
                ..runs
            },
            #[cfg(feature = "server")]
            server: ServerConfig {
                settings: ServerSettings {
                    telemetry,
                    webhooks,
                    batches,
                    protected_labels: releases.protected_labels,
                    import_hosts: releases.import_hosts,
                    configuration: shown::without_secrets(file, overrides),
                    ..server.settings
                },
                ..server
            },
            gateway: Gateway {
                providers,
                models,
                ..Gateway::default()
            },
        })
    }
}
