//! `prowess mcp` and `/mcp` in the hands of others: the protocol's own conformance suite,
//! its inspector and its Python SDK, and Claude Code. `cargo xtask test` installs them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use installed::{installed, material, python, succeeded};
use serde_json::{Value, json};
use server::{MASTER, TestServer, prowess};

const PROWESS: &str = env!("CARGO_BIN_EXE_prowess");

fn skills() -> PathBuf {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills");
    examples.canonicalize().unwrap()
}

/// A server with the example skills stored.
fn start_with_skills(variables: &[(&str, &str)]) -> TestServer {
    let server = TestServer::start(variables);
    for skill in ["bouncing-ball", "csv-summary"] {
        let mut push = prowess(server.folder());
        push.args(["skill", "push", "--server", server.url()])
            .arg(skills().join(skill))
            .env("PROWESS_API_KEY", MASTER);
        succeeded(&mut push);
    }
    server
}

/// A program of the JavaScript packages, with the Node they need.
fn node(program: &str) -> Command {
    let programs = installed("mcp-node").join("node_modules/.bin");
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(programs.join(program));
    command
        .env("PATH", format!("{}:{path}", programs.display()))
        .stdin(Stdio::null());
    command
}

/// The scenarios for what we offer. The others want tools, resources or prompts of certain
/// names, or abilities that we do not claim: logging, sampling, elicitation, tasks,
/// subscriptions to single resources.
const SCENARIOS: [(&str, &str); 24] = [
    ("2025-11-25", "server-initialize"),
    ("2025-11-25", "server-session-lifecycle"),
    ("2025-11-25", "ping"),
    ("2025-11-25", "completion-complete"),
    ("2025-11-25", "tools-list"),
    ("2025-11-25", "tools-call-error"),
    ("2025-11-25", "server-sse-multiple-streams"),
    ("2025-11-25", "resources-list"),
    ("2025-11-25", "prompts-list"),
    ("2025-11-25", "dns-rebinding-protection"),
    ("2026-07-28", "completion-complete"),
    ("2026-07-28", "tools-list"),
    ("2026-07-28", "tools-call-error"),
    ("2026-07-28", "server-sse-multiple-streams"),
    ("2026-07-28", "resources-list"),
    ("2026-07-28", "sep-2164-resource-not-found"),
    ("2026-07-28", "prompts-list"),
    ("2026-07-28", "dns-rebinding-protection"),
    ("2026-07-28", "caching"),
    ("2026-07-28", "http-header-validation"),
    ("2026-07-28", "input-required-result-unsupported-methods"),
    ("2026-07-28", "sep-2640-skills-enumeration"),
    ("2026-07-28", "sep-2640-skills-manifest"),
    ("2026-07-28", "sep-2640-skills-directory"),
];

/// The suite cannot send a key, so this server has none.
fn open_server() -> TestServer {
    start_with_skills(&[("PROWESS_MASTER_KEY", "")])
}

fn conformance(server: &TestServer, version: &str, scenario: &str) -> Command {
    let mut command = node("conformance");
    command
        .args(["server", "--url", &format!("{}/mcp", server.url())])
        .args(["--scenario", scenario])
        .current_dir(server.folder());
    // Those of an extension have no version of their own.
    if !scenario.starts_with("sep-2640") {
        command.args(["--spec-version", version]);
    }
    command
}

#[test]
fn the_conformance_suite_is_passed() {
    let server = open_server();
    for (version, scenario) in SCENARIOS {
        let output = succeeded(&mut conformance(&server, version, scenario));
        assert!(
            output.contains("0 failed"),
            "{version} {scenario}: {output}"
        );
        assert!(
            !output.contains("Passed: 0/0"),
            "{version} {scenario}: {output}"
        );
    }
}

#[test]
fn the_suites_checks_of_servers_without_sessions_are_passed_but_those_of_its_own_tools() {
    let server = open_server();
    let results = tempfile::tempdir().unwrap();
    let mut command = conformance(&server, "2026-07-28", "server-stateless");
    command.arg("--output-dir").arg(results.path());
    command.output().unwrap();
    let mut checks = Vec::new();
    for folder in std::fs::read_dir(results.path()).unwrap().flatten() {
        let file = std::fs::read(folder.path().join("checks.json")).unwrap();
        checks.extend(serde_json::from_slice::<Vec<Value>>(&file).unwrap());
    }
    assert!(checks.len() > 25, "{checks:?}");
    let failed = checks.iter().filter(|check| check["status"] == "FAILURE");
    let failed: Vec<&str> = failed.map(|check| check["id"].as_str().unwrap()).collect();
    // Both call a tool that wants to sample.
    let expected = [
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
    ];
    assert_eq!(failed, expected);
}

fn inspector(home: &Path, target: &[&str]) -> Command {
    let mut command = node("mcp-inspector");
    command
        .args(["--cli"])
        .args(target)
        .env("HOME", home)
        .env("PROWESS_DATA_DIR", home.join("data"))
        .current_dir(home);
    command
}

#[test]
fn the_inspector_lists_and_calls_tools_and_verifies_skills() {
    let server = start_with_skills(&[]);
    let home = tempfile::tempdir().unwrap();
    let (url, folder) = (format!("{}/mcp", server.url()), skills());
    let key = format!("Authorization: Bearer {MASTER}");
    let http = [url.as_str(), "--transport", "http", "--header", &key];
    let stdio = [PROWESS, "mcp", folder.to_str().unwrap()];
    for (target, era) in [(&stdio[..], "legacy"), (&http, "legacy"), (&http, "modern")] {
        let ask = |args: &[&str]| {
            let mut command = inspector(home.path(), target);
            command.args(args).args(["--protocol-era", era]);
            succeeded(&mut command)
        };
        let tools = ask(&["--method", "tools/list", "--strict"]);
        assert!(tools.contains("\"load_skill\""), "{tools}");
        let call = ["--method", "tools/call", "--tool-name", "load_skill"];
        let output = ask(&[&call[..], &["--tool-arg", "name=csv-summary"]].concat());
        assert!(output.contains("csv_summary__summarise"), "{output}");
        let verified = ask(&["--method", "skills/list", "--verify", "--require-digests"]);
        assert_eq!(
            verified.matches("\"outcome\":\"verified\"").count(),
            2,
            "{verified}"
        );
        let read = ask(&[
            "--method",
            "resources/read",
            "--uri",
            "skill://csv-summary/SKILL.md",
        ]);
        assert!(read.contains("# CSV summary"), "{read}");
    }
}

#[test]
fn the_python_sdk_uses_skills_in_both_eras_of_the_protocol() {
    let home = tempfile::tempdir().unwrap();
    let mut stdio = python("mcp", "mcp_agent.py");
    stdio
        .args([PROWESS, "mcp", skills().to_str().unwrap()])
        .env("PROWESS_DATA_DIR", home.path().join("data"));
    let output = succeeded(&mut stdio);
    assert_snapshot!(output);
    let server = start_with_skills(&[]);
    let mut http = python("mcp", "mcp_agent.py");
    http.env("PROWESS_MCP_URL", format!("{}/mcp", server.url()))
        .env("PROWESS_API_KEY", MASTER);
    assert_eq!(succeeded(&mut http), output, "the same over HTTP");
}

#[test]
fn a_framework_that_reads_only_the_older_index_finds_skills_and_their_files() {
    let home = tempfile::tempdir().unwrap();
    let mut program = python("agent-framework", "mcp_index.py");
    program
        .args([PROWESS, "mcp", skills().to_str().unwrap()])
        .env("PROWESS_DATA_DIR", home.path().join("data"));
    let output = succeeded(&mut program);
    let names: Vec<&str> = output
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(
        names,
        ["bouncing-ball", "script", "csv-summary"],
        "{output}"
    );
    let script = std::fs::read_to_string(skills().join("bouncing-ball/scripts/make_gif.py"));
    let size = format!("script {} characters", script.unwrap().chars().count());
    assert!(output.contains(&size), "{output}");
}

#[test]
fn claude_code_loads_a_skill_and_calls_the_tool_that_appears() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("prowess.toml");
    let script = material("mcp").join("script.toml");
    let script = format!("kind = 'scripted'\nscript = '{}'", script.display());
    let text = format!("[providers.stage]\n{script}\n[[models]]\nname = '*'\nprovider = 'stage'\n");
    std::fs::write(&config, text).unwrap();
    let server = start_with_skills(&[("PROWESS_CONFIG", config.to_str().unwrap())]);
    let stdio = json!({"command": PROWESS, "args": ["mcp", skills()],
                       "env": {"PROWESS_DATA_DIR": folder.path().join("data")}});
    let http = json!({"type": "http", "url": format!("{}/mcp", server.url()),
                      "headers": {"Authorization": format!("Bearer {MASTER}")}});
    for way in [stdio, http] {
        let home = tempfile::tempdir().unwrap();
        let output = succeeded(&mut claude(&server, home.path(), &way));
        let result: Value = serde_json::from_str(&output).unwrap();
        let text = result["result"].as_str().unwrap();
        assert!(text.starts_with("There it is:"), "{output}");
        assert!(text.contains("/mnt/data/ball.gif (image/gif"), "{output}");
        assert_eq!(result["is_error"], false, "{output}");
    }
}

fn claude(server: &TestServer, home: &Path, way: &Value) -> Command {
    let program = installed("agents").join("node_modules/.bin/claude");
    let mut claude = Command::new(program);
    claude
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home)
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_API_KEY", MASTER)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("DISABLE_ERROR_REPORTING", "1")
        // The scripted model calls tools that it is shown, and searches for none.
        .env("ENABLE_TOOL_SEARCH", "false")
        .current_dir(home)
        .stdin(Stdio::null())
        .args([
            "--print",
            "Make me a bouncing ball",
            "--output-format",
            "json",
        ])
        .args([
            "--mcp-config",
            &json!({"mcpServers": {"skills": way}}).to_string(),
        ])
        .args([
            "--strict-mcp-config",
            "--allowedTools",
            "mcp__skills",
            "--model",
            "hero",
        ]);
    claude
}
