//! The npm packages: `prowess`, a launcher that runs anywhere, and `prowess-linux-x64`, the
//! binary, which npm installs only on its platform.

use std::path::Path;

use anyhow::Context;

use super::file_tree::FileTree;
use super::release::Release;
use super::tarball::read;

const MAIN: &str = "packaging/npm/prowess";
const PLATFORM: &str = "packaging/npm/linux-x64";

/// Writes both packages, in the format of `npm pack`.
pub(super) fn write(release: &Release, out: &Path) -> anyhow::Result<()> {
    let mut main = FileTree::default();
    main.add("package.json", manifest(MAIN, release)?);
    main.add("README.md", read(&format!("{MAIN}/README.md"))?);
    main.add("LICENSE", read("LICENSE")?);
    main.add_program("bin/prowess.js", read(&format!("{MAIN}/bin/prowess.js"))?);
    pack(&main, "prowess", release, out)?;

    let mut platform = FileTree::default();
    platform.add("package.json", manifest(PLATFORM, release)?);
    platform.add("README.md", read(&format!("{PLATFORM}/README.md"))?);
    platform.add("LICENSE", read("LICENSE")?);
    platform.add_program("bin/prowess", release.read_binary()?);
    pack(&platform, "prowess-linux-x64", release, out)
}

/// The `package.json` with this version.
fn manifest(folder: &str, release: &Release) -> anyhow::Result<String> {
    let text = String::from_utf8(read(&format!("{folder}/package.json"))?)?;
    Ok(text.replace("@VERSION@", release.version))
}

fn pack(files: &FileTree, name: &str, release: &Release, out: &Path) -> anyhow::Result<()> {
    let archive = files.tar_gz("package", release.date, release.compression())?;
    let file = format!("{name}-{}.tgz", release.version);
    std::fs::write(out.join(&file), archive).with_context(|| format!("cannot write {file}"))
}
