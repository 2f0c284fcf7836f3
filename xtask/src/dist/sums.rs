//! `SHA256SUMS`: the digests of all artefacts, in the format of `sha256sum --check`.

use std::path::Path;

use anyhow::Context;
use sha2::{Digest as _, Sha256};

/// Its name.
pub(super) const FILE: &str = "SHA256SUMS";

/// Lists all files of the folder.
pub(super) fn write(folder: &Path) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().context("an artefact's name is not UTF-8")?;
        if name != FILE {
            lines.push((name.to_owned(), sha256(&std::fs::read(entry.path())?)));
        }
    }
    lines.sort();
    let lines = lines.iter().map(|(name, sum)| format!("{sum}  {name}\n"));
    std::fs::write(folder.join(FILE), lines.collect::<String>()).context("cannot write the sums")
}

fn sha256(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
