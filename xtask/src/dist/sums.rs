//! `SHA256SUMS`: the digests of all artefacts, in the format of `sha256sum --check`.

use std::fs::File;
use std::io::Read as _;
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
            lines.push((name.to_owned(), file_digest(&entry.path())?));
        }
    }
    lines.sort();
    let lines = lines.iter().map(|(name, sum)| format!("{sum}  {name}\n"));
    std::fs::write(folder.join(FILE), lines.collect::<String>()).context("cannot write the sums")
}

/// The digest of a file, read in parts: an image has some hundred megabytes.
pub(super) fn file_digest(path: &Path) -> anyhow::Result<String> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer);
        let read = read.with_context(|| format!("cannot read {}", path.display()))?;
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
            break;
        };
        digest.update(part);
    }
    let digest = digest.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
