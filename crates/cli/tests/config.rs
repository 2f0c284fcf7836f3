//! `prowess config`: the real binary.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::process::{Command, Output};

fn prowess(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
    command.env_clear().env("HOME", "/nonexistent");
    // Headers are looked up at once; the fixture has one of this name.
    command.env("TOKEN", "t").args(args);
    command.output().unwrap()
}

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    folder.join(name).to_str().unwrap().to_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_litellm_configuration_becomes_one_that_is_accepted_and_nothing_is_lost_silently() {
    let imported = prowess(&["config", "import", &fixture("litellm.yaml")]);
    assert_eq!(imported.status.code(), Some(1), "some of it is left out");
    insta::assert_snapshot!("imported", stdout(&imported));
    insta::assert_snapshot!("left_out", stderr(&imported));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prowess.toml");
    // The master key of the file comes from a variable that is not set here.
    let text = stdout(&imported).replace("env:LITELLM_MASTER_KEY", "a-key-that-is-long-enough");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    for args in [
        &["config", "check", file][..],
        &["config", "check", "--config", file],
    ] {
        let checked = prowess(args);
        assert!(checked.status.success(), "{}", stderr(&checked));
    }
}

const IN_MANY_PLACES: &str = r#"
model_list:
  - model_name: gpt
    litellm_params:
      model: azure/o_series/o3-eu
      api_base: os.environ/ACME_BASE
      api_key: os.environ/ACME_KEY
      api_version: os.environ/ACME_VERSION
      num_retries: 1
    rpm: 10
    model_info: {tpm: 5000, base_model: azure/gpt-4o}
  - model_name: claude
    litellm_params:
      model: bedrock/us-east-1/anthropic.claude-x
      aws_region_name: os.environ/ACME_REGION
  - model_name: embed
    litellm_params: {model: text-embedding-3-small}
  - model_name: answer
    litellm_params: {model: openai/responses/gpt-5.1}
  - model_name: kimi
    litellm_params: {model: moonshot/kimi-k2}
  - model_name: "a*b"
    litellm_params: {model: openai/x}
  - model_name: "*"
    litellm_params: {model: "*"}
"#;

#[test]
fn settings_of_litellm_are_imported_from_variables_and_from_wherever_it_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, IN_MANY_PLACES).unwrap();
    let imported = stdout(&prowess(&["config", "import", file.to_str().unwrap()]));
    insta::assert_snapshot!(imported, @r#"
    # Imported from a LiteLLM configuration.
    #
    # Not imported:
    # model_list[5]: a * is only allowed at the end of a name
    # model_list[6]: PROVIDER/MODEL needs no entry where the usual key variable of the provider is set

    [providers.azure]
    kind = "azure"
    base_url = "env:ACME_BASE"
    api_key = "env:ACME_KEY"
    api_version = "env:ACME_VERSION"
    attempts = 2

    [providers.bedrock]
    kind = "bedrock"
    region = "env:ACME_REGION"

    [providers.moonshot]
    kind = "openai"
    base_url = "https://api.moonshot.ai/v1"
    api_key = "env:MOONSHOT_API_KEY"

    [[models]]
    name = "gpt"
    provider = "azure"
    model = "o3-eu"
    base_model = "azure/gpt-4o"
    requests_per_minute = 10
    tokens_per_minute = 5000

    [[models]]
    name = "claude"
    provider = "bedrock"
    model = "anthropic.claude-x"

    [[models]]
    name = "embed"
    provider = "openai"
    model = "text-embedding-3-small"

    [[models]]
    name = "answer"
    provider = "openai"
    model = "gpt-5.1"

    [[models]]
    name = "kimi"
    provider = "moonshot"
    model = "kimi-k2"
    "#);

    let file = folder.path().join("prowess.toml");
    std::fs::write(&file, imported).unwrap();
    let check = |base: &str| {
        Command::new(env!("CARGO_BIN_EXE_prowess"))
            .args(["config", "check", file.to_str().unwrap()])
            .env_clear()
            .env("HOME", "/nonexistent")
            .env("ACME_BASE", base)
            .env("ACME_VERSION", "2025-03-01-preview")
            .env("ACME_REGION", "eu-west-1")
            .output()
            .unwrap()
    };
    let checked = check("https://acme.openai.azure.com");
    assert!(checked.status.success(), "{}", stderr(&checked));
    let unset = stderr(&check(""));
    let reason = "base_url: the environment has no variable `ACME_BASE`, or it is not text";
    assert!(unset.contains(reason), "{unset}");
    let secret = stderr(&check("sk-secret"));
    let reason = "base_url: `env:ACME_BASE` must begin with http:// or https://";
    assert!(
        secret.contains(reason) && !secret.contains("sk-secret"),
        "{secret}"
    );
}

#[test]
fn two_entries_of_a_pattern_become_two_deployments() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let entry = |key: &str| {
        format!(
            "  - model_name: \"openai/*\"\n    litellm_params:\n      model: \"openai/*\"\n      \
             api_key: os.environ/{key}\n"
        )
    };
    let text = format!("model_list:\n{}{}", entry("FIRST"), entry("SECOND"));
    std::fs::write(&file, text).unwrap();
    let imported = prowess(&["config", "import", file.to_str().unwrap()]);
    assert_eq!(
        (imported.status.code(), stderr(&imported).as_str()),
        (Some(0), "")
    );
    insta::assert_snapshot!("two_of_a_pattern", stdout(&imported));
}

#[test]
fn what_is_no_configuration_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, "model_list:\n  - [\n").unwrap();
    let refused = prowess(&["config", "import", file.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("line 2"), "{}", stderr(&refused));
    let missing = prowess(&["config", "import", "/nonexistent/config.yaml"]);
    assert_eq!(missing.status.code(), Some(3));
}

#[test]
fn a_tilde_in_a_configuration_means_the_home_folder() {
    let home = tempfile::tempdir().unwrap();
    let config = "[server]\ndata_dir = \"~/data\"\nmaster_key = \"file:~/key\"\n\
                  [providers.s]\nkind = \"scripted\"\nscript = \"~/script.toml\"\n\
                  [providers.o]\nkind = \"openai\"\napi_key = \"file:~/key\"\n";
    let key = "a-key-that-is-long-enough";
    let script = "[[step]]\ntext = \"Hello.\"\n";
    for (name, text) in [
        ("prowess.toml", config),
        ("key", key),
        ("script.toml", script),
    ] {
        std::fs::write(home.path().join(name), text).unwrap();
    }
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
        command
            .env_clear()
            .env("HOME", home.path())
            .current_dir("/");
        command.args(args).output().unwrap()
    };
    let checked = run(&["config", "check", "~/prowess.toml"]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    assert!(!stderr(&checked).contains("key"), "{}", stderr(&checked));
    let keys = run(&["keys", "list", "--config", "~/prowess.toml"]);
    assert!(keys.status.success(), "{}", stderr(&keys));
    assert!(home.path().join("data").is_dir());
    let keys = run(&["keys", "list", "--data-dir", "~/other"]);
    assert!(keys.status.success(), "{}", stderr(&keys));
    assert!(home.path().join("other").is_dir());

    for wrong in [
        "[server]\ndata_dir = \"~bob/data\"\n",
        "[providers.o]\nkind = \"openai\"\napi_key = \"file:~bob/key\"\n",
    ] {
        std::fs::write(home.path().join("prowess.toml"), wrong).unwrap();
        let refused = run(&["config", "check", "~/prowess.toml"]);
        assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
        let message = stderr(&refused);
        assert!(message.contains("home folders of other users"), "{message}");
    }
}

#[test]
fn a_configuration_is_checked_without_being_served() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prowess.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let checked = prowess(&["config", "check", file.to_str().unwrap()]);
        let message = stderr(&checked).replace(folder.path().to_str().unwrap(), "");
        (checked.status.code(), message)
    };
    let good = "[[models]]\nname = \"a\"\nprovider = \"ollama\"\n";
    insta::assert_debug_snapshot!(check(good), @r#"
    (
        Some(
            0,
        ),
        "/prowess.toml: no errors found; 1 model name\n",
    )
    "#);
    let unknown = "[[models]]\nname = \"a\"\nprovider = \"nobody\"\n";
    insta::assert_debug_snapshot!(check(unknown), @r#"
    (
        Some(
            1,
        ),
        "error: models.a.provider: unknown provider \"nobody\"; no provider is configured and no key is set\n",
    )
    "#);
    let half = format!("{good}input_price = 1.0\n");
    insta::assert_debug_snapshot!(check(&half), @r#"
    (
        Some(
            1,
        ),
        "error: /prowess.toml: line 4: models.a.input_price: a price needs both input_price and output_price; 0 is allowed\n",
    )
    "#);
    let negative = format!("{good}input_price = -1.0\noutput_price = 1.0\n");
    insta::assert_debug_snapshot!(check(&negative), @r#"
    (
        Some(
            1,
        ),
        "error: models.a: -1 is not a valid price; use a number of at least 0, per million tokens\n",
    )
    "#);
    let queued = format!("{good}queued = 3\n");
    insta::assert_debug_snapshot!(check(&queued), @r#"
    (
        Some(
            1,
        ),
        "error: /prowess.toml: line 4: models.a.queued: calls wait only when `concurrent` is set; set it too\n",
    )
    "#);
    let unknown = format!("{good}[skills]\nembedding_model = \"nobody/small\"\n");
    let (code, message) = check(&unknown);
    assert_eq!(code, Some(1));
    assert!(
        message.starts_with("error: skills.embedding_model: "),
        "{message}"
    );
    insta::assert_debug_snapshot!(check("[telemetry]\nenabled = true\n"), @r#"
    (
        Some(
            1,
        ),
        "error: /prowess.toml: line 1: telemetry.otlp_endpoint: traces are enabled, but there is no collector: set this, or OTEL_EXPORTER_OTLP_ENDPOINT\n",
    )
    "#);
    insta::assert_debug_snapshot!(check("[telemetry]\notlp_endpont = \"x\"\n"), @r#"
    (
        Some(
            1,
        ),
        "error: /prowess.toml: line 2: `telemetry.otlp_endpont` is not a setting; did you mean `otlp_endpoint`?\n",
    )
    "#);
}

#[test]
fn options_of_the_object_store_are_read_from_the_environment_and_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "from-a-file\n").unwrap();
    let file = folder.path().join("prowess.toml");
    let check = |options: &str| {
        let text = format!("[blobs]\nurl = \"s3://bucket\"\n[blobs.options]\n{options}");
        std::fs::write(&file, text).unwrap();
        let checked = prowess(&["config", "check", file.to_str().unwrap()]);
        let message = stderr(&checked).replace(folder.path().to_str().unwrap(), "");
        (checked.status.code(), message)
    };
    let (code, message) = check(&format!(
        "aws_region = \"eu-central-1\"\naws_access_key_id = \"env:TOKEN\"\n\
         aws_secret_access_key = \"file:{}\"\n",
        secret.display()
    ));
    assert_eq!(code, Some(0), "{message}");

    let (code, message) = check("aws_secret_access_key = \"env:NOT_SET\"\n");
    assert_eq!(code, Some(1));
    insta::assert_snapshot!(message, @"error: /prowess.toml: line 3: blobs.options: the environment has no variable `NOT_SET`, or it is not text");

    let (code, message) = check("aws_secret = \"a\"\n");
    assert_eq!(code, Some(1));
    let start = "error: /prowess.toml: line 3: blobs.options: `aws_secret` is not an option; \
                 available: aws_access_key_id, aws_secret_access_key, ";
    assert!(message.starts_with(start), "{message}");
}

/// Two providers, one with a key that must not be shown.
const EXPLAINED: &str = "\
[providers.eu]
kind = \"openai\"
base_url = \"http://127.0.0.1:9/v1\"
api_key = \"env:TOKEN\"

[providers.us]
kind = \"anthropic\"
base_url = \"http://127.0.0.1:9\"
api_key = \"a-key-in-the-file\"

[[models]]
name = \"small\"
provider = \"eu\"
model = \"m-1\"
concurrent = 8
input_price = 0.5
output_price = 1.5
fallbacks = [\"us/claude-x\"]
";

#[test]
fn a_check_explains_what_a_request_to_a_model_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prowess.toml");
    std::fs::write(&file, EXPLAINED).unwrap();
    let check = |args: &[&str]| {
        let file = file.to_str().unwrap();
        prowess(&[&["config", "check", file], args].concat())
    };
    let explained = check(&["--model", "small"]);
    assert!(explained.status.success(), "{}", stderr(&explained));
    insta::assert_snapshot!("explained", stdout(&explained));

    let json = stdout(&check(&["--model", "small", "--json"]));
    assert!(!json.contains("a-key-in-the-file"), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["errors"], serde_json::json!([]));
    let deployment = &json["model"]["deployments"][0];
    assert_eq!(deployment["provider"], "eu");
    assert_eq!(deployment["limits"]["concurrent"], 8);
    assert_eq!(deployment["price_source"], "configured");
    let dialects = deployment["dialects"].as_array().unwrap().iter();
    let passed = dialects.filter(|dialect| dialect["way"] == "pass-through");
    let passed: Vec<_> = passed.map(|dialect| dialect["client"].as_str()).collect();
    assert_eq!(passed, [Some("chat")]);
    let fallbacks = serde_json::json!(["us/claude-x"]);
    assert_eq!(json["model"]["fallbacks"]["errors"], fallbacks);
    let keys = serde_json::json!({"eu": "variable TOKEN", "us": "in the configuration file"});
    assert_eq!(json["model"]["api_keys"], keys);

    let unknown = check(&["--model", "smal", "--json"]);
    assert_eq!(unknown.status.code(), Some(1));
    let unknown: serde_json::Value = serde_json::from_str(&stdout(&unknown)).unwrap();
    assert_eq!(unknown["errors"][0]["code"], "model-not-found");
}

#[test]
fn mistakes_are_reported_as_json_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prowess.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let checked = prowess(&["config", "check", file.to_str().unwrap(), "--json"]);
        let report: serde_json::Value = serde_json::from_str(&stdout(&checked)).unwrap();
        let errors = report["errors"].as_array().unwrap().iter();
        let errors = errors.map(|error| (error["line"].as_u64(), error["code"].to_string()));
        (checked.status.code(), errors.collect::<Vec<_>>())
    };
    let error = |line: u64, code: &str| (Some(line), format!("\"{code}\""));
    assert_eq!(
        check("[server]\nidle_timeout = \"5m\"\n"),
        (Some(0), vec![])
    );
    let unknown = "[server]\nlissen = 1\nidle_timeout = 1\nidle_seconds = 1\n";
    let expected = vec![error(2, "config-unknown-key"), error(4, "config-set-twice")];
    assert_eq!(check(unknown), (Some(1), expected));
    let invalid = "[skills]\nturns = 0\n\n[runs]\nmax_open = 0\n";
    let expected = vec![error(2, "config-invalid"), error(5, "config-invalid")];
    assert_eq!(check(invalid), (Some(1), expected));
    let cluster = "[cluster]\nnats = \"nats://127.0.0.1\"\npasswort = \"x\"\n";
    let expected = vec![error(3, "config-unknown-key")];
    assert_eq!(check(cluster), (Some(1), expected));
    let without_store = "[cluster]\nnats = \"nats://127.0.0.1\"\n";
    let expected = vec![error(2, "config-invalid")];
    assert_eq!(check(without_store), (Some(1), expected));
    let wrong = check("[server]\nidle_timeout = \"soon\"\n");
    assert_eq!(wrong, (Some(1), vec![error(2, "config-syntax")]));
}

#[test]
fn every_wrong_entry_and_every_unset_key_is_reported_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prowess.toml");
    let check = |models: &str, args: &[&str]| {
        let providers = "[providers.house]\nkind = \"openai\"\n\
                         base_url = \"http://127.0.0.1:9/v1\"\napi_key = \"env:NOT_SET_HERE\"\n\
                         [providers.annex]\nkind = \"anthropic\"\napi_key = \"env:NOR_THIS\"\n";
        std::fs::write(&file, format!("{providers}{models}")).unwrap();
        let file = file.to_str().unwrap();
        prowess(&[&["config", "check", file], args].concat())
    };
    // They may be set where the server runs, so this is no error.
    let unset = [
        "providers.annex.api_key: the variable NOR_THIS is not set",
        "providers.house.api_key: the variable NOT_SET_HERE is not set",
    ];
    let good = "[[models]]\nname = \"a\"\nprovider = \"house\"\n";
    let checked = check(good, &[]);
    assert_eq!(checked.status.code(), Some(0));
    let printed = stderr(&checked);
    let mut lines: Vec<&str> = printed.lines().collect();
    let last = lines.pop().unwrap();
    assert!(last.ends_with(": no errors found; 1 model name"), "{last}");
    lines.sort_unstable();
    assert_eq!(lines, unset);
    let report: serde_json::Value =
        serde_json::from_str(&stdout(&check(good, &["--json"]))).unwrap();
    let remarks = report["remarks"].as_array().unwrap().iter();
    let mut remarks: Vec<&str> = remarks.filter_map(|remark| remark.as_str()).collect();
    remarks.sort_unstable();
    assert_eq!(remarks, unset);

    let wrong = "[[models]]\nname = \"a\"\nprovider = \"nobody\"\n\
                 [[models]]\nname = \"b\"\nprovider = \"house\"\n\
                 input_price = -1.0\noutput_price = 1.0\n\
                 [[models]]\nname = \"c\"\nprovider = \"no-one\"\n";
    let checked = check(wrong, &[]);
    assert_eq!(checked.status.code(), Some(1));
    let printed = stderr(&checked);
    let errors: Vec<&str> = printed.lines().collect();
    let expected = [
        "error: models.a.provider: unknown provider \"nobody\"",
        "error: models.b: -1 is not a valid price",
        "error: models.c.provider: unknown provider \"no-one\"",
    ];
    assert_eq!(errors.len(), expected.len(), "{printed}");
    for (error, expected) in errors.iter().zip(expected) {
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn the_schema_and_the_page_in_the_docs_are_those_of_the_configuration() {
    for (command, file) in [
        ("schema", "prowess.schema.json"),
        ("docs", "configuration.md"),
    ] {
        let printed = stdout(&prowess(&["config", command]));
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let kept = std::fs::read_to_string(docs.join(file)).unwrap_or_default();
        assert!(
            kept == printed,
            "run `prowess config {command} > docs/{file}`"
        );
    }
}
