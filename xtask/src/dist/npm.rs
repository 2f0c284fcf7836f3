//! The npm packages: `prowess`, a launcher that runs anywhere, and for each platform one with the
//! binary (`prowess-linux-x64`, `prowess-linux-x64-musl`, …), which npm installs where it runs.

use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value, json};

use super::file_tree::FileTree;
use super::platform::Platform;
use super::release::Release;
use super::tarball::read;

const MAIN: &str = "packaging/npm/prowess";
const PLATFORM: &str = "packaging/npm/platform";

/// Writes the package of the launcher, which depends on those of these platforms.
pub(super) fn write_launcher(
    release: &Release,
    platforms: &[Platform],
    out: &Path,
) -> anyhow::Result<()> {
    let fields = launcher_fields(platforms, release.version);
    let mut main = FileTree::default();
    main.add("package.json", manifest(MAIN, fields)?);
    main.add("README.md", read(&format!("{MAIN}/README.md"))?);
    main.add("LICENSE", read("LICENSE")?);
    main.add_program("bin/prowess.js", read(&format!("{MAIN}/bin/prowess.js"))?);
    pack(&main, "prowess", release, out)
}

/// Writes the package with the binary of a platform, in the format of `npm pack`.
pub(super) fn write(release: &Release, out: &Path) -> anyhow::Result<()> {
    let name = release.platform.npm_package();
    let glibc = release.glibc.map(|glibc| glibc.to_string());
    let fields = platform_fields(release.platform, release.version, glibc.as_deref());
    let text = String::from_utf8(read(&format!("{PLATFORM}/README.md"))?)?;
    let text = text
        .replace("@NAME@", &name)
        .replace("@WHERE@", &release.described());
    let mut platform = FileTree::default();
    platform.add("package.json", manifest(PLATFORM, fields)?);
    platform.add("README.md", text);
    platform.add("LICENSE", read("LICENSE")?);
    platform.add_program("bin/prowess", release.read_binary()?);
    pack(&platform, &name, release, out)
}

fn launcher_fields(platforms: &[Platform], version: &str) -> Value {
    let packages = platforms.iter().map(|platform| platform.npm_package());
    let dependencies: Map<String, Value> = packages.map(|name| (name, json!(version))).collect();
    json!({ "version": version, "optionalDependencies": dependencies })
}

/// npm compares `os`, `cpu` and `libc` with the host. What is static has no `libc`: it is also
/// for hosts whose glibc is older than the one that the launcher reads from `glibcVersion`.
fn platform_fields(platform: Platform, version: &str, glibc: Option<&str>) -> Value {
    let mut fields = json!({
        "name": platform.npm_package(),
        "version": version,
        "description": format!("The prowess binary for {}.", platform.triple()),
        "cpu": [platform.node_architecture()],
    });
    if let (Some(fields), Some(glibc)) = (fields.as_object_mut(), glibc) {
        fields.insert("libc".to_owned(), json!(["glibc"]));
        fields.insert("glibcVersion".to_owned(), json!(glibc));
    }
    fields
}

/// The `package.json` of a folder, with more fields or others.
fn manifest(folder: &str, fields: Value) -> anyhow::Result<String> {
    let path = format!("{folder}/package.json");
    let mut manifest: Map<String, Value> =
        serde_json::from_slice(&read(&path)?).with_context(|| format!("{path} is not JSON"))?;
    if let Value::Object(fields) = fields {
        manifest.extend(fields);
    }
    Ok(format!("{:#}\n", Value::Object(manifest)))
}

fn pack(files: &FileTree, name: &str, release: &Release, out: &Path) -> anyhow::Result<()> {
    let archive = files.tar_gz("package", release.date, release.compression())?;
    let file = format!("{name}-{}.tgz", release.version);
    std::fs::write(out.join(&file), archive).with_context(|| format!("cannot write {file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_manifest(folder: &str, fields: Value) -> Value {
        serde_json::from_str(&manifest(folder, fields).unwrap()).unwrap()
    }

    #[test]
    fn the_launcher_depends_on_the_packages_that_are_made_with_it() {
        let made = [Platform::X86Gnu, Platform::ArmMusl];
        let manifest = read_manifest(MAIN, launcher_fields(&made, "1.2.3"));
        assert_eq!(manifest["name"], "prowess");
        assert_eq!(manifest["version"], "1.2.3");
        let dependencies = json!({
            "prowess-linux-x64": "1.2.3",
            "prowess-linux-arm64-musl": "1.2.3",
        });
        assert_eq!(manifest["optionalDependencies"], dependencies);
    }

    #[test]
    fn npm_learns_on_which_hosts_a_program_runs() {
        let fields = platform_fields(Platform::ArmGnu, "1.2.3", Some("2.28"));
        let glibc = read_manifest(PLATFORM, fields);
        assert_eq!(glibc["name"], "prowess-linux-arm64");
        assert_eq!(glibc["os"], json!(["linux"]));
        assert_eq!(glibc["cpu"], json!(["arm64"]));
        assert_eq!(glibc["libc"], json!(["glibc"]));
        assert_eq!(glibc["glibcVersion"], "2.28");

        let fields = platform_fields(Platform::X86Musl, "1.2.3", None);
        let everywhere = read_manifest(PLATFORM, fields);
        assert_eq!(everywhere["name"], "prowess-linux-x64-musl");
        assert_eq!(everywhere["cpu"], json!(["x64"]));
        assert_eq!(everywhere.get("libc"), None);
        assert_eq!(everywhere.get("glibcVersion"), None);
    }

    #[test]
    fn the_launcher_puts_the_names_of_all_packages_together() {
        let script = String::from_utf8(read(&format!("{MAIN}/bin/prowess.js")).unwrap()).unwrap();
        assert!(script.contains("`prowess-${process.platform}-${process.arch}`"));
        assert!(script.contains("`${name}-musl/"));
    }
}
