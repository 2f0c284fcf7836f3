//! What a file may have, what becomes of it, and what is said about mistakes.

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
    let values = "[server]\nlisten = \"nowhere\"\n[providers.a]\nkind = \"open-ai\"\n\
                  [providers.b]\nkind = \"antropic\"\n[[models]]\nname = \"c\"\n\
                  [[models]]\nname = \"d\"\nprovider = \"openai\"\nqueued = 3\n";
    let refused = all_problems(values);
    let settings = refused.iter().map(|problem| problem.split(": ").nth(1));
    let expected = [
        "server.listen",
        "providers.a.kind",
        "providers.b.kind",
        "models.c.provider",
        "models.d.queued",
    ];
    assert_eq!(settings.flatten().collect::<Vec<_>>(), expected);
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
    insta::assert_snapshot!(first_problem("[store]\nquux = 1\n"), @"line 2: `store.quux` is not a setting; available: url, tenant_size, tenant_files, tenant_skills, tenant_versions, tenant_keys, tenant_changes, disk_reserve, accept_empty");
}

#[cfg(feature = "server")]
#[test]
fn wrong_values_are_refused_with_their_place() {
    insta::assert_snapshot!(first_problem("[server]\nlisten = 4141\n"), @"line 2: server.listen: must be text in quotes, not integer `4141`");
    insta::assert_snapshot!(first_problem("[server]\nlisten = \"nowhere\"\n"), @"line 2: server.listen: `nowhere` is not an address and port, for instance 127.0.0.1:4141");
    insta::assert_snapshot!(first_problem("[server\n"), @"line 1: unclosed table, expected `]`");
}

#[cfg(feature = "server")]
#[test]
fn an_open_server_stays_on_loopback() {
    insta::assert_snapshot!(first_problem("[server]\nlisten = \"0.0.0.0:4141\"\n"), @"line 2: server.listen: 0.0.0.0:4141 can be reached from other machines, and there is no master key: set PROWESS_MASTER_KEY or server.master_key, or listen on 127.0.0.1");
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
    // The kinds are those of the provider crate.
    let message = about("kind = \"open-ai\"");
    let start = "line 2: providers.acme.kind: `open-ai` is not one of anthropic, azure, ";
    assert!(message.starts_with(start), "{message}");
    insta::assert_snapshot!(about("kind = \"openai\"\nregion = \"eu\""), @"line 3: providers.acme.region: this is a setting of bedrock, and the kind is openai");
    insta::assert_snapshot!(about("kind = \"scripted\""), @r#"line 1: providers.acme.script: a scripted provider needs a script: script = "script.toml""#);
    insta::assert_snapshot!(about("kind = \"bedrock\"\naccess_key_id = \"id\""), @"line 3: providers.acme.access_key_id: access_key_id and secret_access_key only work together");
    insta::assert_snapshot!(about("base_url = \"http://127.0.0.1\""), @"line 1: providers.acme: missing field `kind`");
    insta::assert_snapshot!(first_problem("[[models]]\nname = \"a\"\nprovidr = \"b\"\n"), @"line 3: `models.providr` is not a setting; did you mean `provider`?");
    insta::assert_snapshot!(first_problem("[[models]]\nname = \"a\"\n"), @"line 2: models.a.provider: it is missing; name a provider, or set deployments");
    insta::assert_snapshot!(first_problem("[models]\nname = \"a\"\n"), @"line 1: models: must be a list in brackets, not map");
}

/// A model on Azure or on a server of the house, as line 9 and later say.
fn with_base_model(rest: &str) -> String {
    format!(
        "[providers.azure]\nkind = \"azure\"\nbase_url = \"https://acme.openai.azure.com\"\n\
         [providers.house]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
         [[models]]\nname = \"chat\"\n{rest}\n"
    )
}

#[test]
fn a_base_model_is_one_of_the_same_kind_of_provider_or_of_the_one_that_is_named() {
    let config = read_config(&with_base_model(
        "base_model = \"gpt-5.1\"\n\
         [[models.deployments]]\nprovider = \"azure\"\nmodel = \"prod-chat\"\n\
         [[models.deployments]]\nprovider = \"house\"\n\
         [[models.deployments]]\nprovider = \"azure\"\nbase_model = \"openai/gpt-5.4\"\n\
         [[models]]\nname = \"other\"\nprovider = \"anthropic\"\n\
         base_model = \"claude-opus-4-5\"\n",
    ));
    let models = config.unwrap().gateway.models;
    let deployments = models.iter().flat_map(|model| &model.deployments);
    let all = deployments.map(|one| &one.base_model);
    let known = all.chain([&models[1].base_model]).map(|base| {
        let known = base.as_ref().unwrap().known();
        format!("{}/{}", known.provider, known.model)
    });
    let known: Vec<_> = known.collect();
    assert_eq!(
        known,
        [
            "azure/gpt-5.1",
            "openai/gpt-5.1",
            "openai/gpt-5.4",
            "anthropic/claude-opus-4-5"
        ]
    );
}

#[test]
fn a_base_model_that_is_not_known_is_reported_with_the_nearest_ones() {
    let about = |rest: &str| first_problem(&with_base_model(rest));
    insta::assert_snapshot!(about("provider = \"azure\"\nbase_model = \"gtp-5.1\""), @"line 10: models.chat.base_model: `gtp-5.1` is not a known model; did you mean `gpt-5.1` or `openai/gpt-5.1`?");
    insta::assert_snapshot!(about("provider = \"house\"\nbase_model = \"prod-chat-of-acme\""), @"line 10: models.chat.base_model: `prod-chat-of-acme` is not a known model; use MODEL or PROVIDER/MODEL as `prowess models` shows it");
    let own = "[[models.deployments]]\nprovider = \"azure\"\n";
    insta::assert_snapshot!(about(&format!("{own}{own}base_model = \"gtp-5.1\"")), @"line 13: models.chat.deployments.2.base_model: `gtp-5.1` is not a known model; did you mean `gpt-5.1` or `openai/gpt-5.1`?");
    insta::assert_snapshot!(about(&format!("base_model = \"gtp-5.1\"\n{own}")), @"line 9: models.chat.base_model: `gtp-5.1` is not a known model; did you mean `gpt-5.1` or `openai/gpt-5.1`?");
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
    insta::assert_snapshot!(first_problem("[skills]\ndisclosure = \"all\"\n"), @"line 2: skills.disclosure: `all` is not one of progressive, full, auto");
    insta::assert_snapshot!(first_problem("[skills]\naliases = { xlsx = \"xlsx\" }\n"), @"line 2: skills.aliases: `xlsx` must be the id of a stored skill: skill_…");
    insta::assert_snapshot!(first_problem("[skills]\nturns = 0\n"), @"line 2: skills.turns: must be 1 or more");
    insta::assert_snapshot!(first_problem("[skills]\nembedding_model = \" \"\n"), @"line 2: skills.embedding_model: must name a model; remove it to search by words alone");
    insta::assert_snapshot!(first_problem("[skills]\nprotected_labels = [\"latest\"]\n"), @"line 2: skills.protected_labels: label: `latest` always selects a version; choose another name");
    insta::assert_snapshot!(first_problem("[skills]\nimport = \"all\"\n"), @"line 2: skills.import: `all` is not one of public, private, off");
    insta::assert_snapshot!(first_problem("[skills]\nembedding_deadline_ms = 5\n"), @"line 2: skills.embedding_deadline: has no effect without skills.embedding_model");
}

#[cfg(feature = "server")]
#[test]
fn a_weak_master_key_is_refused_and_not_shown() {
    let message = first_problem("[server]\nmaster_key = \"hunter2\"\n");
    assert!(!message.contains("hunter2"), "{message}");
    insta::assert_snapshot!(message, @"line 2: server.master_key: too short: use at least 16 characters, for instance from `openssl rand -hex 32`");
}
