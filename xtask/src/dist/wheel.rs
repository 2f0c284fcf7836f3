//! The Python wheel: the module for every Python from 3.10 on, and the binary.
//!
//! `python/prowess/build_backend.py` builds it; here is what a release adds: the binary that
//! all artefacts have, and the tag of the C library that both need.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Args;
use super::platform::Platform;
use super::program::{self, GlibcVersion};
use super::release::Release;
use super::tools::ToolSet;
use crate::run::{command, run};
use crate::setup::path_text;
use crate::wheels;

/// How tags of wheels name glibc.
const TAG: &str = "manylinux_2_";

/// The tag of wheels for musl; the module is linked with the host's, as its Python is.
const MUSL_TAG: &str = "musllinux_1_2";

/// Builds the wheel.
pub(super) fn write(
    release: &Release,
    args: &Args,
    host: Platform,
    out: &Path,
) -> anyhow::Result<()> {
    let platform = release.platform;
    let zig = program::zig_target(platform, host, args.glibc.as_deref());
    let (tools, arguments) = match zig {
        // maturin finds the tag that the module's symbols allow.
        None => (ToolSet::Wheels, "--compatibility pypi".to_owned()),
        Some(_) => (ToolSet::Zig, zig_arguments(platform, release.glibc)),
    };
    // Of its own: pip does not say what it has made.
    let folder = release.work_folder().join("wheel");
    let packages = ["python/prowess"];
    let mut build = wheels::builder(&tools.install()?, &packages, &release.binary, &folder)?;
    let arguments = format!("--profile {} {arguments}", args.profile);
    build
        .env("MATURIN_PEP517_ARGS", arguments)
        .env("SOURCE_DATE_EPOCH", release.date.to_string());
    run(&mut build).context("the wheel does not build")?;
    let wheel = find(&folder)?;
    if platform == host {
        check_tag(&wheel)?;
    }
    let name = wheel.file_name().context("the wheel has no name")?;
    std::fs::copy(&wheel, out.join(name)).context("cannot write the wheel")?;
    Ok(())
}

/// maturin fails if its module needs more than the tag says, which is what the binary needs.
fn zig_arguments(platform: Platform, glibc: Option<GlibcVersion>) -> String {
    let tag = glibc.map_or_else(|| MUSL_TAG.to_owned(), GlibcVersion::manylinux);
    format!("--compatibility {tag} --zig --target {}", platform.triple())
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

/// Where maturin has chosen the tag: it reads the module alone, and the binary may need a newer
/// glibc.
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
    use super::*;

    #[test]
    fn tags_of_other_platforms_are_those_of_their_c_library() {
        let glibc = GlibcVersion::parse("GLIBC_2.28");
        assert_eq!(
            zig_arguments(Platform::ArmGnu, glibc),
            "--compatibility manylinux_2_28 --zig --target aarch64-unknown-linux-gnu"
        );
        assert_eq!(
            zig_arguments(Platform::X86Musl, None),
            "--compatibility musllinux_1_2 --zig --target x86_64-unknown-linux-musl"
        );
    }

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
