//! Upstreams of every vendor that fail in every way their mock knows: each client is
//! told so in words it understands, and the server goes on.
//!
//! The clients' programs print what they understood, line by line.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod server;
mod stage;

use std::process::Command;

use installed::{node, python, succeeded};
use stage::{Stage, failing, mocks};

/// Where the words of the system begin, which depend on how fast a connection ends.
const SYSTEM_ERROR_PREFIXES: [&str; 2] = [" broke during the response: ", " cannot be reached: "];

/// A client's program, ready to be started.
type Program = fn() -> Command;

/// Each client calls upstreams that fail at once, and others whose stream breaks off; the
/// errors it reports are a snapshot.
fn assert_failures_reported(clients: [(&str, Program); 2]) {
    let mut stage = Stage::start();
    for (name, client) in clients {
        let output = run_client(&stage, client(), &failing(), "hello");
        insta::assert_snapshot!(format!("{name}_failed"), output);
        let mut client = client();
        client.env("PROWESS_STREAM_ONLY", "1");
        let output = self::run_client(&stage, client, &mocks(), "break off");
        insta::assert_snapshot!(format!("{name}_broke_off"), output);
    }
    let log = stage.gateway.log();
    assert!(!log.contains("panicked"), "{log}");
}

fn run_client(stage: &Stage, mut client: Command, upstreams: &[String], prompt: &str) -> String {
    let upstreams: Vec<&str> = upstreams.iter().map(String::as_str).collect();
    stage.configure(&mut client, &upstreams);
    let stdout = succeeded(client.env("PROWESS_SAY", prompt));
    let lines = stdout.lines().map(|line| {
        let found = SYSTEM_ERROR_PREFIXES
            .iter()
            .find_map(|word| line.split_once(word).zip(Some(word)));
        match found {
            Some(((before, _), word)) => format!("{before}{word}…\n"),
            None => format!("{line}\n"),
        }
    });
    lines.collect()
}

#[test]
fn anthropics_clients_understand_how_their_upstream_failed() {
    assert_failures_reported([
        ("anthropic_python", || {
            python("anthropic-2.8", "fail_anthropic.py")
        }),
        ("anthropic_node", || node("fail_anthropic.mjs", "fail.mjs")),
    ]);
}

#[test]
fn openais_clients_understand_how_their_upstream_failed() {
    assert_failures_reported([
        ("openai_python", || python("openai-3.49", "fail_openai.py")),
        ("openai_node", || node("fail_openai.mjs", "fail.mjs")),
    ]);
}
