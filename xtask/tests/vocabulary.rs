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

/// Types that a build without their feature replaces by an empty one of the same name.
const CONDITIONAL_TYPE_NAMES: &[&str] = &["ClusterConnection"];

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
    defined_type(rest)
}

/// The type that a line defines, if it begins with the word for that.
fn defined_type(line: &str) -> Option<&str> {
    let (kind, rest) = line.split_once(' ')?;
    if !matches!(kind, "struct" | "enum" | "trait" | "type") {
        return None;
    }
    rest.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .next()
}

/// A type that only its file sees does not hide another one from a reader: none has the name of a
/// type that all crates see, or all of its own crate.
#[test]
fn no_private_type_has_the_name_of_a_visible_one() {
    let is_source = |path: &str| {
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        path.starts_with("crates/") && path.contains("/src/") && !is_test
    };
    let mut files = rust_files();
    files.retain(|(path, _)| is_source(path));
    let crate_of = |path: &str| path.split('/').nth(1).unwrap().to_owned();
    // Each with the crate that sees it; with none if all do.
    let mut visible = BTreeSet::new();
    for (path, text) in &files {
        for line in text.lines() {
            if let Some(name) = visible_type(line) {
                visible.insert((Some(crate_of(path)), name));
                if line.starts_with("pub ") {
                    visible.insert((None, name));
                }
            }
        }
    }
    let mut wrong = BTreeSet::new();
    for (path, text) in &files {
        for name in text.lines().filter_map(defined_type) {
            let is_known = visible.contains(&(None::<String>, name))
                || visible.contains(&(Some(crate_of(path)), name));
            let is_allowed =
                SHARED_TYPE_NAMES.contains(&name) || CONDITIONAL_TYPE_NAMES.contains(&name);
            if is_known && !is_allowed {
                wrong.insert(format!("{path}: {name}"));
            }
        }
    }
    assert_eq!(wrong, BTreeSet::new());
}
