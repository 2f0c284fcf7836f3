//! The Debian package: binary, services, users, AppArmor profile, man pages, completions.
//!
//! The files are those of `packaging/deb/`; `dpkg-deb` packs them, which gives the same bytes
//! for the same files and dates. It needs no other tool and packages a binary that exists.

use std::path::Path;

use anyhow::Context;

use super::file_tree::{FileTree, gzip};
use super::program::GlibcVersion;
use super::release::Release;
use super::tarball::read;
use crate::run::{command, run};
use crate::setup::path_text;

const SOURCES: &str = "packaging/deb";
const MAINTAINER: &str = "Prowess developers <prowess-dev@users.noreply.github.com>";

/// Writes `prowess_VERSION-REVISION_ARCHITECTURE.deb`.
pub(super) fn write(
    release: &Release,
    bill: &str,
    revision: u32,
    out: &Path,
) -> anyhow::Result<()> {
    let version = format!("{}-{revision}", release.version);
    let files = files(release, bill, &version)?;
    let stage = release.work_folder().join("deb");
    files.write_to(&stage, release.date)?;
    control(release, &version, &files, &stage)?.write_to(&stage, release.date)?;

    let architecture = release.platform.debian_architecture();
    let package = out.join(format!("prowess_{version}_{architecture}.deb"));
    let compress: &[&str] = if release.quick {
        &["-Zgzip", "-z1"]
    } else {
        &["-Zxz"]
    };
    let mut pack = command("dpkg-deb", &["--root-owner-group"]);
    pack.args(compress)
        .args(["--build", &path_text(&stage)?, &path_text(&package)?])
        .env("SOURCE_DATE_EPOCH", release.date.to_string());
    run(&mut pack).context("`dpkg-deb` comes with the package dpkg")
}

/// What is installed.
fn files(release: &Release, bill: &str, version: &str) -> anyhow::Result<FileTree> {
    let source = |name: &str| read(&format!("{SOURCES}/{name}"));
    let mut files = FileTree::default();
    files.add_program("usr/bin/prowess", release.read_binary()?);
    files.add_program("usr/libexec/prowess/start", source("start")?);
    for unit in ["prowess.service", "prowess-worker.service"] {
        files.add(format!("lib/systemd/system/{unit}"), source(unit)?);
    }
    files.add("usr/lib/sysusers.d/prowess.conf", source("sysusers.conf")?);
    files.add("usr/share/prowess/apparmor/prowess", source("apparmor")?);
    files.add("etc/prowess/prowess.toml", source("prowess.toml")?);
    files.add("etc/prowess/worker.toml", source("worker.toml")?);

    let scripts = &release.pages.completions;
    files.add(
        "usr/share/bash-completion/completions/prowess",
        scripts.bash.clone(),
    );
    files.add(
        "usr/share/zsh/vendor-completions/_prowess",
        scripts.zsh.clone(),
    );
    files.add(
        "usr/share/fish/vendor_completions.d/prowess.fish",
        scripts.fish.clone(),
    );
    for (page, text) in &release.pages.man {
        files.add(format!("usr/share/man/man1/{page}.gz"), gzip(text)?);
    }

    let documentation = |name: &str| format!("usr/share/doc/prowess/{name}");
    files.add(documentation("copyright"), source("copyright")?);
    files.add(documentation("changelog.gz"), gzip(&read("CHANGELOG.md")?)?);
    let changes = gzip(changelog(release, version)?.as_bytes())?;
    files.add(documentation("changelog.Debian.gz"), changes);
    files.add(documentation("prowess.cdx.json.gz"), gzip(bill.as_bytes())?);
    let overrides = "usr/share/lintian/overrides/prowess";
    files.add(overrides, source("lintian-overrides")?);
    Ok(files)
}

/// What dpkg reads. The other files must be below `stage` already.
fn control(
    release: &Release,
    version: &str,
    files: &FileTree,
    stage: &Path,
) -> anyhow::Result<FileTree> {
    let source = |name: &str| read(&format!("{SOURCES}/{name}"));
    let text = String::from_utf8(source("control")?)?;
    let text = text
        .replace("@VERSION@", version)
        .replace("@ARCHITECTURE@", release.platform.debian_architecture())
        .replace("@MAINTAINER@", MAINTAINER)
        .replace("@SIZE@", &files.size().div_ceil(1024).to_string())
        .replace(
            "@LIBRARIES@",
            &library_packages(&release.libraries, release.glibc)?,
        );
    let mut control = FileTree::default();
    control.add("DEBIAN/control", text);
    let configurations = "/etc/prowess/prowess.toml\n/etc/prowess/worker.toml\n";
    control.add("DEBIAN/conffiles", configurations);
    control.add("DEBIAN/md5sums", md5_sums(files, stage)?);
    for script in ["postinst", "prerm", "postrm"] {
        control.add_program(format!("DEBIAN/{script}"), source(script)?);
    }
    Ok(control)
}

/// The packages of the libraries that the binary is linked with.
fn library_packages(libraries: &[String], glibc: Option<GlibcVersion>) -> anyhow::Result<String> {
    let glibc = glibc.context("a Debian package needs a program that is linked with glibc")?;
    let mut packages = Vec::new();
    for library in libraries {
        let package = match library.as_str() {
            "libc.so.6"
            | "libm.so.6"
            | "libdl.so.2"
            | "libpthread.so.0"
            | "librt.so.1"
            | "ld-linux-x86-64.so.2"
            | "ld-linux-aarch64.so.1" => format!("libc6 (>= {glibc})"),
            "libgcc_s.so.1" => "libgcc-s1".to_owned(),
            other => anyhow::bail!("which Debian package has {other}? Name it in {}", file!()),
        };
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    Ok(packages.join(", "))
}

/// Debian's own changelog, with the one entry of this version.
fn changelog(release: &Release, version: &str) -> anyhow::Result<String> {
    let date = format!("--date=@{}", release.date);
    let date = command("date", &["--utc", "--rfc-email", &date]).output()?;
    anyhow::ensure!(
        date.status.success(),
        "`date` cannot format {}",
        release.date
    );
    let date = String::from_utf8(date.stdout)?;
    Ok(format!(
        "prowess ({version}) unstable; urgency=medium\n\n  \
         * Version {}. The changes are listed in changelog.gz.\n\n \
         -- {MAINTAINER}  {}\n",
        release.version,
        date.trim()
    ))
}

fn md5_sums(files: &FileTree, stage: &Path) -> anyhow::Result<Vec<u8>> {
    // Debian lists no sums of configuration files, which people change.
    let paths = files.paths().filter(|path| !path.starts_with("etc/"));
    let output = command("md5sum", &["--"])
        .args(paths)
        .current_dir(stage)
        .output()
        .context("`md5sum` comes with the package coreutils")?;
    anyhow::ensure!(output.status.success(), "md5sum failed");
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_of_packages_on_every_processor() {
        let glibc = GlibcVersion::parse("GLIBC_2.28");
        for loader in ["ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"] {
            let libraries = [loader, "libc.so.6", "libgcc_s.so.1", "libm.so.6"];
            let packages = library_packages(&libraries.map(str::to_owned), glibc).unwrap();
            assert_eq!(packages, "libc6 (>= 2.28), libgcc-s1");
        }
        let unknown = library_packages(&["libssl.so.3".to_owned()], glibc).unwrap_err();
        assert!(unknown.to_string().contains("libssl.so.3"), "{unknown}");
        assert!(library_packages(&[], None).is_err());
    }
}
