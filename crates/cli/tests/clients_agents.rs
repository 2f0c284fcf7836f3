//! Coding agents, unmodified, each on models of other vendors: the model calls their
//! shell, sees what the command said, and answers. They stream whatever they ask.
//!
//! They run in an empty home, with a harmless command. `cargo xtask test` installs them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod server;
mod stage;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use installed::{installed, succeeded};
use server::MASTER;
use stage::{Stage, model};

const TASK: &str = "Run the command and say what it said";
/// The agent's model says this only when it was shown what the command printed.
const ANSWER: &str = "The command said from-42.";

fn agent(name: &str, home: &Path) -> Command {
    let program = installed("agents").join("node_modules/.bin").join(name);
    let mut agent = Command::new(program);
    agent
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home)
        .current_dir(home)
        .stdin(Stdio::null());
    agent
}

fn claude(stage: &Stage, home: &Path, upstream: &str) -> Command {
    let mut claude = agent("claude", home);
    claude
        .env("ANTHROPIC_BASE_URL", stage.gateway.url())
        .env("ANTHROPIC_API_KEY", MASTER)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("DISABLE_ERROR_REPORTING", "1")
        .args(["--print", TASK, "--output-format", "json"])
        .args(["--allowedTools", "Bash", "--model", &model(upstream)]);
    claude
}

#[test]
fn claude_code_uses_its_tools_on_models_of_others() {
    let stage = Stage::start();
    for upstream in ["chat", "responses", "mock-gemini", "mock-converse"] {
        let home = tempfile::tempdir().unwrap();
        let output = succeeded(&mut claude(&stage, home.path(), upstream));
        let result: serde_json::Value = serde_json::from_str(&output).unwrap();
        assert_eq!(result["result"], ANSWER, "{upstream}: {output}");
        assert_eq!(result["num_turns"], 2, "{upstream}: {output}");
        assert_eq!(result["is_error"], false, "{upstream}: {output}");
    }
}

fn codex(stage: &Stage, home: &Path, upstream: &str) -> Command {
    let config = format!(
        "model = '{}'\nmodel_provider = 'prowess'\n[analytics]\nenabled = false\n\
         [model_providers.prowess]\nname = 'Prowess'\nwire_api = 'responses'\n\
         base_url = '{}/v1'\nenv_key = 'PROWESS_API_KEY'\n",
        model(upstream),
        stage.gateway.url()
    );
    let folder: PathBuf = home.join(".codex");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), config).unwrap();
    let mut codex = agent("codex", home);
    // Its own sandbox cannot be had everywhere, and the command is ours.
    codex
        .env("PROWESS_API_KEY", MASTER)
        .args(["exec", "--json", "--skip-git-repo-check"])
        .args(["--dangerously-bypass-approvals-and-sandbox", TASK]);
    codex
}

#[test]
fn codex_uses_its_tools_on_models_of_others() {
    let stage = Stage::start();
    for upstream in ["messages", "mock-messages", "mock-gemini", "mock-converse"] {
        let home = tempfile::tempdir().unwrap();
        let output = succeeded(&mut codex(&stage, home.path(), upstream));
        assert!(output.contains(r#""exit_code":0"#), "{upstream}: {output}");
        assert!(output.contains(ANSWER), "{upstream}: {output}");
    }
}
