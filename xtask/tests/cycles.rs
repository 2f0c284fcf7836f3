//! Files of a crate do not import each other in circles.
//!
//! A module that calls its own submodules by their bare names is not counted: a folder is one
//! unit, and its files may use the types of the module they belong to.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

type Module = Vec<String>;

/// Circles with a reason to stay. A new one fails this test, and so does one that is gone and
/// still listed.
const KNOWN: &[&str] = &[];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join("crates")
}

/// The modules of a crate that have a file of their own, without its tests.
fn modules(sources: &Path) -> BTreeMap<Module, PathBuf> {
    let mut waiting = vec![sources.to_owned()];
    let mut modules = BTreeMap::new();
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && name != "bin" {
                waiting.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let below = path.strip_prefix(sources).unwrap().with_extension("");
                let mut module: Module = below
                    .iter()
                    .map(|part| part.to_str().unwrap().to_owned())
                    .collect();
                if matches!(module.last().unwrap().as_str(), "mod" | "lib" | "main") {
                    module.pop();
                }
                modules.insert(module, path);
            }
        }
    }
    modules
}

/// Every path that begins with `crate`, `super` or `self`, from imports and from code.
/// Items for tests and re-exports do not count: they use what is below them by nature.
fn paths(tokens: TokenStream) -> Vec<Vec<String>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Ident(word) if word == "mod" && is_for_tests(&tokens, at) => {
                at += 2;
            }
            TokenTree::Ident(word) if word == "use" && is_public(&tokens, at) => {
                while !matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == ';')
                {
                    at += 1;
                }
            }
            TokenTree::Ident(word)
                if ["crate", "super", "self"].iter().any(|start| word == start)
                    && is_path(&tokens, at) =>
            {
                at = tree(&tokens, at, &mut Vec::new(), &mut found);
                continue;
            }
            TokenTree::Group(group) => found.extend(paths(group.stream())),
            _ => {}
        }
        at += 1;
    }
    found
}

fn is_path(tokens: &[TokenTree], at: usize) -> bool {
    matches!(tokens.get(at + 1), Some(TokenTree::Punct(mark)) if mark.as_char() == ':')
}

fn is_for_tests(tokens: &[TokenTree], at: usize) -> bool {
    let attribute = at.checked_sub(1).and_then(|before| tokens.get(before));
    matches!(attribute, Some(TokenTree::Group(group)) if group.to_string().contains("cfg (test)")
        || group.to_string().contains("cfg(test)"))
}

fn is_public(tokens: &[TokenTree], at: usize) -> bool {
    let word = |back: usize| at.checked_sub(back).and_then(|place| tokens.get(place));
    let is_pub =
        |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Ident(word)) if word == "pub");
    let restricted = matches!(word(1), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
    is_pub(word(1)) || restricted && is_pub(word(2))
}

/// Follows a path, and all of a `use` tree, from `at`; returns where it ends.
fn tree(
    tokens: &[TokenTree],
    mut at: usize,
    before: &mut Vec<String>,
    found: &mut Vec<Vec<String>>,
) -> usize {
    let start = before.len();
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(word)) => {
                before.push(word.to_string());
                at += 1;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut place = 0;
                while place < inner.len() {
                    let next = tree(&inner, place, before, found);
                    place = next.max(place + 1);
                }
                at += 1;
                break;
            }
            _ => break,
        }
        let colons = |place: usize| matches!(tokens.get(place), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
        if !(colons(at) && colons(at + 1)) {
            break;
        }
        at += 2;
    }
    if before.len() > start {
        found.push(before.clone());
    }
    before.truncate(start);
    at
}

/// The module with a file of its own that a path leads to.
fn target(module: &Module, path: &[String], modules: &BTreeMap<Module, PathBuf>) -> Module {
    let mut current = module.clone();
    let mut rest = path;
    while let Some((first, more)) = rest.split_first() {
        match first.as_str() {
            "crate" => current.clear(),
            "super" => drop(current.pop()),
            "self" => {}
            _ => break,
        }
        rest = more;
    }
    for part in rest {
        current.push(part.clone());
        if !modules.contains_key(&current) {
            current.pop();
            break;
        }
    }
    current
}

/// Groups of modules each of which reaches all others of the group.
fn circles(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reach = |start: &Module| {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![start];
        while let Some(module) = waiting.pop() {
            for next in edges.get(module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    waiting.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        edges.keys().map(|module| (module, reach(module))).collect();
    let circle = |module: &Module| -> BTreeSet<Module> {
        let both = |other: &&Module| reached.get(other).is_some_and(|back| back.contains(module));
        let reached = reached.get(module).into_iter().flatten();
        reached.filter(both).cloned().collect()
    };
    let all: BTreeSet<BTreeSet<Module>> = edges.keys().map(circle).collect();
    all.into_iter().filter(|circle| circle.len() > 1).collect()
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let mut found = Vec::new();
    for entry in fs::read_dir(crates()).unwrap() {
        let sources = entry.unwrap().path().join("src");
        let name = sources.parent().unwrap().file_name().unwrap();
        let name = name.to_str().unwrap().to_owned();
        let modules = modules(&sources);
        let mut edges: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, path) in &modules {
            let code = fs::read_to_string(path).unwrap();
            for used in paths(TokenStream::from_str(&code).unwrap()) {
                let target = target(module, &used, &modules);
                // The crate's root only re-exports.
                if target != *module && !target.is_empty() {
                    edges.entry(module.clone()).or_default().insert(target);
                }
            }
        }
        for circle in circles(&edges) {
            let circle: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
            found.push(format!("{name}: {}", circle.join(", ")));
        }
    }
    found.sort();
    assert_eq!(found, KNOWN);
}

#[test]
fn a_circle_is_found() {
    let module = |name: &str| vec![name.to_owned()];
    let edges = BTreeMap::from([
        (module("a"), BTreeSet::from([module("b")])),
        (module("b"), BTreeSet::from([module("c")])),
        (module("c"), BTreeSet::from([module("a"), module("d")])),
    ]);
    let circle = BTreeSet::from([module("a"), module("b"), module("c")]);
    assert_eq!(circles(&edges), [circle]);
    let code = "use crate::{a, b::{self, C}}; pub(crate) use self::d; fn f() { super::e::g() }";
    let found = paths(TokenStream::from_str(code).unwrap());
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(
        found,
        [
            "crate::a",
            "crate::b::self",
            "crate::b::C",
            "crate::b",
            "crate",
            "super::e::g"
        ]
    );
}
