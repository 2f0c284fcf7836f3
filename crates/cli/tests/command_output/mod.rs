//! What a command has printed, as tests compare it.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test binary uses what it needs of this module"
)]

use std::process::Output;

use serde_json::Value;

/// Exit code, standard output and standard error.
pub(crate) fn shown(output: &Output) -> String {
    format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr)
    )
}

/// What was printed as text.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// What was printed as a line of JSON each.
pub(crate) fn json_lines(bytes: &[u8]) -> Vec<Value> {
    let lines = text(bytes).lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
