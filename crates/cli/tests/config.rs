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
    let checked = prowess(&["config", "check", file.to_str().unwrap()]);
    assert!(checked.status.success(), "{}", stderr(&checked));
}

#[test]
fn a_second_entry_of_a_pattern_is_not_called_a_fallback() {
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
    insta::assert_snapshot!(stderr(&imported), @"not imported: model_list[1]: `openai/*` has several entries, and requests go to the first; this one becomes `openai/-deployment-2*`, which is not a fallback of the first");
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
        "error: models.a.input_price: a price needs both input_price and output_price; 0 is allowed\n",
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
        "error: models.a.queued: calls wait only when `concurrent` is set; set it too\n",
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
        "error: telemetry.otlp_endpoint: traces are enabled, but there is no collector: set this, or OTEL_EXPORTER_OTLP_ENDPOINT\n",
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
        (checked.status.code(), stderr(&checked))
    };
    let (code, message) = check(&format!(
        "aws_region = \"eu-central-1\"\naws_access_key_id = \"env:TOKEN\"\n\
         aws_secret_access_key = \"file:{}\"\n",
        secret.display()
    ));
    assert_eq!(code, Some(0), "{message}");

    let (code, message) = check("aws_secret_access_key = \"env:NOT_SET\"\n");
    assert_eq!(code, Some(1));
    insta::assert_snapshot!(message, @"error: blobs.options: the environment has no variable `NOT_SET`, or it is not text");

    let (code, message) = check("aws_secret = \"a\"\n");
    assert_eq!(code, Some(1));
    let start = "error: blobs.options: `aws_secret` is not an option; available: aws_access_key_id, \
                 aws_secret_access_key, ";
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn the_schema_in_the_docs_is_that_of_the_configuration() {
    let schema = stdout(&prowess(&["config", "schema"]));
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/prowess.schema.json");
    let kept = std::fs::read_to_string(docs).unwrap_or_default();
    assert!(
        kept == schema,
        "run `prowess config schema > docs/prowess.schema.json`"
    );
}
