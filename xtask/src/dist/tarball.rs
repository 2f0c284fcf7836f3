//! The archives with the binary and what belongs to it, and the script that installs one of them.

use std::path::Path;

use anyhow::Context;

use super::file_tree::FileTree;
use super::release::Release;
use crate::run::root;

/// Writes the archive of a platform.
pub(super) fn write(release: &Release, out: &Path) -> anyhow::Result<()> {
    let name = format!("prowess-{}-{}", release.version, release.platform.triple());
    let mut files = FileTree::default();
    files.add_program("bin/prowess", release.read_binary()?);
    for (page, text) in &release.pages.man {
        files.add(format!("share/man/man1/{page}"), text.clone());
    }
    let scripts = &release.pages.completions;
    files.add("share/completions/prowess.bash", scripts.bash.clone());
    files.add("share/completions/_prowess", scripts.zsh.clone());
    files.add("share/completions/prowess.fish", scripts.fish.clone());
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        files.add(file, read(file)?);
    }
    let archive = files.tar_gz(&name, release.date, release.compression())?;
    std::fs::write(out.join(format!("{name}.tar.gz")), archive).context("cannot write the archive")
}

/// Writes `install.sh`, which chooses among the archives of all platforms.
pub(super) fn write_installer(release: &Release, out: &Path) -> anyhow::Result<()> {
    let installer = String::from_utf8(read("packaging/tarball/install.sh")?)?;
    let installer = installer.replace("@VERSION@", release.version);
    std::fs::write(out.join("install.sh"), installer).context("cannot write the installer")
}

/// A file of the repository.
pub(super) fn read(path: &str) -> anyhow::Result<Vec<u8>> {
    std::fs::read(root().join(path)).with_context(|| format!("cannot read {path}"))
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::dist::platform::Platform;

    #[test]
    fn the_installer_puts_the_names_of_all_archives_together() {
        let script = String::from_utf8(read("packaging/tarball/install.sh").unwrap()).unwrap();
        assert!(script.contains("prowess-$version-$machine-unknown-linux-$libc"));
        for platform in Platform::ALL {
            // The name of every archive has these parts.
            let (machine, libc) = platform.triple().split_once("-unknown-linux-").unwrap();
            assert!(["gnu", "musl"].contains(&libc), "{libc}");
            let machine = format!("machine={machine} ;;");
            assert!(script.contains(&machine), "{machine}");
        }
        for order in ["libraries=\"gnu musl\"", "libraries=\"musl gnu\""] {
            assert!(script.contains(order), "{order}");
        }
    }
}
