//! Changes of programs in a new root, without which they do not start in the sandbox.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::error::{AtPlace, RuntimeError};
use super::folders::ignore_missing;

const FAILED: &str = "cannot adjust the root file system";

/// The program that starts LibreOffice. It refuses to run without `/proc/version`, which the
/// sandbox does not show. What else it does is to start the office again when that asks for
/// it, by these two exit codes.
const OFFICE_STARTER: (&str, &str) = (
    "usr/lib/libreoffice/program/oosplash",
    r#"#!/bin/sh
office=$(dirname "$(readlink -f "$0")")/soffice.bin
while :; do
  "$office" "$@"
  code=$?
  case $code in
    79 | 81) ;;
    *) exit $code ;;
  esac
done
"#,
);

/// Adjusts the programs that a root has.
pub(super) fn adjust_programs(root: &Path) -> Result<(), RuntimeError> {
    let (path, script) = OFFICE_STARTER;
    let place = root.join(path);
    if !place.exists() {
        return Ok(());
    }
    ignore_missing(fs::remove_file(&place)).at_place(FAILED, &place)?;
    fs::write(&place, script).at_place(FAILED, &place)?;
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).at_place(FAILED, &place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_office_is_started_by_a_script_that_needs_no_proc_version() {
        let root = tempfile::tempdir().unwrap();
        adjust_programs(root.path()).unwrap();
        let program = root.path().join("usr/lib/libreoffice/program");
        fs::create_dir_all(&program).unwrap();
        fs::write(program.join("oosplash"), "/proc/version").unwrap();
        // Asks to be started again once.
        let office = "#!/bin/sh\n[ -e \"$1\" ] && exit 5\n: > \"$1\"\nexit 81\n";
        fs::write(program.join("soffice.bin"), office).unwrap();
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(program.join("soffice.bin"), executable).unwrap();
        adjust_programs(root.path()).unwrap();
        let mut starter = std::process::Command::new(program.join("oosplash"));
        let ended = starter.arg(root.path().join("restarted")).status();
        assert_eq!(ended.unwrap().code(), Some(5));
    }
}
