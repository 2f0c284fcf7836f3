//! Our Python package and the plugin for `llm`, from the wheels that people get: their own
//! tests, in `python/`, against the real server with a model that follows a script.
//!
//! `cargo xtask test` builds and installs them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod server;

use std::path::{Path, PathBuf};
use std::process::Command;

use installed::{installed, succeeded};
use prowess_testkit::bytecode::keep_bytecode;
use server::TestServer;

fn packages() -> PathBuf {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    place.canonicalize().unwrap()
}

/// A program of the environment with our packages, started where none of their sources
/// can be taken for them.
fn program(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(installed("prowess").join("bin").join(name));
    keep_bytecode(&mut command)
        .current_dir(folder)
        .env_remove("PROWESS_URL")
        .env_remove("PROWESS_API_KEY");
    command
}

/// Runs the tests of a file, with the server of the plugin's tests.
fn pytest(file: &str) {
    pytest_with("llm-tools-prowess/tests/prowess.toml", file);
}

/// Runs the tests of a file, with a server of this configuration.
fn pytest_with(config: &str, file: &str) {
    let config = packages().join(config);
    let variables = [
        ("PROWESS_CONFIG", config.to_str().unwrap()),
        ("PROWESS_MASTER_KEY", ""),
    ];
    let server = TestServer::start(&variables);
    let mut tests = program("python", server.folder());
    tests
        .args(["-m", "pytest", "--quiet", "--basetemp"])
        .arg(server.folder().join("pytest"))
        .arg(packages().join(file))
        .env("PROWESS_TEST_URL", server.url());
    succeeded(&mut tests);
}

#[test]
fn a_skill_is_read_in_python() {
    pytest("prowess/tests/test_skill.py");
}

#[test]
fn skills_are_tools_in_python() {
    pytest("prowess/tests/test_toolbox.py");
}

#[test]
fn everything_that_waits_can_be_awaited_in_python() {
    pytest("prowess/tests/test_async.py");
}

#[test]
fn skills_are_stored_from_python() {
    pytest("prowess/tests/test_stored.py");
}

#[test]
fn a_model_is_run_with_skills_from_python() {
    pytest_with("prowess/tests/prowess.toml", "prowess/tests/test_runs.py");
}

#[test]
fn functions_of_skills_are_tested_in_python() {
    pytest("prowess/tests/test_tool.py");
}

#[test]
fn the_program_comes_with_the_python_package() {
    pytest("prowess/tests/test_program.py");
}

#[test]
fn what_others_promise_is_kept() {
    pytest("prowess/tests/test_rivals.py");
}

#[test]
fn llm_uses_skills_by_the_plugin() {
    pytest("llm-tools-prowess/tests/test_plugin.py");
}

#[test]
fn the_types_are_what_they_claim() {
    let folder = tempfile::tempdir().unwrap();
    let strict = ["--strict", "--no-warn-return-any", "--allow-untyped-calls"];
    let mypy = || {
        let mut mypy = program("mypy", folder.path());
        mypy.args(strict);
        mypy
    };
    succeeded(mypy().args(["--package", "prowess"]));
    succeeded(mypy().arg(packages().join("llm-tools-prowess/llm_tools_prowess.py")));
    // Programs that use the public names, as their authors would check them.
    let tests =
        ["test_runs.py", "test_tool.py"].map(|name| packages().join("prowess/tests").join(name));
    succeeded(mypy().args(tests).env("MYPYPATH", packages()));
    succeeded(program("stubtest", folder.path()).args(["prowess._native", "prowess._tool"]));
}
