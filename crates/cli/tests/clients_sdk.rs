//! The vendors' own clients, and others', each on models of other vendors: a
//! conversation with a tool that is called twice, whole and streamed.
//!
//! The programs in `tests/sdk/` check what they are told; `cargo xtask test` installs
//! the clients.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod server;
mod stage;

use installed::{installed, node, python, scripts, succeeded};
use prowess_testkit::bytecode::keep_bytecode;
use server::MASTER;
use stage::{Stage, model};
use std::process::Command;

/// Upstreams that do not speak what Anthropic's clients speak.
const NOT_ANTHROPIC: [&str; 7] = [
    "chat",
    "responses",
    "mock-chat",
    "mock-responses",
    "mock-gemini",
    "mock-converse",
    "mock-invoke",
];

/// Upstreams that do not speak what OpenAI's clients speak.
const NOT_OPENAI: [&str; 5] = [
    "messages",
    "mock-messages",
    "mock-gemini",
    "mock-converse",
    "mock-invoke",
];

/// Upstreams that do not speak what Google's clients speak.
const NOT_GOOGLE: [&str; 5] = [
    "messages",
    "chat",
    "mock-chat",
    "mock-converse",
    "mock-invoke",
];

/// Runs programs at once.
fn all(commands: Vec<Command>) {
    std::thread::scope(|scope| {
        for mut command in commands {
            scope.spawn(move || succeeded(&mut command));
        }
    });
}

#[test]
fn anthropics_clients_talk_with_models_of_others() {
    let stage = Stage::start();
    let versions = ["anthropic-0.100", "anthropic-1.17", "anthropic-2.8"];
    let mut clients: Vec<Command> = versions
        .iter()
        .map(|version| python(version, "talk_anthropic.py"))
        .collect();
    clients.push(node("talk_anthropic.mjs", "weather.mjs"));
    for client in &mut clients {
        stage.configure(client, &NOT_ANTHROPIC);
    }
    all(clients);
}

#[test]
fn openais_clients_talk_with_models_of_others() {
    let stage = Stage::start();
    let versions = ["openai-2.54", "openai-3.49"];
    let mut clients: Vec<Command> = versions
        .iter()
        .map(|version| python(version, "talk_openai.py"))
        .collect();
    clients.push(node("talk_openai.mjs", "weather.mjs"));
    for client in &mut clients {
        stage.configure(client, &NOT_OPENAI);
    }
    all(clients);
}

#[test]
fn googles_clients_talk_with_models_of_others() {
    let stage = Stage::start();
    let mut clients = vec![
        python("google-genai", "talk_google.py"),
        node("talk_google.mjs", "weather.mjs"),
    ];
    for client in &mut clients {
        stage.configure(client, &NOT_GOOGLE);
    }
    all(clients);
}

#[test]
fn litellm_as_a_client_talks_with_models_of_others() {
    let stage = Stage::start();
    let mut client = python("litellm", "talk_litellm.py");
    stage.configure(&mut client, &["messages", "chat", "mock-gemini"]);
    succeeded(&mut client);
}

#[test]
fn the_llm_command_line_talks_with_models_of_others() {
    let stage = Stage::start();
    let home = tempfile::tempdir().unwrap();
    let url = stage.gateway.url();
    // It has an API for each of OpenAI's two.
    let mut models = String::new();
    for (api, responses) in [("chat", false), ("responses", true)] {
        for upstream in NOT_OPENAI {
            models.push_str(&format!(
                "- model_id: {api}-{upstream}\n  model_name: {}\n  api_base: {url}/v1\n  \
                 api_key_name: prowess\n  supports_tools: true\n  responses: {responses}\n",
                model(upstream)
            ));
        }
    }
    std::fs::write(home.path().join("extra-openai-models.yaml"), models).unwrap();
    let ask = |model: &str, options: &[&str]| {
        let mut llm = Command::new(installed("llm").join("bin/llm"));
        keep_bytecode(&mut llm)
            .env("LLM_USER_PATH", home.path())
            .args(["-m", model, "--key", MASTER, "--no-log", "--functions"])
            .arg(scripts().join("weather_tool.py"))
            .args(["-s", "You know the weather only from your tool."])
            .args(options)
            .arg("How is the weather in Bern and in Oslo?");
        llm
    };
    let talks: [(&str, &[&str]); 6] = [
        ("chat-messages", &[]),
        ("chat-mock-gemini", &["--no-stream"]),
        ("chat-mock-converse", &["--async"]),
        ("responses-messages", &["--no-stream"]),
        ("responses-mock-messages", &["--async"]),
        ("responses-mock-gemini", &[]),
    ];
    for (model, options) in talks {
        let output = succeeded(&mut ask(model, options));
        let answer = "I see. Bern: rain, 7 degrees\nOslo: snow, -3 degrees\n";
        assert!(output.ends_with(answer), "{model}: {output}");
    }
}
