//! Folders that take long to make: made once, kept below the target folder, then copied.
//!
//! Knows nothing about what is in them. Where a copy fails, because another user made the folder
//! or `cp` is another one, the folder is made anew: only time is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Fills a folder that does not exist yet: by `make`, or with a copy of what `make` made for the
/// same name before. The name must tell everything that the content depends on.
pub(crate) fn copy_or_make(name: &str, folder: &Path, make: impl FnOnce()) {
    let Some(kept) = kept_folders().map(|all| all.join(name)) else {
        return make();
    };
    if kept.is_dir() {
        if copy(&kept, folder) {
            return;
        }
        let _ = fs::remove_dir_all(folder);
        return make();
    }
    make();
    keep(folder, &kept);
}

/// Below the target folder of this program: cargo puts tests into `target/PROFILE/deps`, and what
/// starts them into `target/PROFILE`.
pub(crate) fn kept_folders() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let tests = program.ancestors().find(|folder| folder.ends_with("deps"));
    let profile = tests.unwrap_or(&program).parent()?;
    // Not beside a program that was installed.
    if !profile.join(".fingerprint").is_dir() {
        return None;
    }
    let kept = profile.parent()?.join("test-folders");
    fs::create_dir_all(&kept).ok()?;
    Some(kept)
}

/// Keeps a copy, unless another test did so meanwhile: it appears whole or not at all.
fn keep(folder: &Path, kept: &Path) {
    let Some(all) = kept.parent() else {
        return;
    };
    // Removed with what remains in it.
    let Ok(staging) = tempfile::tempdir_in(all) else {
        return;
    };
    let unfinished = staging.path().join("folder");
    if copy(folder, &unfinished) {
        // It fails if another test was first.
        let _ = fs::rename(&unfinished, kept);
    }
}

/// Copies with owners and modes; long runs of zeros become holes, which are quicker to write.
fn copy(from: &Path, to: &Path) -> bool {
    let mut copy = Command::new("cp");
    copy.args(["-aT", "--sparse=always", "--"]).args([from, to]);
    let done = copy.stdin(Stdio::null()).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_once_and_copied_with_its_modes() {
        use std::os::unix::fs::PermissionsExt;
        let name = format!("test-of-kept-folders-{}", std::process::id());
        let place = tempfile::tempdir().unwrap();
        let make = |folder: &Path, content: &str| {
            fs::create_dir(folder).unwrap();
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
            fs::write(folder.join("file"), content).unwrap();
        };
        let folders = ["first", "second"].map(|name| place.path().join(name));
        for folder in &folders {
            let content = folder.display().to_string();
            copy_or_make(&name, folder, || make(folder, &content));
            let expected = folders[0].display().to_string();
            assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), expected);
            let mode = fs::metadata(folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        fs::remove_dir_all(kept_folders().unwrap().join(name)).unwrap();
    }
}
