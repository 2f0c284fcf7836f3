//! The binaries of Prowess that a benchmark measures: the one that was built with it, and
//! others to compare it with, such as that of an earlier commit.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

/// Names the binary to measure; otherwise it is the one beside the benchmark.
const OWN_VARIABLE: &str = "PROWESS_BENCH_BINARY";
/// Names the others: `NAME=PATH,NAME=PATH`.
const OTHERS_VARIABLE: &str = "PROWESS_BENCH_BINARIES";
/// The name of the measured binary in tables, and those of other programs beside it.
pub const OWN_NAME: &str = "prowess";
const RESERVED_NAMES: [&str; 5] = [OWN_NAME, "nginx", "LiteLLM", "direct", "bar"];
/// Characters of a name: it is the head of a column.
const MAX_NAME_CHARS: usize = 40;

/// A binary and its name in tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedBinary {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
}

/// The binary that is measured.
pub fn own_binary() -> Result<NamedBinary> {
    let path = match std::env::var_os(OWN_VARIABLE) {
        Some(given) => given.into(),
        None => {
            let this = std::env::current_exe()?;
            let folder = this.parent().context("this program is in no folder")?;
            folder.join("prowess")
        }
    };
    existing(NamedBinary {
        name: OWN_NAME.to_owned(),
        path,
    })
}

/// The binaries that it is compared with; usually none.
pub fn other_binaries() -> Result<Vec<NamedBinary>> {
    let Some(list) = std::env::var_os(OTHERS_VARIABLE) else {
        return Ok(Vec::new());
    };
    let list = list.to_str().context("PROWESS_BENCH_BINARIES is no text")?;
    parse_list(list)?.into_iter().map(existing).collect()
}

fn existing(binary: NamedBinary) -> Result<NamedBinary> {
    let shown = binary.path.display();
    ensure!(
        binary.path.is_file(),
        "{shown} is missing: run `cargo xtask bench`, or name another binary"
    );
    Ok(binary)
}

fn parse_list(list: &str) -> Result<Vec<NamedBinary>> {
    let mut binaries: Vec<NamedBinary> = Vec::new();
    for entry in list.split(',').filter(|entry| !entry.is_empty()) {
        let (name, path) = entry
            .split_once('=')
            .with_context(|| format!("`{entry}` in {OTHERS_VARIABLE} must be NAME=PATH"))?;
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        ensure!(
            !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.chars().all(is_plain),
            "`{name}` must have 1 to {MAX_NAME_CHARS} letters, digits, `-`, `_` or `.`"
        );
        let is_taken = binaries.iter().any(|binary| binary.name == name);
        ensure!(
            !is_taken && !RESERVED_NAMES.contains(&name),
            "`{name}` is the name of another column"
        );
        binaries.push(NamedBinary {
            name: name.to_owned(),
            path: path.into(),
        });
    }
    Ok(binaries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_named_once_each() {
        let binaries = parse_list("old=/a/prowess,v0.2=/b=c").unwrap();
        let pairs = binaries.iter().map(|one| (one.name.as_str(), &one.path));
        let pairs: Vec<_> = pairs.map(|(name, path)| (name, path.as_path())).collect();
        let path = std::path::Path::new;
        assert_eq!(pairs, [("old", path("/a/prowess")), ("v0.2", path("/b=c"))]);
        for wrong in ["/a/prowess", "=/a", "a|b=/c", "a=/b,a=/c", "nginx=/a"] {
            assert!(parse_list(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_list("").unwrap(), []);
    }
}
