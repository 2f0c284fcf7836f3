//! Test files with runs that are not run a second time, each with its reason.

use std::collections::BTreeSet;
use std::path::Path;

/// Test binaries of this crate that run commands and are not part of this one.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "background_sdk",
        "OpenAI's client against kept runs; those are in `long_runs_cli`",
    ),
    (
        "batch_cli",
        "`prowess batch`, which has no server or ends it; its requests are kept runs",
    ),
    (
        "batches",
        "vendors' clients against batches, whose requests are kept runs",
    ),
    ("cluster", "real clusters already"),
    ("console", "pages, of whatever runs there are"),
    (
        "durable",
        "servers are killed: `cluster` does that to the members of real clusters",
    ),
    ("durable_cases", "as `durable`"),
    ("durable_runs", "as `durable`"),
    ("interrupted_runs", "as `durable`"),
    (
        "mcp_stdio",
        "`prowess mcp` runs commands in the sandbox of its host, and is no gateway",
    ),
    (
        "observability",
        "what the real binary exports; spans over a cluster are in `cluster`",
    ),
    (
        "programs",
        "programs of others against runs, which are in `conformance`",
    ),
    (
        "provider_files",
        "files that providers store; containers have no part in it",
    ),
    ("random_kills", "as `durable`"),
    (
        "realtime",
        "the priority of the real binary over commands of the same host",
    ),
    (
        "run_cli",
        "`prowess run` runs commands in the sandbox of its host, and is no gateway",
    ),
    (
        "skills_sdk",
        "vendors' clients with the requests of `conformance`",
    ),
    (
        "toolbox_cli",
        "`prowess call` runs commands in the sandbox of its host, and is no gateway",
    ),
    ("vendors", "no tests: models for those here"),
];

/// What a test contains if commands run in it.
const MARKS: [&str; 4] = [
    "code_execution",
    "container_auto",
    "TestGateway",
    "mod durable",
];

#[test]
fn every_file_with_commands_is_here_or_has_a_reason() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let here = std::fs::read_to_string(tests.join("over_a_cluster/main.rs")).unwrap();
    let mut missing = BTreeSet::new();
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(&tests).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "over_a_cluster" || !has_mark(&path) {
            continue;
        }
        let is_here = here.contains(&format!("mod {name};"));
        let is_left_out = LEFT_OUT.iter().any(|(file, _)| *file == name);
        if is_here == is_left_out {
            missing.insert(name.clone());
        }
        found.insert(name);
    }
    assert_eq!(
        missing,
        BTreeSet::new(),
        "neither here nor left out, or both"
    );
    let named = LEFT_OUT.iter().map(|(file, _)| (*file).to_owned());
    let unknown: Vec<String> = named.filter(|file| !found.contains(file)).collect();
    assert_eq!(
        unknown,
        Vec::<String>::new(),
        "left out, but runs no commands"
    );
}

/// Whether a file, or one of a folder, has commands.
fn has_mark(path: &Path) -> bool {
    if path.is_dir() {
        let mut entries = std::fs::read_dir(path).unwrap();
        return entries.any(|entry| has_mark(&entry.unwrap().path()));
    }
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    is_rust && MARKS.iter().any(|mark| text.contains(mark))
}
