//! The archive with the binary and what belongs to it, and the script that installs it.

use std::path::Path;

use anyhow::Context;

use super::file_tree::FileTree;
use super::program::TRIPLE;
use super::release::Release;
use crate::run::root;

/// Writes the archive and `install.sh`.
pub(super) fn write(release: &Release, out: &Path) -> anyhow::Result<()> {
    let name = format!("prowess-{}-{TRIPLE}", release.version);
    let mut files = FileTree::default();
    files.add_program("bin/prowess", release.read_binary()?);
    for (page, text) in &release.man_pages {
        files.add(format!("share/man/man1/{page}"), text.clone());
    }
    let scripts = &release.completions;
    files.add("share/completions/prowess.bash", scripts.bash.clone());
    files.add("share/completions/_prowess", scripts.zsh.clone());
    files.add("share/completions/prowess.fish", scripts.fish.clone());
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        files.add(file, read(file)?);
    }
    let archive = files.tar_gz(&name, release.date, release.compression())?;
    std::fs::write(out.join(format!("{name}.tar.gz")), archive)
        .context("cannot write the archive")?;
    let installer = String::from_utf8(read("packaging/tarball/install.sh")?)?;
    let installer = installer.replace("@VERSION@", release.version);
    std::fs::write(out.join("install.sh"), installer).context("cannot write the installer")
}

/// A file of the repository.
pub(super) fn read(path: &str) -> anyhow::Result<Vec<u8>> {
    std::fs::read(root().join(path)).with_context(|| format!("cannot read {path}"))
}
