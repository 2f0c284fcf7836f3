//! `prowess.toml`: parsed, then checked. Only checked values leave this module.
//!
//! One file per section, with its keys, their checks and the resulting settings. An unknown
//! key is an error that names the closest known one. A build without the feature `server`
//! reads `[server]`, `[telemetry]`, `[webhooks]` and `[batches]` too, but does not check their
//! values.

mod audit;
mod batches;
mod blobs;
mod error;
pub mod import;
mod keys;
mod models;
mod overrides;
mod paths;
mod problems;
mod providers;
mod runs;
mod sandbox;
mod secret;
mod server;
#[cfg(feature = "server")]
mod shown;
mod skills;
mod store;
mod telemetry;
mod webhooks;

use std::collections::BTreeMap;
use std::path::Path;

use prowess_engine::EngineSettings;
use prowess_provider::config::ProvidersConfig as Gateway;
use prowess_sandbox::Policy;
#[cfg(feature = "server")]
use prowess_server::ServerSettings;
use prowess_store::StoreConfig;
use schemars::JsonSchema;
use serde::Deserialize;

use keys::ConfigSection;
use problems::first_problem;

pub use error::ConfigError;
pub use overrides::ConfigOverrides;
pub use problems::ConfigProblems;
pub use sandbox::{BackendSetting, SandboxConfig};
#[cfg(feature = "server")]
pub use server::check::ServerConfig;

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
}

/// The file as written.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "prowess.toml", description = "The configuration of Prowess.")]
struct ConfigToml {
    server: server::ServerToml,
    store: store::StoreToml,
    blobs: blobs::BlobsToml,
    sandbox: sandbox::SandboxToml,
    providers: BTreeMap<String, providers::ProviderToml>,
    models: Vec<models::ModelToml>,
    skills: skills::SkillsToml,
    runs: runs::RunsToml,
    telemetry: telemetry::TelemetryToml,
    webhooks: webhooks::WebhooksToml,
    batches: batches::BatchesToml,
    audit: audit::AuditToml,
}

/// Every section and its keys.
const SECTIONS: &[ConfigSection] = &[
    ConfigSection::table("server", server::KEYS),
    ConfigSection::table("store", store::KEYS),
    ConfigSection::table("blobs", blobs::KEYS),
    ConfigSection::table("sandbox", sandbox::KEYS),
    ConfigSection::named_tables("providers", providers::KEYS),
    ConfigSection::table_list("models", models::KEYS),
    ConfigSection::table("skills", skills::KEYS),
    ConfigSection::table("runs", runs::KEYS),
    ConfigSection::table("telemetry", telemetry::KEYS),
    ConfigSection::table("webhooks", webhooks::KEYS),
    ConfigSection::table("batches", batches::KEYS),
    ConfigSection::table("audit", audit::KEYS),
];

/// The JSON schema of the file, for editors.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(ConfigToml).to_value()
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
    /// the first value of a wrong type; else the invalid values of every section.
    fn read_all(
        text: &str,
        folder: &Path,
        overrides: &ConfigOverrides,
    ) -> Result<Config, ConfigProblems> {
        let mut problems = ConfigProblems::from_list(keys::find_unknown(text, SECTIONS)?);
        problems.ensure_none()?;
        let raw: ConfigToml =
            toml::from_str(text).map_err(|error| ConfigError::from_toml(text, &error))?;
        let data_dir = server::data_dir(&raw.server, overrides)?;
        let providers = problems.record(providers::check_all(raw.providers, folder));
        let providers = providers.unwrap_or_default();
        #[cfg(feature = "server")]
        let server = problems.record(server::check::check(&raw.server, overrides, &providers));
        let sandbox = problems.record(sandbox::check(raw.sandbox, &data_dir));
        let audit_retention = audit::retention(&raw.audit);
        let store = problems.record(store::check(&raw.store, &raw.blobs, data_dir, overrides));
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
        let models = problems.record(models::check_all(raw.models));
        problems.ensure_none()?;
        let (Some(sandbox), Some(store), Some(runs), Some(kept), Some(models)) =
            (sandbox, store, runs, kept, models)
        else {
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
                    configuration: shown::without_secrets(text, overrides),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read_config(text: &str) -> Result<Config, ConfigError> {
        let overrides = ConfigOverrides {
            data_dir: Some("/data".into()),
            ..ConfigOverrides::default()
        };
        Config::read(text, Path::new(""), &overrides)
    }

    fn all_problems(text: &str) -> Vec<String> {
        let overrides = ConfigOverrides {
            data_dir: Some("/data".into()),
            ..ConfigOverrides::default()
        };
        let problems = Config::read_all(text, Path::new(""), &overrides).unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    }

    #[cfg(feature = "server")]
    #[test]
    fn everything_that_is_wrong_is_found_at_once() {
        let unknown = "[server]\nlissen = \"x\"\n[sever]\n[store]\nurll = \"x\"\n";
        assert_eq!(
            all_problems(unknown),
            [
                "line 2: `server.lissen` is not a setting; did you mean `listen`?",
                "line 3: `[sever]` is not a section; did you mean `[server]`?",
                "line 5: `store.urll` is not a setting; did you mean `url`?",
            ]
        );
        let values = "[server]\nlisten = \"nowhere\"\n[providers.a]\nkind = \"open-ai\"\n";
        let refused = all_problems(values);
        assert_eq!(refused.len(), 2, "{refused:?}");
    }

    fn first_problem(text: &str) -> String {
        read_config(text).unwrap_err().to_string()
    }

    #[cfg(feature = "server")]
    #[test]
    fn an_empty_file_gives_a_server_on_loopback_with_sqlite() {
        let config = read_config("").unwrap();
        assert_eq!(config.server.listen.to_string(), "127.0.0.1:4141");
        assert_eq!(config.store.database, "sqlite");
        assert_eq!(config.store.blobs, "local");
        assert!(config.server.settings.master_key.is_none());
    }

    #[cfg(feature = "server")]
    #[test]
    fn every_documented_key_is_read() {
        let config = read_config(
            "[server]\nlisten = \"0.0.0.0:80\"\nmaster_key = \"a-long-enough-master-key\"\n\
             data_dir = \"/elsewhere\"\nindex_tenant = \"public\"\nskills_provider = \"anthropic\"\n\
             file_bytes = 1000\nuploads = 2\nconnections = 10\ngrace_seconds = 5\n\
             [store]\nurl = \"postgres://u@h/d\"\n\
             [blobs]\nurl = \"s3://b/p\"\ninline_bytes = 10\noptions = { aws_region = \"eu\" }\n",
        )
        .unwrap();
        assert_eq!(config.server.settings.file_bytes, 1_000);
        assert_eq!(config.server.options.connections, 10);
        assert_eq!(config.store.database, "postgres://u@h/d");
        assert_eq!(config.store.blobs, "s3://b/p");
        let option = ("aws_region".to_owned(), "eu".to_owned());
        assert_eq!(config.store.blob_options, [option]);
        assert_eq!(
            config.store.data_dir,
            Path::new("/data"),
            "the override takes precedence"
        );
    }

    #[test]
    fn a_key_nobody_knows_is_refused_with_the_nearest_one() {
        insta::assert_snapshot!(first_problem("[server]\nlissen = \"127.0.0.1:1\"\n"), @"line 2: `server.lissen` is not a setting; did you mean `listen`?");
        insta::assert_snapshot!(first_problem("\n[sever]\n"), @"line 2: `[sever]` is not a section; did you mean `[server]`?");
        insta::assert_snapshot!(first_problem("[store]\nquux = 1\n"), @"line 2: `store.quux` is not a setting; available: url, tenant_bytes, tenant_files, tenant_skills, tenant_versions, tenant_keys, reserve_bytes, accept_empty");
    }

    #[cfg(feature = "server")]
    #[test]
    fn wrong_values_are_refused_with_their_place() {
        insta::assert_snapshot!(first_problem("[server]\nlisten = 4141\n"), @"line 2: listen: must be text in quotes, not integer `4141`");
        insta::assert_snapshot!(first_problem("[server]\nlisten = \"nowhere\"\n"), @"server.listen: `nowhere` is not an address and port, for instance 127.0.0.1:4141");
        insta::assert_snapshot!(first_problem("[server\n"), @"line 1: unclosed table, expected `]`");
    }

    #[cfg(feature = "server")]
    #[test]
    fn an_open_server_stays_on_loopback() {
        insta::assert_snapshot!(first_problem("[server]\nlisten = \"0.0.0.0:4141\"\n"), @"server.listen: 0.0.0.0:4141 can be reached from other machines, and there is no master key: set PROWESS_MASTER_KEY or server.master_key, or listen on 127.0.0.1");
    }

    #[test]
    fn providers_and_models_are_read_with_all_their_kinds() {
        let config = read_config(
            "[providers.a]\nkind = \"anthropic\"\nversion = \"2026-10-21\"\ncaller_key = true\n\
             [providers.o]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
             api_key = \"env:O_KEY\"\nresponses = true\nheaders = { x-team = \"blue\" }\n\
             connect_seconds = 1\nanswer_seconds = 2\nidle_seconds = 3\nattempts = 4\n\
             [providers.z]\nkind = \"azure\"\napi_version = \"2026-01-01\"\nbearer = true\n\
             [providers.b]\nkind = \"bedrock\"\nregion = \"eu-west-1\"\napi = \"converse\"\n\
             access_key_id = \"id\"\nsecret_access_key = \"env:S\"\nsession_token = \"env:T\"\n\
             [providers.v]\nkind = \"vertex\"\nproject = \"p\"\nlocation = \"global\"\n\
             [providers.g]\nkind = \"gemini\"\napi_version = \"v1\"\n\
             [providers.s]\nkind = \"scripted\"\nscript = \"s.toml\"\n\
             [[models]]\nname = \"small\"\naliases = [\"tiny\"]\nprovider = \"o\"\n\
             model = \"o-1\"\nfallbacks = [\"a/claude\"]\nconcurrent = 3\n",
        );
        let gateway = config.unwrap().gateway;
        let provider = |name: &str| {
            let mut all = gateway.providers.iter();
            all.find(|provider| provider.name == name).unwrap()
        };
        insta::assert_debug_snapshot!(provider("o"));
        insta::assert_debug_snapshot!(provider("b").kind);
        insta::assert_debug_snapshot!(gateway.models);
        let kinds: Vec<_> = gateway.providers.iter().map(|p| p.kind.as_str()).collect();
        assert_eq!(
            kinds,
            [
                "anthropic",
                "bedrock",
                "gemini",
                "openai",
                "scripted",
                "vertex",
                "azure"
            ]
        );
    }

    #[test]
    fn mistakes_in_providers_and_models_are_reported_with_their_place() {
        let about = |text: &str| first_problem(&format!("[providers.acme]\n{text}\n"));
        insta::assert_snapshot!(about("kind = \"openai\"\nbase_ulr = \"x\""), @"line 3: `providers.acme.base_ulr` is not a setting; did you mean `base_url`?");
        insta::assert_snapshot!(about("kind = \"open-ai\""), @"providers.acme.kind: `open-ai` is not one of anthropic, openai, azure, bedrock, vertex, gemini, scripted");
        insta::assert_snapshot!(about("kind = \"openai\"\nregion = \"eu\""), @"providers.acme.region: this is a setting of bedrock, and the kind is openai");
        insta::assert_snapshot!(about("kind = \"scripted\""), @r#"providers.acme.script: a scripted provider needs a script: script = "script.toml""#);
        insta::assert_snapshot!(about("kind = \"bedrock\"\naccess_key_id = \"id\""), @"providers.acme.access_key_id: access_key_id and secret_access_key only work together");
        insta::assert_snapshot!(about("base_url = \"http://127.0.0.1\""), @"line 1: missing field `kind`");
        insta::assert_snapshot!(first_problem("[[models]]\nname = \"a\"\nprovidr = \"b\"\n"), @"line 3: `models.providr` is not a setting; did you mean `provider`?");
        insta::assert_snapshot!(first_problem("[[models]]\nname = \"a\"\n"), @"line 1: missing field `provider`");
        insta::assert_snapshot!(first_problem("[models]\nname = \"a\"\n"), @"line 1: invalid type: map, expected a sequence");
    }

    #[test]
    fn a_script_is_found_beside_its_configuration() {
        let text = "[providers.s]\nkind = \"scripted\"\nscript = \"script.toml\"\n";
        let overrides = ConfigOverrides {
            data_dir: Some("/data".into()),
            ..ConfigOverrides::default()
        };
        let config = Config::read(text, Path::new("/etc/prowess"), &overrides).unwrap();
        let kind = format!("{:?}", config.gateway.providers[0].kind);
        assert!(kind.contains("/etc/prowess/script.toml"), "{kind}");
    }

    #[cfg(feature = "server")]
    #[test]
    fn a_master_key_may_be_kept_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        std::fs::write(&file, "kept-in-a-file-0123456789\n").unwrap();
        let text = format!("[server]\nmaster_key = \"file:{}\"\n", file.display());
        let key = read_config(&text)
            .unwrap()
            .server
            .settings
            .master_key
            .unwrap();
        assert!(key.matches("kept-in-a-file-0123456789"));
    }

    #[test]
    fn runs_are_configured_and_mistakes_are_reported_with_their_place() {
        let config = read_config(
            "[skills]\ndisclosure = \"auto\"\nlitellm = true\naliases = { xlsx = \"skill_1\" }\n\
             turns = 3\nwall_seconds = 60\ntokens = 1000\nsandbox_seconds = 30\nrecord = \"full\"\n\
             catalogue_tokens = 500\nauto = true\nembedding_model = \"openai/small\"\n\
             [runs]\nrerun = \"never\"\n",
        );
        let runs = config.unwrap().runs;
        let embedding = runs.embedding.unwrap();
        assert_eq!(embedding.model, "openai/small");
        assert_eq!(embedding.deadline.as_millis(), 300);
        assert!(runs.litellm && runs.auto && runs.aliases["xlsx"] == "skill_1");
        assert_eq!((runs.limits.turns, runs.limits.tokens), (3, 1000));
        assert_eq!(runs.rerun, prowess_engine::RerunPolicy::Never);
        insta::assert_snapshot!(first_problem("[skills]\ndisclosure = \"all\"\n"), @"skills.disclosure: `all` is not progressive, full or auto");
        insta::assert_snapshot!(first_problem("[skills]\naliases = { xlsx = \"xlsx\" }\n"), @"skills.aliases: `xlsx` must be the id of a stored skill: skill_…");
        insta::assert_snapshot!(first_problem("[skills]\nturns = 0\n"), @"skills.turns: must be 1 or more");
        insta::assert_snapshot!(first_problem("[skills]\nembedding_model = \" \"\n"), @"skills.embedding_model: must name a model; remove it to search by words alone");
        insta::assert_snapshot!(first_problem("[skills]\nprotected_labels = [\"latest\"]\n"), @"skills.protected_labels: label: `latest` always selects a version; choose another name");
        insta::assert_snapshot!(first_problem("[skills]\nimport = \"all\"\n"), @"skills.import: `all` is not public, private or off");
        insta::assert_snapshot!(first_problem("[skills]\nembedding_deadline_ms = 5\n"), @"skills.embedding_deadline_ms: has no effect without skills.embedding_model");
    }

    #[cfg(feature = "server")]
    #[test]
    fn a_weak_master_key_is_refused_and_not_shown() {
        let message = first_problem("[server]\nmaster_key = \"hunter2\"\n");
        assert!(!message.contains("hunter2"), "{message}");
        insta::assert_snapshot!(message, @"server.master_key: too short: use at least 16 characters, for instance from `openssl rand -hex 32`");
    }

    #[test]
    fn the_keys_of_each_section_are_those_it_reads() {
        for section in SECTIONS {
            for key in section.keys {
                let text = format!("{}\n{key} = 1.5\n", section.header("any"));
                let error = toml::from_str::<ConfigToml>(&text).map(drop).unwrap_err();
                let error = error.to_string();
                assert!(!error.contains("unknown field"), "{text}: {error}");
            }
        }
    }
}
