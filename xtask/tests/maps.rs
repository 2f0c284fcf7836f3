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
