//! `cargo xtask dist`: makes what people install.
//!
//! One build of the binary is packaged several times, one file here per artefact. The bytes
//! of an artefact depend on the binary, the repository and the commit's date alone. Nothing
//! here uploads or signs anything.
//!
//! | module | owns |
//! |---|---|
//! | `release` | what all artefacts share: version, date, binary, man pages, completions |
//! | `program` | building and stripping the binary, and what it needs of its host |
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
mod program;
mod release;
mod sbom;
mod sums;
mod tarball;
mod tools;
mod wheel;

use std::path::PathBuf;

use anyhow::Context;

use crate::run::{root, target};
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
    /// Build for hosts with this version of glibc and later (2.28), with the linker of zig.
    /// Without it the build needs a glibc as recent as this host's
    #[arg(long, value_name = "VERSION")]
    glibc: Option<String>,
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

/// What can be made. The bill of materials and the sums are always made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Artefact {
    /// A Debian package
    Deb,
    /// An archive with the binary, and the script that installs it
    Tarball,
    /// A Python wheel with the module and the binary
    Wheel,
    /// npm packages: the launcher, and the binary for this platform
    Npm,
    /// A container image with Debian; unless it is asked for, it is left out where mmdebstrap
    /// is not installed
    Image,
}

impl Args {
    /// A quick packaging of a binary, without the Python module.
    pub(crate) fn for_tests(binary: PathBuf, out: PathBuf) -> Args {
        Args {
            profile: "dev".to_owned(),
            binary: Some(binary),
            glibc: None,
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
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let runtime = args.runtime.as_ref().map(|folder| root().join(folder));
    if let Some(runtime) = &runtime {
        anyhow::ensure!(
            args.makes(Artefact::Image),
            "a runtime is for the container image: add `image` to --only"
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

    let release = Release::prepare(args)?;
    let bill = sbom::write(&release, &out)?;
    if args.makes(Artefact::Tarball) {
        tarball::write(&release, &out)?;
    }
    if args.makes(Artefact::Deb) {
        deb::write(&release, &bill, args.revision, &out)?;
    }
    if args.makes(Artefact::Npm) {
        npm::write(&release, &out)?;
    }
    if args.makes(Artefact::Wheel) {
        wheel::write(&release, args, &out)?;
    }
    if args.only.is_empty() && !image_root::is_possible() {
        eprintln!("no container image: install the package mmdebstrap");
    } else if args.makes(Artefact::Image) {
        image::write(&release, &bill, runtime.as_deref(), &out)?;
    }
    sums::write(&out)?;
    eprintln!(
        "made in {}, for Linux on x86-64 with glibc {} or later",
        out.display(),
        release.glibc
    );
    Ok(())
}
