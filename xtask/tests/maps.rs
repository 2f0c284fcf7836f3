//! The maps that the documentation draws are those of the code.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// The `lib.rs` of every crate, by the crate's name.
fn libraries() -> Vec<(String, String)> {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let mut libraries: Vec<(String, String)> = folders
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("src/lib.rs").is_file())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path.join("src/lib.rs")).unwrap())
        })
        .collect();
    libraries.sort();
    assert!(libraries.len() > 10, "the search is broken");
    libraries
}

/// Whether a text has a word of its own, with no letter or underscore beside it.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .any(|found| found == word)
}

#[test]
fn every_crate_lists_its_modules() {
    let mut missing = Vec::new();
    for (name, text) in libraries() {
        let map: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("//!"))
            .collect();
        let map = map.join("\n");
        for line in text.lines() {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            let module = line
                .strip_prefix("mod ")
                .and_then(|rest| rest.strip_suffix(';'));
            if let Some(module) = module
                && !has_word(&map, module)
            {
                missing.push(format!("{name}: {module}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn the_architecture_names_every_crate() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, map) = text.split_once("crates/\n").unwrap();
    let (map, _) = map.split_once("```").unwrap();
    for (name, _) in libraries() {
        let line = format!("\n  {name} ");
        assert!(
            format!("\n{map}").contains(&line),
            "ARCHITECTURE.md does not list the crate {name}"
        );
    }
}

/// The walks of ARCHITECTURE.md say "`Type::function` in `crate/path.rs`"; the tables below
/// them name files and folders alone.
#[test]
fn the_architecture_names_functions_and_files_that_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, walks) = text
        .split_once("## How a request with skills runs")
        .unwrap();
    let spans: Vec<(usize, &str)> = walks.split('`').enumerate().collect();
    let mut checked = 0;
    let mut missing = Vec::new();
    for (at, span) in spans.iter().filter(|(at, _)| at % 2 == 1) {
        let Some((name, rest)) = span.split_once('/') else {
            continue;
        };
        let path = root().join("crates").join(name).join("src").join(rest);
        let is_crate = !name.is_empty() && root().join("crates").join(name).is_dir();
        if !is_crate || rest.contains('<') {
            continue;
        }
        checked += 1;
        if !path.exists() {
            missing.push((*span).to_owned());
            continue;
        }
        let before = spans.get(at - 1).map_or("", |(_, text)| text);
        if before.split_whitespace().collect::<Vec<_>>() == ["in"] {
            let item = spans.get(at - 2).map_or("", |(_, text)| text);
            let name = item.rsplit("::").next().unwrap();
            let code = fs::read_to_string(&path).unwrap();
            if !defines(&code, name) {
                missing.push(format!("{item} in {span}"));
            }
        }
    }
    assert!(checked > 50, "only {checked} places were found");
    assert_eq!(missing, Vec::<String>::new());
}

fn defines(code: &str, name: &str) -> bool {
    ["fn", "struct", "enum", "trait"].iter().any(|kind| {
        let start = format!("{kind} {name}");
        code.match_indices(&start).any(|(at, _)| {
            code.get(at + start.len()..)
                .and_then(|rest| rest.chars().next())
                .is_some_and(|next| !(next.is_alphanumeric() || next == '_'))
        })
    })
}
