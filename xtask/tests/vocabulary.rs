//! One word for one thing: identifiers keep to the glossary in ARCHITECTURE.md.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use proc_macro2::{TokenStream, TokenTree};

/// Words that once stood for several things each. The glossary names what to use instead.
const RETIRED: &[&str] = &[
    "adopt", "adopted", "asked", "attend", "begun", "crew", "desk", "door", "doors", "guest",
    "guests", "hear", "heard", "hears", "keeper", "lane", "lanes", "leash", "looked", "mend",
    "mended", "mender", "poured", "road", "roads", "said", "say", "saying", "says", "sealed",
    "seat", "seats", "shelf", "shelves", "sit", "spoken", "stood", "tell", "teller", "telling",
    "tells", "told", "unroll", "unroller", "unsaid", "untold", "usual", "wanted", "wish", "wishes",
];

/// Identifiers that keep a retired word, each because others gave it its name.
const EXCEPTIONS: &[&str] = &[];

/// Type names that several crates or commands may each have one of.
const SHARED_TYPE_NAMES: &[&str] = &["Args", "Command", "Error", "Result"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Every Rust file of the workspace that we wrote, by its path below the root.
fn rust_files() -> Vec<(String, String)> {
    let folders = ["crates", "python", "bench", "xtask", "fuzz", "examples"];
    let mut waiting: Vec<PathBuf> = folders.map(|name| root().join(name)).to_vec();
    let mut files = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !matches!(name, "target" | "node_modules") {
                waiting.push(path);
            } else if name.ends_with(".rs") {
                let shown = path.strip_prefix(root()).unwrap().display().to_string();
                files.push((shown, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(files.len() > 500, "the search found only {}", files.len());
    files.sort();
    files
}

fn identifiers(text: &str) -> Vec<String> {
    let mut waiting = vec![TokenStream::from_str(text).unwrap()];
    let mut found = Vec::new();
    while let Some(tokens) = waiting.pop() {
        for token in tokens {
            match token {
                TokenTree::Group(group) => waiting.push(group.stream()),
                TokenTree::Ident(ident) => found.push(ident.to_string()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
    found
}

/// `AnswerWriter` and `answer_writer` are both `answer` and `writer`.
fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in identifier.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn identifiers_are_split_into_words() {
    assert_eq!(words("AnswerWriter"), ["answer", "writer"]);
    assert_eq!(words("__answer_writer"), ["answer", "writer"]);
    assert_eq!(
        identifiers("fn a() { b!(\"c\", d) } // e"),
        ["fn", "a", "b", "d"]
    );
}

#[test]
fn no_identifier_has_a_retired_word() {
    let mut wrong = BTreeSet::new();
    for (path, text) in rust_files() {
        for identifier in identifiers(&text) {
            let retired = words(&identifier)
                .iter()
                .any(|word| RETIRED.contains(&word.as_str()));
            if retired && !EXCEPTIONS.contains(&identifier.as_str()) {
                wrong.insert(format!("{path}: {identifier}"));
            }
        }
    }
    assert_eq!(wrong, BTreeSet::new());
}

#[test]
fn no_constructor_is_a_bare_of() {
    for (path, text) in rust_files() {
        assert!(
            !text.contains(concat!("fn ", "of(")),
            "{path}: name the constructor `new`, `from_…` or `parse`"
        );
    }
}

/// A type that other modules can name has a name of its own.
#[test]
fn no_two_types_share_a_name() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in rust_files() {
        if !path.starts_with("crates/") || !path.contains("/src/") {
            continue;
        }
        for line in text.lines() {
            let Some(name) = visible_type(line) else {
                continue;
            };
            if !SHARED_TYPE_NAMES.contains(&name) {
                places
                    .entry(name.to_owned())
                    .or_default()
                    .insert(path.clone());
            }
        }
    }
    places.retain(|_, paths| paths.len() > 1);
    assert_eq!(places, BTreeMap::new());
}

/// The type that a line defines at the top level of its file, visible outside of it.
fn visible_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(restricted) => restricted.split_once(") ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    let (kind, rest) = rest.split_once(' ')?;
    if !matches!(kind, "struct" | "enum" | "trait" | "type") {
        return None;
    }
    rest.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .next()
}
