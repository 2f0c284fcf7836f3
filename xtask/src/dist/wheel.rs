//! The Python wheel: the module for every Python from 3.10 on, and the binary.
//!
//! `python/prowess/build_backend.py` builds it; here is what a release adds: the binary that
//! all artefacts have, and the tag of the glibc that both need.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Args;
use super::program::TRIPLE;
use super::release::Release;
use super::tools::ToolSet;
use crate::run::{command, run};
use crate::setup::path_text;
use crate::wheels;

/// How tags of wheels name glibc.
const TAG: &str = "manylinux_2_";

/// Builds the wheel.
pub(super) fn write(release: &Release, args: &Args, out: &Path) -> anyhow::Result<()> {
    let (tools, place) = match args.glibc {
        // maturin finds the tag that the module's symbols allow.
        None => (ToolSet::Wheels, "--compatibility pypi".to_owned()),
        Some(_) => {
            let tag = release.glibc.manylinux();
            let place = format!("--compatibility {tag} --zig --target {TRIPLE}");
            (ToolSet::Zig, place)
        }
    };
    let mut build = wheels::builder(&tools.install()?, &["python/prowess"], &release.binary, out)?;
    let arguments = format!("--profile {} {place}", args.profile);
    build
        .env("MATURIN_PEP517_ARGS", arguments)
        .env("SOURCE_DATE_EPOCH", release.date.to_string());
    run(&mut build).context("the wheel does not build")?;
    check_tag(&find(out)?)
}

/// The wheel in a folder.
fn find(folder: &Path) -> anyhow::Result<PathBuf> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "whl") {
            return Ok(path);
        }
    }
    anyhow::bail!("there is no wheel in {}", folder.display())
}

/// maturin looks at the module alone; the binary may need a newer glibc.
fn check_tag(wheel: &Path) -> anyhow::Result<()> {
    let tools = ToolSet::Wheels.install()?.join("bin");
    let shown = command(tools.join("auditwheel"), &["show", &path_text(wheel)?]).output()?;
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let needed = glibc_minor(&shown)
        .with_context(|| format!("auditwheel finds no tag for the wheel: {shown}"))?;
    let tagged = glibc_minor(&path_text(wheel)?).context("the wheel has no tag of glibc")?;
    anyhow::ensure!(
        needed <= tagged,
        "the wheel is tagged {TAG}{tagged}, but its programs need {TAG}{needed}: build all of it \
         with --glibc"
    );
    Ok(())
}

/// The number after `manylinux_2_`, where it is first named.
fn glibc_minor(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once(TAG)?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit());
    digits.into_iter().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::glibc_minor;

    #[test]
    fn tags_are_read_from_names_and_sentences() {
        let name = "prowess-0.1.0-cp310-abi3-manylinux_2_28_x86_64.whl";
        assert_eq!(glibc_minor(name), Some(28));
        assert_eq!(
            glibc_minor("platform tag: \"manylinux_2_5_x86_64\"."),
            Some(5)
        );
        assert_eq!(
            glibc_minor("prowess-0.1.0-cp310-abi3-linux_x86_64.whl"),
            None
        );
    }
}
