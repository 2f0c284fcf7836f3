//! Package layers: requirements become a read-only folder, built once per content in a
//! sandbox of its own whose only way out is the operator's package index, and shared by
//! every session that asks for the same. At run time there is no network.

mod requirements;
mod script;

pub use requirements::Requirements;

use crate::egress::DomainRule;
use crate::policy::{Limits, OutputLimits};
use std::time::Duration;

/// Where the packages of a layer are found inside.
pub(crate) const INSIDE: &str = "/packages/python";

/// Where a build leaves them, in its own `/mnt/data`.
pub(crate) const BUILT: &str = "layer";

/// The index that packages come from. There is none unless the operator names one.
#[derive(Debug, Clone)]
pub struct PackageIndex {
    /// Its address, as `pip --index-url` takes it.
    pub url: String,
    /// The hosts a build may reach: the index's own, and where its files lie. They may
    /// have private addresses, for the operator has named them.
    pub hosts: Vec<DomainRule>,
    /// Whether packages without a wheel may be built, which runs their code.
    pub allow_source: bool,
}

/// A layer that is there to be mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The digest of what went into it.
    pub(crate) key: String,
}

impl Layer {
    /// Its folder, relative to the state folder.
    pub(crate) fn folder(&self) -> String {
        format!("layers/{}", self.key)
    }
}

/// The command that builds a layer from `requirements.txt` in its working folder.
pub(crate) fn command(index: &PackageIndex) -> Vec<String> {
    let mut argv = [
        "python3",
        "-m",
        "pip",
        "install",
        "--no-input",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--no-compile",
        "--no-warn-script-location",
        "--root-user-action=ignore",
        "--target",
        BUILT,
        "--requirement",
        "requirements.txt",
        "--index-url",
        &index.url,
    ]
    .map(String::from)
    .to_vec();
    if !index.allow_source {
        argv.extend(["--only-binary", ":all:"].map(String::from));
    }
    // What is reached without TLS is the operator's own, who has written the address so.
    if let Some(rest) = index.url.strip_prefix("http://") {
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        argv.extend(["--trusted-host".into(), host.into()]);
    }
    argv
}

/// The command that compiles a layer: it is read-only where it is used, so each import
/// would compile anew. The result does not depend on the times of files, which change
/// when they are taken.
pub(crate) fn compile() -> Vec<String> {
    let mode = ["--invalidation-mode", "unchecked-hash"];
    let argv = ["python3", "-m", "compileall", "-qq"];
    argv.into_iter()
        .chain(mode)
        .chain([BUILT])
        .map(String::from)
        .collect()
}

/// Bounds of a build: packages are larger than what commands usually write.
pub(crate) fn limits() -> Limits {
    Limits {
        timeout: Duration::from_secs(600),
        memory: 4 << 30,
        data_bytes: 2 << 30,
        data_files: 100_000,
        tmp_bytes: 1 << 30,
        outputs: OutputLimits {
            count: 0,
            ..OutputLimits::default()
        },
        ..Limits::default()
    }
}
