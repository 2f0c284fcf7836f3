//! Usual configurations of LiteLLM: imported, started, and called. Each fixture has the address
//! `UPSTREAM`, which is replaced by that of a mock.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};

use super::{TestServer, prowess, serve};

const CHAT: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#;
const MESSAGES: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}"#;
const GEMINI: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP","index":0}]}"#;
const CONVERSE: &str = r#"{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":1,"totalTokens":4}}"#;
const BROKEN: &str = r#"{"error":{"message":"It is broken.","type":"server_error"}}"#;
const TOO_LONG: &str = r#"{"error":{"message":"This model's maximum context length is 8 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#;

/// What each vendor of the fixtures answers, by its path.
fn answer(request: &ReceivedRequest) -> MockResponse {
    let vendor = request.path.split('/').nth(1).unwrap_or_default();
    match vendor {
        "anthropic" => MockResponse::json(200, MESSAGES),
        "gemini" => MockResponse::json(200, GEMINI),
        "bedrock" => MockResponse::json(200, CONVERSE),
        "broken" => MockResponse::json(500, BROKEN),
        "short" => MockResponse::json(400, TOO_LONG),
        _ => MockResponse::json(200, CHAT),
    }
}

/// Imports a fixture, checks the result, and starts a server with it.
async fn start(name: &str, folder: &Path) -> (MockUpstream, TestServer, String) {
    let upstream = MockUpstream::start().await;
    upstream.respond_with(answer);
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/litellm");
    let text = std::fs::read_to_string(fixture.join(name)).unwrap();
    let config = folder.join("config.yaml");
    std::fs::write(&config, text.replace("UPSTREAM", upstream.url())).unwrap();
    let mut import = Command::new(env!("CARGO_BIN_EXE_prowess"));
    import.env_clear().current_dir(folder);
    let output = import.args(["config", "import", "config.yaml"]).output();
    let imported = String::from_utf8(output.unwrap().stdout).unwrap();
    std::fs::write(folder.join("prowess.toml"), &imported).unwrap();
    let mut command = prowess(folder);
    command.env("HOME", folder);
    for variable in [
        "OPENAI_API_KEY",
        "AZURE_API_KEY",
        "ANTHROPIC_API_KEY",
        "AWS_ID",
        "AWS_SECRET",
        "GEMINI_API_KEY",
        "GROQ_API_KEY",
        "OPENROUTER_API_KEY",
        "LITELLM_MASTER_KEY",
    ] {
        command.env(variable, format!("the-value-of-{variable}"));
    }
    command.env("AZURE_EU_BASE", format!("{}/azure/", upstream.url()));
    command.env("AZURE_EU_VERSION", "2024-10-21");
    let imported = imported.replace(upstream.url(), "UPSTREAM");
    (upstream, serve(command), imported)
}

/// Calls a model; gives the status line.
fn call(server: &TestServer, model: &str, text: &str) -> String {
    let body =
        format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let key = "the-value-of-LITELLM_MASTER_KEY";
    let answer = server.request_with(key, "POST /v1/chat/completions", &body);
    let status = answer.lines().next().unwrap_or_default().to_owned();
    assert!(answer.contains("\"Hi\""), "{model}: {answer}");
    status
}

/// Where a request went, and with which key: the mark of a signature alone.
fn describe(request: &ReceivedRequest) -> String {
    let keys = ["authorization", "api-key", "x-api-key", "x-goog-api-key"];
    let key = keys.iter().find_map(|name| {
        let value = request.header(name)?;
        let value = value.split(" Credential=").next().unwrap_or_default();
        Some(format!("{name}: {value}"))
    });
    let body: serde_json::Value = serde_json::from_str(request.text()).unwrap();
    let model = body.get("model").and_then(|model| model.as_str());
    let model = model.unwrap_or("-");
    format!(
        "{} model={model} {}",
        request.path,
        key.unwrap_or_else(|| "no key".to_owned())
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_of_a_litellm_configuration_is_called_as_there() {
    let folder = tempfile::tempdir().unwrap();
    let (upstream, server, imported) = start("providers.yaml", folder.path()).await;
    insta::assert_snapshot!("imported_providers", imported);
    let mut calls = String::new();
    for model in [
        "gpt", "gpt-eu", "claude", "nova", "gemini", "fast", "any", "local", "wild/o5", "mine",
    ] {
        assert_eq!(call(&server, model, "Hello"), "HTTP/1.1 200 OK", "{model}");
        let received = describe(&upstream.next_request().await);
        calls.push_str(&format!("{model} -> {received}\n"));
    }
    insta::assert_snapshot!("calls_of_imported_providers", calls);
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_and_fallbacks_of_a_litellm_configuration_work_as_there() {
    let folder = tempfile::tempdir().unwrap();
    let (upstream, server, imported) = start("routing.yaml", folder.path()).await;
    insta::assert_snapshot!("imported_routing", imported);
    let path = |request: &ReceivedRequest| request.path.clone();

    // Both deployments are called, by either name of the model; one conversation stays at one.
    let mut called = BTreeSet::new();
    for attempt in 0..200 {
        let name = if attempt % 2 == 0 { "gpt" } else { "gpt-4" };
        call(&server, name, &format!("Hello {attempt}"));
        called.insert(path(&upstream.next_request().await));
        if called.len() == 2 {
            break;
        }
    }
    let both = ["/one/v1/chat/completions", "/two/v1/chat/completions"];
    assert_eq!(called, BTreeSet::from(both.map(str::to_owned)));

    for model in ["broken", "short"] {
        call(&server, model, "Hello");
        let first = path(&upstream.next_request().await);
        let second = path(&upstream.next_request().await);
        assert_eq!(first, format!("/{model}/v1/chat/completions"));
        assert_eq!(second, "/large/v1/chat/completions");
    }
}
