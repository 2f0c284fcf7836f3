//! House rules that no compiler checks.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose business it is to start processes.
const STARTERS: &[&str] = &["sandbox", "launcher", "testkit"];

/// The one file elsewhere: it has the user's own browser open an address of ours.
const BROWSER_OPENER: &str = "crates/cli/src/demo/open_browser.rs";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Every source file of every crate, without tests.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut waiting = vec![root().join("crates"), root().join("python/prowess/src")];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !matches!(name, "tests" | "examples" | "snapshots") {
                waiting.push(path);
            } else if name.ends_with(".rs") {
                let shown = path.strip_prefix(root()).unwrap().display().to_string();
                files.push((shown, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(files.len() > 100, "the search is broken");
    files
}

#[test]
fn every_module_states_what_it_owns() {
    let silent = |(_, text): &(String, String)| !text.starts_with("//!");
    let silent: Vec<String> = sources()
        .into_iter()
        .filter(silent)
        .map(|(path, _)| path)
        .collect();
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn only_the_sandbox_starts_processes() {
    for (path, text) in sources() {
        let crate_name = path.split('/').nth(1).unwrap();
        let starts = text.contains("process::Command") || text.contains("Command::new(");
        let allowed =
            STARTERS.contains(&crate_name) || path.ends_with("build.rs") || path == BROWSER_OPENER;
        assert!(!starts || allowed, "{path} starts a process");
    }
}

#[test]
fn no_file_grows_into_two() {
    /// Tests inside the file included.
    const MAX_LINES: usize = 700;
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{path} has {lines} lines: split it");
    }
}

/// The decorator that authors import is the one that the sandbox has: what their tests say
/// of a `tools.py` holds there.
#[test]
fn the_tool_decorator_is_the_same_in_python_and_in_the_sandbox() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let inside = read("crates/toolbox/src/functions/prowess.py");
    let outside = read("python/prowess/prowess/_tool.py");
    assert!(
        inside == outside,
        "copy crates/toolbox/src/functions/prowess.py to python/prowess/prowess/_tool.py"
    );
}

/// The surface of the library is a list of names: whoever uses it sees what it needs, and a
/// change of a crate below it is not a change of the library.
#[test]
fn the_library_exports_names_and_no_whole_crates() {
    let text = fs::read_to_string(root().join("crates/prowess/src/lib.rs")).unwrap();
    let exports: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("pub use prowess_"))
        .collect();
    assert!(exports.len() > 5, "the search is broken");
    for line in exports {
        let named = line.contains("::") && !line.contains('*') && !line.contains(" as ");
        assert!(named, "{line}");
    }
}
