//! An OpenTelemetry collector below `target/`, which gets the traces of a server in a test: Rotel,
//! a Python package that has the program itself.
//!
//! The program is linked with the library of the Python that it was made for. It is installed for
//! the system's own, whose library Debian has as a package.

use std::path::Path;

use anyhow::bail;

use crate::cluster_programs::would_install;
use crate::run::{command, root, run, succeeds, target};
use crate::setup::{same_content, unpack};

const PYTHON: &str = "/usr/bin/python3";
/// Where the program is in the package.
const PROGRAM: &str = "packages/rotel/rotel-agent";
/// Where the tests find it: a script that names the library.
const SCRIPT: &str = "bin/rotel";

/// Installs it, once. Where that fails, only its tests do.
pub(crate) fn install() -> anyhow::Result<()> {
    let place = target().join("rotel");
    let requirements = root().join("tests/observability/requirements.txt");
    let stamp = place.join("requirements.txt");
    if same_content(&requirements, &stamp) {
        return Ok(());
    }
    match install_at(&place, &requirements) {
        Ok(()) => {
            std::fs::copy(&requirements, &stamp)?;
        }
        Err(error) => eprintln!(
            "no collector for the tests of traces: it needs pip and the library of {PYTHON}, \
             which is one of 3.10 to 3.13: {error}"
        ),
    }
    Ok(())
}

fn install_at(place: &Path, requirements: &Path) -> anyhow::Result<()> {
    // pip does not replace what is there.
    if place.exists() {
        std::fs::remove_dir_all(place)?;
    }
    std::fs::create_dir_all(place.join("bin"))?;
    let mut pip = command(PYTHON, &["-m", "pip", "install", "--quiet", "--no-compile"]);
    pip.args(["--disable-pip-version-check", "--only-binary", ":all:"])
        .args(["--no-deps", "--require-hashes", "--target"])
        .arg(place.join("packages"))
        .arg("-r")
        .arg(requirements);
    run(&mut pip)?;
    write_script(place)?;
    let starts = || succeeds(&mut command(place.join(SCRIPT), &["version"]));
    if starts() {
        return Ok(());
    }
    let name = "import sys; print('libpython%d.%d' % sys.version_info[:2], end='')";
    let library = command(PYTHON, &["-c", name]).output()?.stdout;
    let library = String::from_utf8(library)?;
    let mut packages = would_install(&library)?;
    if packages.is_empty() {
        // A system whose package lists were removed; this needs root.
        let _ = succeeds(&mut command("apt-get", &["update", "-qq"]));
        packages = would_install(&library)?;
    }
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    if packages.is_empty() || !unpack(&packages, place) || !starts() {
        bail!("it does not start");
    }
    Ok(())
}

/// A library that this system lacks is unpacked beside the program.
fn write_script(place: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let text = format!(
        "#!/bin/sh\nplace=$(dirname \"$0\")/..\n\
         LD_LIBRARY_PATH=\"$place/usr/lib/{}-linux-gnu\" exec \"$place/{PROGRAM}\" \"$@\"\n",
        std::env::consts::ARCH
    );
    let script = place.join(SCRIPT);
    std::fs::write(&script, text)?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}
