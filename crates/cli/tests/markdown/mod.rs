//! Fenced blocks of the repository's documentation, for the tests that run them.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test binary uses what it needs of this module"
)]

use std::path::{Path, PathBuf};

/// Where the pages assume the server.
pub(crate) const ADDRESS: &str = "http://127.0.0.1:4141";

/// A fenced block.
#[derive(Debug, PartialEq)]
pub(crate) struct FencedBlock<'a> {
    /// The text after the opening fence.
    pub(crate) language: &'a str,
    /// The line of the opening fence, from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
}

pub(crate) fn blocks(page: &str) -> Vec<FencedBlock<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let body = lines.by_ref().map(|(_, line)| line);
        let body: Vec<&str> = body.take_while(|line| !line.starts_with("```")).collect();
        blocks.push(FencedBlock {
            language,
            line: at + 1,
            text: body.join("\n") + "\n",
        });
    }
    blocks
}

pub(crate) fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// A page, by its path in the repository.
pub(crate) fn read_page(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap()
}

/// A search path that begins with the folder of our binary.
pub(crate) fn search_path() -> String {
    let ours = Path::new(env!("CARGO_BIN_EXE_prowess")).parent().unwrap();
    let inherited = std::env::var("PATH").unwrap_or_default();
    format!("{}:{inherited}", ours.display())
}
