//! The build of all tests, by cargo's own messages about it.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context;
use serde_json::Value;

use crate::run::cargo;

/// Builds the tests, by the command that cargo-nextest uses, and lists them. With any other
/// selection of packages, shared dependencies could have other features, and most of them would be
/// compiled again.
pub(crate) fn messages() -> anyhow::Result<Vec<Value>> {
    let format = "--message-format=json-render-diagnostics";
    let mut build = cargo(&["test", "--workspace", "--no-run", format]);
    let built = build.stderr(Stdio::inherit()).output()?;
    anyhow::ensure!(built.status.success(), "the tests do not build");
    let text = String::from_utf8(built.stdout)?;
    text.lines()
        .map(|line| serde_json::from_str(line).context("cargo printed no JSON"))
        .collect()
}

/// The binary `prowess` that the tests start.
pub(crate) fn binary() -> anyhow::Result<PathBuf> {
    let found = messages()?.into_iter().find_map(|message| {
        let is_program = message.pointer("/target/kind/0")? == "bin"
            && message.pointer("/target/name")? == "prowess"
            && message.pointer("/profile/test")? == false;
        let program = message.get("executable")?.as_str()?;
        is_program.then(|| PathBuf::from(program))
    });
    found.context("cargo built no binary `prowess`")
}
