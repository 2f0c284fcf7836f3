//! `cargo xtask dist`: makes what people install.
//!
//! One build of the binary per platform is packaged several times, one file here per artefact. The
//! bytes of an artefact depend on the binary, the repository and the commit's date alone. Nothing
//! here uploads or signs anything.
//!
//! | module | owns |
//! |---|---|
//! | `platform` | the platforms that artefacts are made for, and their names |
//! | `release` | what all artefacts share: version, date, binary, man pages, completions |
//! | `program` | building and stripping the binary, and what it needs of its host |
//! | `tag` | whether a tag is that of the version |
//! | `file_tree` | files in memory, and archives of them |
//! | `deb`, `tarball`, `npm`, `wheel`, `image`, `sbom` | one artefact each |
//! | `image_root`, `image_runtime` | the Debian inside the image; the runtime inside the image `full` |
//! | `sums` | `SHA256SUMS` |
//! | `tools` | programs that packaging needs |

mod deb;
mod file_tree;
mod image;
mod image_root;
mod image_runtime;
mod npm;
mod platform;
mod program;
mod release;
#[cfg(test)]
mod release_workflow_tests;
mod sbom;
mod sums;
mod tag;
mod tarball;
mod tools;
mod wheel;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context;
use clap::ValueEnum as _;

use crate::run::{root, target};
use platform::Platform;
use release::Release;

pub(crate) use image_root::install as install_image_root;
pub(crate) use program::strip;
pub(crate) use tools::{ToolSet, with_first};

/// Make what people install, from one build.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Profile of the build
    #[arg(long, value_name = "PROFILE", default_value = "dist")]
    profile: String,
    /// Package this binary instead of building one; the Python module is built all the same
    #[arg(long, value_name = "FILE", conflicts_with = "glibc")]
    binary: Option<PathBuf>,
    /// Make them for these platforms, with the linker of zig; default: this host's
    #[arg(long = "target", value_delimiter = ',', value_name = "TRIPLE")]
    targets: Vec<Platform>,
    /// Build for hosts with this version of glibc and later (2.28), with the linker of zig.
    /// Without it the build needs a glibc as recent as this host's, and 2.28 on other platforms
    #[arg(long, value_name = "VERSION")]
    glibc: Option<String>,
    /// Have this program write man pages and completions. Without it, the binary writes them
    /// where it runs on this host, and otherwise one that is built for this host
    #[arg(long, value_name = "FILE")]
    host_binary: Option<PathBuf>,
    /// Fail unless this is the tag of the version, and the changelog describes it
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only these artefacts
    #[arg(long, value_delimiter = ',', value_name = "ARTEFACT")]
    only: Vec<Artefact>,
    /// Also make the container image `full`, with this runtime: DATA/sandbox/runtimes/NAME/current
    #[arg(long, value_name = "FOLDER")]
    runtime: Option<PathBuf>,
    /// Where to write; default: target/dist/artefacts
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Revision of the Debian package of this version
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    revision: u32,
    /// Compress less, for tests
    #[arg(long)]
    quick: bool,
}

/// What can be made. Bills of materials and the sums are always made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Artefact {
    /// A Debian package
    Deb,
    /// An archive with the binary, and the script that installs it
    Tarball,
    /// A Python wheel with the module and the binary
    Wheel,
    /// npm packages: the launcher, and the binary for each platform
    Npm,
    /// A container image with Debian; unless it is asked for, it is left out where mmdebstrap
    /// is not installed
    Image,
}

impl Artefact {
    fn is_made_for(self, platform: Platform, host: Platform) -> bool {
        match self {
            Artefact::Tarball | Artefact::Wheel | Artefact::Npm => true,
            // Debian has glibc, and two packages for one architecture would have one name.
            Artefact::Deb => !platform.is_static(),
            // Programs of its Debian run while it is made, and its seccomp profile is for x86-64.
            Artefact::Image => platform == Platform::X86Gnu && platform.machine() == host.machine(),
        }
    }
}

impl Args {
    /// A quick packaging of a binary, without the Python module.
    pub(crate) fn for_tests(binary: PathBuf, out: PathBuf) -> Args {
        Args {
            profile: "dev".to_owned(),
            binary: Some(binary),
            targets: Vec::new(),
            glibc: None,
            host_binary: None,
            tag: None,
            only: vec![Artefact::Deb, Artefact::Tarball, Artefact::Npm],
            runtime: None,
            out: Some(out),
            revision: 1,
            quick: true,
        }
    }

    fn makes(&self, artefact: Artefact) -> bool {
        self.only.is_empty() || self.only.contains(&artefact)
    }

    fn out(&self) -> PathBuf {
        match &self.out {
            Some(out) => root().join(out),
            None => target().join("dist/artefacts"),
        }
    }

    /// The platforms to make artefacts for, each once. Those whose program runs here come first:
    /// it writes the man pages of all.
    fn platforms(&self, host: Platform) -> anyhow::Result<Vec<Platform>> {
        let mut platforms: Vec<Platform> = Vec::new();
        for target in &self.targets {
            if !platforms.contains(target) {
                platforms.push(*target);
            }
        }
        if platforms.is_empty() {
            platforms.push(host);
        }
        platforms.sort_by_key(|platform| !platform.runs_on(host));
        anyhow::ensure!(
            self.binary.is_none() || platforms.len() == 1,
            "--binary is a program for one platform: name one --target"
        );
        for artefact in &self.only {
            let is_made = |platform: &Platform| artefact.is_made_for(*platform, host);
            if !platforms.iter().any(is_made) {
                let triples: Vec<&str> = platforms.iter().map(|one| one.triple()).collect();
                let name = artefact.to_possible_value();
                anyhow::bail!(
                    "--only={} gives nothing: there is none for {}",
                    name.as_ref().map_or("", |name| name.get_name()),
                    triples.join(", ")
                );
            }
        }
        Ok(platforms)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let host = Platform::host()?;
    let platforms = args.platforms(host)?;
    if let Some(tag) = &args.tag {
        tag::check(tag)?;
    }
    if args.binary.is_none() || args.makes(Artefact::Wheel) {
        let others = platforms.iter().filter(|platform| **platform != host);
        for platform in others {
            program::check_standard_library(*platform)?;
        }
    }
    let runtime = args.runtime.as_ref().map(|folder| root().join(folder));
    if let Some(runtime) = &runtime {
        anyhow::ensure!(
            args.makes(Artefact::Image),
            "a runtime is for the container image: add `image` to --only"
        );
        let is_image = |platform: &Platform| Artefact::Image.is_made_for(*platform, host);
        anyhow::ensure!(
            platforms.iter().any(is_image),
            "a runtime is for the container image: there is none for these targets"
        );
        anyhow::ensure!(
            image_root::is_possible(),
            "a runtime is for the container image: install the package mmdebstrap"
        );
        image_runtime::check(runtime)?;
    }
    let out = args.out();
    let made = out.exists() && std::fs::read_dir(&out)?.next().is_some();
    anyhow::ensure!(
        !made || out.join(sums::FILE).exists(),
        "{} has files and no {}: remove it, or choose another folder with --out",
        out.display(),
        sums::FILE
    );
    if made {
        // Files of an earlier version would be listed as part of this one.
        std::fs::remove_dir_all(&out).with_context(|| format!("cannot empty {}", out.display()))?;
    }
    std::fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;

    let mut pages = None;
    let mut made_for = Vec::new();
    for platform in &platforms {
        let is_first = pages.is_none();
        let release = Release::prepare(args, *platform, host, pages)?;
        write(args, &release, host, runtime.as_deref(), &out)?;
        if is_first && args.makes(Artefact::Tarball) {
            tarball::write_installer(&release, &out)?;
        }
        if is_first && args.makes(Artefact::Npm) {
            npm::write_launcher(&release, &platforms, &out)?;
        }
        made_for.push(release.described());
        pages = Some(Rc::clone(&release.pages));
    }
    sums::write(&out)?;
    eprintln!("made in {}:", out.display());
    for described in made_for {
        eprintln!("for {described}");
    }
    Ok(())
}

/// Writes the artefacts of one platform.
fn write(
    args: &Args,
    release: &Release,
    host: Platform,
    runtime: Option<&Path>,
    out: &Path,
) -> anyhow::Result<()> {
    let makes =
        |artefact: Artefact| args.makes(artefact) && artefact.is_made_for(release.platform, host);
    let bill = sbom::write(release, out)?;
    if makes(Artefact::Tarball) {
        tarball::write(release, out)?;
    }
    if makes(Artefact::Deb) {
        deb::write(release, &bill, args.revision, out)?;
    }
    if makes(Artefact::Npm) {
        npm::write(release, out)?;
    }
    if makes(Artefact::Wheel) {
        wheel::write(release, args, host, out)?;
    }
    if makes(Artefact::Image) {
        if args.only.is_empty() && !image_root::is_possible() {
            eprintln!("no container image: install the package mmdebstrap");
        } else {
            image::write(release, &bill, runtime, out)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(targets: &[Platform], only: &[Artefact]) -> Args {
        Args {
            binary: None,
            targets: targets.to_vec(),
            only: only.to_vec(),
            ..Args::for_tests(PathBuf::new(), PathBuf::new())
        }
    }

    #[test]
    fn platforms_are_made_once_and_those_that_run_here_first() {
        let host = Platform::X86Gnu;
        let named = [Platform::ArmGnu, Platform::X86Musl, Platform::ArmGnu];
        assert_eq!(
            args(&named, &[]).platforms(host).unwrap(),
            [Platform::X86Musl, Platform::ArmGnu]
        );
        assert_eq!(args(&[], &[]).platforms(host).unwrap(), [host]);
    }

    #[test]
    fn what_no_platform_has_cannot_be_the_only_artefact() {
        let host = Platform::X86Gnu;
        let refused = |targets: &[Platform], only: &[Artefact]| {
            let refused = args(targets, only).platforms(host).unwrap_err();
            refused.to_string()
        };
        let deb = refused(&[Platform::X86Musl], &[Artefact::Tarball, Artefact::Deb]);
        assert_eq!(
            deb,
            "--only=deb gives nothing: there is none for x86_64-unknown-linux-musl"
        );
        let image = refused(&[Platform::ArmGnu], &[Artefact::Image]);
        assert!(image.starts_with("--only=image gives nothing"), "{image}");
        let both = [Platform::X86Musl, Platform::ArmGnu];
        assert!(args(&both, &[Artefact::Deb]).platforms(host).is_ok());
    }

    #[test]
    fn one_program_is_not_packaged_for_several_platforms() {
        let mut args = args(&[Platform::X86Gnu, Platform::ArmGnu], &[]);
        args.binary = Some("prowess".into());
        let refused = args.platforms(Platform::X86Gnu).unwrap_err();
        assert!(refused.to_string().contains("name one --target"));
    }
}
