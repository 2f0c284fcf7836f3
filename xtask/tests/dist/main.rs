//! What `cargo xtask dist` makes: its bytes, its contents, and that it works where it is
//! installed. `cargo xtask test` makes the artefacts of the tests' own binary first.
//!
//! | module | tests |
//! |---|---|
//! | `reproducible` | the same bytes for the same binary; sums and bill of materials |
//! | `debian` | the Debian package by Debian's own tools |
//! | `installer` | `install.sh` |
//! | `node` | the npm packages on this host; `container` has the other checks of them |
//! | `platforms` | names and contents for other processors and C libraries |
//! | `bare_root` | every channel in a Debian without compilers |
//! | `container` | the container image, on a Docker daemon of the tests |
//! | `document_skills` | the list of outcomes of document skills in a runtime |
//! | `documentation` | the commands of docs/install.md and docs/containers.md |

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod bare_root;
mod container;
#[path = "../../../crates/sandbox/tests/suite/daemon.rs"]
#[expect(
    dead_code,
    reason = "the image of the sandbox's tests is not used here"
)]
mod daemon;
mod debian;
mod document_skills;
mod documentation;
mod installer;
#[path = "../../../crates/sandbox/tests/suite/knobs.rs"]
mod knobs;
mod node;
mod platforms;
mod reproducible;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap().to_owned()
}

/// The folder of builds.
fn target() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap().to_owned()
}

/// Something that `cargo xtask test` puts below `target/`.
fn installed(path: &str) -> PathBuf {
    let place = target().join(path);
    assert!(
        place.exists(),
        "{} is missing: run `cargo xtask test` once, which makes it",
        place.display()
    );
    place
}

/// The artefacts of the tests' own binary.
fn artefacts() -> PathBuf {
    installed("test-artefacts")
}

/// The one artefact whose name begins and ends like this.
fn artefact(start: &str, end: &str) -> PathBuf {
    let entries = std::fs::read_dir(artefacts()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = paths
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(start) && name.ends_with(end)
        })
        .collect();
    assert_eq!(found.len(), 1, "{start}…{end}: {found:?}");
    found.into_iter().next().unwrap()
}

/// The binary beside this task's, which the same build made.
fn binary() -> PathBuf {
    let place = Path::new(env!("CARGO_BIN_EXE_xtask")).with_file_name("prowess");
    assert!(place.exists(), "build the workspace's binaries first");
    place
}

/// `cargo xtask dist`, quickly, of the tests' own binary.
fn dist(arguments: &[&str], out: &Path) {
    let mut dist = Command::new(env!("CARGO_BIN_EXE_xtask"));
    dist.args(["dist", "--quick", "--profile=dev", "--binary"])
        .arg(binary())
        .arg("--out")
        .arg(out)
        .args(arguments);
    succeeded(&mut dist);
}

/// Runs a command that must succeed; returns its output.
fn succeeded(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let shown = everything(&output);
    assert!(output.status.success(), "{command:?}:\n{shown}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a command printed, on both streams.
fn everything(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}
