//! Collects the kinds of providers: every file of `src/kinds/` but `mod.rs` is one, and every
//! file of `tests/kinds/` but `main.rs` is a test of one.
//!
//! Writes a `mod` line per file, and the sorted list of the kinds' descriptors, to files of
//! `OUT_DIR` that `src/kinds/mod.rs` and `tests/kinds/main.rs` include. So a new kind is a new
//! file and a test, and no list of kinds is kept by hand. Paths are absolute, as modules of an
//! included file are looked up beside that file.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    let kinds = modules(&package.join("src/kinds"), "mod.rs")?;
    let mut text = mod_lines(&kinds, "pub ");
    let count = kinds.len();
    text.push_str(&format!("\nstatic KINDS: [&KindDescriptor; {count}] = [\n"));
    for (name, _) in &kinds {
        text.push_str(&format!("    &{name}::KIND,\n"));
    }
    text.push_str("];\n");
    fs::write(out.join("kinds.rs"), text)?;
    let tests = modules(&package.join("tests/kinds"), "main.rs")?;
    fs::write(out.join("kind_tests.rs"), mod_lines(&tests, ""))
}

/// The Rust files of a folder, without one of them: their names, sorted, and paths. A package
/// may lack the folder of the tests.
fn modules(folder: &Path, root: &str) -> io::Result<Vec<(String, PathBuf)>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut found = Vec::new();
    if !folder.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if is_rust && !path.ends_with(root) {
            let name = path.file_stem().unwrap_or_default();
            found.push((name.to_string_lossy().into_owned(), path));
        }
    }
    found.sort();
    Ok(found)
}

fn mod_lines(modules: &[(String, PathBuf)], visibility: &str) -> String {
    let lines = modules.iter();
    let lines = lines.map(|(name, path)| format!("#[path = {path:?}]\n{visibility}mod {name};\n"));
    lines.collect()
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")))
}
