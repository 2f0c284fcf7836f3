//! The binary that is packaged: its build, and what it needs of its host.
//!
//! Must not know the artefacts.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;
use serde_json::Value;

use super::platform::Platform;
use super::tools::{ToolSet, with_first};
use crate::run::{cargo, command, run};
use crate::setup::path_text;

/// The glibc that programs for other platforms need, unless another version is named. This
/// host's says nothing about theirs.
const DEFAULT_GLIBC: &str = "2.28";

/// What cargo-zigbuild is to build for; `None` where the linker of this host will do.
pub(super) fn zig_target(
    platform: Platform,
    host: Platform,
    glibc: Option<&str>,
) -> Option<String> {
    let triple = platform.triple();
    if platform.is_static() {
        return (platform != host).then(|| triple.to_owned());
    }
    let default = (platform != host).then_some(DEFAULT_GLIBC);
    let version = glibc.or(default)?;
    Some(format!("{triple}.{version}"))
}

/// Builds the binary, and returns where it is. What is built with zig has no symbols.
pub(super) fn build(profile: &str, zig_target: Option<&str>) -> anyhow::Result<PathBuf> {
    let what = ["--locked", "--package=prowess-cli", "--bin=prowess"];
    let mut build = match zig_target {
        None => cargo(&["build"]),
        // The linker of zig has the symbols of every version of glibc, and the whole of musl.
        Some(target) => {
            let tools = ToolSet::Zig.install()?.join("bin");
            let mut build = command(tools.join("cargo-zigbuild"), &["zigbuild"]);
            build.env("PATH", with_first(tools)?);
            // The host's `strip` knows no programs for other processors.
            build.env(strip_setting(profile), "symbols");
            build.args(["--target", target]);
            build
        }
    };
    build.args(what).args(["--profile", profile]);
    build.arg("--message-format=json-render-diagnostics");
    let built = build.stderr(Stdio::inherit()).output();
    let built = built.context("cannot start the build of the binary")?;
    anyhow::ensure!(built.status.success(), "the binary does not build");
    executable(&String::from_utf8(built.stdout)?)
}

/// The variable that has cargo remove symbols, as `strip` in `Cargo.toml` would.
fn strip_setting(profile: &str) -> String {
    let profile = profile.to_uppercase().replace('-', "_");
    format!("CARGO_PROFILE_{profile}_STRIP")
}

/// Whether Rust can build for a platform; found out before the first build, which takes long.
pub(super) fn check_standard_library(platform: Platform) -> anyhow::Result<()> {
    let triple = platform.triple();
    let print = ["--print", "target-libdir", "--target", triple];
    let printed = command("rustc", &print).output();
    let printed = printed.context("cannot start rustc")?;
    anyhow::ensure!(
        printed.status.success(),
        "rustc does not know {triple}: {}",
        String::from_utf8_lossy(&printed.stderr).trim()
    );
    let folder = String::from_utf8(printed.stdout)?;
    anyhow::ensure!(
        Path::new(folder.trim()).is_dir(),
        missing_standard_library(triple)
    );
    Ok(())
}

fn missing_standard_library(triple: &str) -> String {
    format!(
        "Rust's standard library for {triple} is not installed: run `rustup target add {triple}`"
    )
}

/// Where cargo put the binary, by its own messages.
fn executable(messages: &str) -> anyhow::Result<PathBuf> {
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).context("cargo printed no JSON")?;
        let name = message.pointer("/target/name").and_then(Value::as_str);
        let program = message.get("executable").and_then(Value::as_str);
        if let (Some("prowess"), Some(program)) = (name, program) {
            return Ok(program.into());
        }
    }
    anyhow::bail!("cargo built no binary `prowess`")
}

/// Writes a copy of a program without symbols. Their names and sizes depend on the build's
/// folder, and they are most of an unoptimised build.
pub(crate) fn strip(program: &Path, copy: &Path) -> anyhow::Result<()> {
    if let Some(folder) = copy.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let (from, to) = (path_text(program)?, path_text(copy)?);
    run(&mut command(
        "strip",
        &["--strip-all", "--remove-section=.comment", "-o", &to, &from],
    ))
    .context("`strip` comes with the package binutils")
}

/// Refuses a program for another processor, whose name the artefacts would not have.
pub(super) fn check_machine(program: &Path, platform: Platform) -> anyhow::Result<()> {
    let mut head = [0; 20];
    let read = File::open(program).and_then(|mut file| file.read_exact(&mut head));
    read.with_context(|| format!("cannot read {}", program.display()))?;
    anyhow::ensure!(
        elf_machine(&head) == Some(platform.elf_machine()),
        "{} is not a program for {}",
        program.display(),
        platform.triple()
    );
    Ok(())
}

/// The processor of a program, by its first bytes.
fn elf_machine(head: &[u8]) -> Option<u16> {
    let head = head.strip_prefix(b"\x7fELF")?;
    // Little-endian, as both processors are.
    let machine = head.get(14..16)?.try_into().ok()?;
    Some(u16::from_le_bytes(machine))
}

/// Shared libraries that a program is linked with, and the newest version of glibc whose
/// symbols it uses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HostNeeds {
    pub(super) libraries: Vec<String>,
    /// None for a static program.
    pub(super) glibc: Option<GlibcVersion>,
}

impl HostNeeds {
    /// Refuses a program that would not run wherever the platform's name promises.
    fn check(&self, platform: Platform) -> Result<(), String> {
        if platform.is_static() && !self.libraries.is_empty() {
            return Err(format!(
                "it needs {}, and a program for {} needs no library",
                self.libraries.join(", "),
                platform.triple()
            ));
        }
        if !platform.is_static() && self.glibc.is_none() {
            return Err("it is not linked with glibc".to_owned());
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GlibcVersion {
    major: u32,
    minor: u32,
}

impl std::fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl GlibcVersion {
    /// From the name of a symbol's version: `GLIBC_2.17`, `GLIBC_2.2.5`.
    pub(super) fn parse(text: &str) -> Option<GlibcVersion> {
        let mut parts = text.strip_prefix("GLIBC_")?.split('.');
        Some(GlibcVersion {
            major: parts.next()?.parse().ok()?,
            minor: parts.next()?.parse().ok()?,
        })
    }

    /// The tag of wheels that need it.
    pub(super) fn manylinux(self) -> String {
        format!("manylinux_{}_{}", self.major, self.minor)
    }
}

/// Reads what the dynamic loader would read. `objdump` reads it of any processor's programs.
pub(super) fn host_needs(program: &Path, platform: Platform) -> anyhow::Result<HostNeeds> {
    let listed = command("objdump", &["--private-headers", &path_text(program)?]).output();
    let listed = listed.context("`objdump` comes with the package binutils")?;
    anyhow::ensure!(
        listed.status.success(),
        "{} is not a program: {}",
        program.display(),
        String::from_utf8_lossy(&listed.stderr).trim()
    );
    let needs = parse_host_needs(&String::from_utf8_lossy(&listed.stdout));
    let checked = needs.check(platform).map_err(anyhow::Error::msg);
    checked.with_context(|| format!("{} cannot be packaged", program.display()))?;
    Ok(needs)
}

/// `objdump` lists libraries as `  NEEDED  libc.so.6`, and versions of symbols as
/// `    0x06969197 0x00 05 GLIBC_2.17`.
fn parse_host_needs(text: &str) -> HostNeeds {
    let words = || text.lines().map(str::split_whitespace);
    let mut libraries: Vec<String> = words()
        .filter_map(|mut line| {
            (line.next()? == "NEEDED").then(|| line.next().map(str::to_owned))?
        })
        .collect();
    libraries.sort();
    let versions = words().filter_map(|line| GlibcVersion::parse(line.last()?));
    HostNeeds {
        libraries,
        glibc: versions.max(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_newest_symbols_are_read() {
        let text = "Dynamic Section:\n  NEEDED               libm.so.6\n  \
            NEEDED               libc.so.6\n\nVersion References:\n  required from libc.so.6:\n    \
            0x09691a75 0x00 04 GLIBC_2.2.5\n    0x069691b4 0x00 03 GLIBC_2.34\n    \
            0x06969197 0x00 05 GLIBC_2.17\n    0x0b792650 0x00 06 GCC_3.0\n";
        let needs = parse_host_needs(text);
        assert_eq!(needs.libraries, ["libc.so.6", "libm.so.6"]);
        let glibc = needs.glibc.unwrap();
        assert_eq!(glibc.to_string(), "2.34");
        assert_eq!(glibc.manylinux(), "manylinux_2_34");
        assert_eq!(needs.check(Platform::ArmGnu), Ok(()));
        let refused = needs.check(Platform::X86Musl).unwrap_err();
        assert!(
            refused.starts_with("it needs libc.so.6, libm.so.6"),
            "{refused}"
        );
    }

    #[test]
    fn a_static_program_needs_nothing_and_a_shared_musl_is_not_glibc() {
        let nothing = parse_host_needs("Dynamic Section:\n  SYMTAB  0x0000000000000300\n");
        assert_eq!(nothing.check(Platform::X86Musl), Ok(()));
        let refused = nothing.check(Platform::X86Gnu).unwrap_err();
        assert!(refused.contains("not linked with glibc"), "{refused}");
        let shared = parse_host_needs("  NEEDED  libc.musl-x86_64.so.1\n");
        assert!(shared.check(Platform::X86Musl).is_err());
        assert!(shared.check(Platform::X86Gnu).is_err());
    }

    #[test]
    fn zig_builds_what_the_linker_of_the_host_cannot() {
        let target = |platform, glibc| zig_target(platform, Platform::X86Gnu, glibc);
        assert_eq!(target(Platform::X86Gnu, None), None);
        let older = target(Platform::X86Gnu, Some("2.31")).unwrap();
        assert_eq!(older, "x86_64-unknown-linux-gnu.2.31");
        let others = [
            (Platform::ArmGnu, None, "aarch64-unknown-linux-gnu.2.28"),
            (
                Platform::ArmGnu,
                Some("2.31"),
                "aarch64-unknown-linux-gnu.2.31",
            ),
            (Platform::X86Musl, Some("2.31"), "x86_64-unknown-linux-musl"),
            (Platform::ArmMusl, None, "aarch64-unknown-linux-musl"),
        ];
        for (platform, glibc, expected) in others {
            assert_eq!(target(platform, glibc).unwrap(), expected);
        }
        let on_musl = zig_target(Platform::X86Musl, Platform::X86Musl, Some("2.31"));
        assert_eq!(on_musl, None);
    }

    #[test]
    fn the_setting_of_a_profile_is_named_as_cargo_names_it() {
        assert_eq!(strip_setting("dist"), "CARGO_PROFILE_DIST_STRIP");
        assert_eq!(strip_setting("my-own"), "CARGO_PROFILE_MY_OWN_STRIP");
    }

    #[test]
    fn the_processor_of_a_program_is_read_from_its_head() {
        let head = |machine: u8| {
            let mut head = [0; 20];
            head[..4].copy_from_slice(b"\x7fELF");
            head[18] = machine;
            head
        };
        for platform in Platform::ALL {
            let machine = platform.elf_machine();
            assert_eq!(elf_machine(&head(machine as u8)), Some(machine));
        }
        assert_eq!(elf_machine(b"#!/bin/sh\nexit 0\n..."), None);
        assert_eq!(elf_machine(b"\x7fELF"), None);
    }

    #[test]
    fn a_missing_standard_library_comes_with_the_command_that_installs_it() {
        let message = missing_standard_library("aarch64-unknown-linux-musl");
        assert!(
            message.ends_with("run `rustup target add aarch64-unknown-linux-musl`"),
            "{message}"
        );
    }
}
