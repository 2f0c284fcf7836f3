//! For a backend without an overlay: a copy of a container's files that its commands write
//! to, created before the command and compared after it.

use super::folder::{EntryKind, FolderHandle};
use crate::error::{Error, ErrorContext};
use rustix::fd::{AsFd, OwnedFd};
use std::io;
use std::path::Path;

/// Names that are read from a folder at once.
const BATCH_ENTRIES: usize = 512;

/// The error when a copy cannot be created.
const COPY_FAILED: &str = "cannot copy the files of the container";

/// Makes the folder `copy` an exact copy of `data`. No process may be running that could
/// write to either.
pub(crate) fn mirror(data: &Path, copy: &Path, owner: Option<u32>) -> Result<(), Error> {
    clear(copy)?;
    let from = FolderHandle::open_path(data).at(COPY_FAILED, data)?;
    let into = FolderHandle::open_path(copy).at(COPY_FAILED, copy)?;
    copy_all(&from, &into, owner).at(COPY_FAILED, copy)
}

/// Empties a copy. No process may be running that could write to it.
pub(crate) fn clear(copy: &Path) -> Result<(), Error> {
    let folder = FolderHandle::open_path(copy).at(COPY_FAILED, copy)?;
    loop {
        let names = folder.names(BATCH_ENTRIES).at(COPY_FAILED, copy)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            folder.remove(&name).at(COPY_FAILED, copy)?;
        }
    }
}

fn copy_all(from: &FolderHandle, into: &FolderHandle, owner: Option<u32>) -> io::Result<()> {
    for entry in from.entries()? {
        let name = &entry.name;
        match entry.kind {
            EntryKind::File => {
                let mut source = from.open_file(name)?;
                into.write(name, entry.mode, owner, |copy| io::copy(&mut source, copy))?;
            }
            EntryKind::Folder => {
                let target = into.make(name, entry.mode, owner, false)?;
                copy_all(&from.enter(name)?, &target, owner)?;
            }
            EntryKind::Symlink => into.copy_link(from, name, owner)?,
            // Such entries are never stored in a container.
            EntryKind::Deleted | EntryKind::Special => {}
        }
    }
    Ok(())
}

/// Removes from `data` what is no longer in the copy.
pub(crate) fn remove_missing(copy: &OwnedFd, data: &Path) -> Result<(), Error> {
    let copy =
        FolderHandle::reopen(copy.as_fd()).context("cannot read the output of the command")?;
    let data = FolderHandle::open_path(data).at(COPY_FAILED, data)?;
    remove_extra(&copy, &data).context("cannot remove deleted files")
}

fn remove_extra(copy: &FolderHandle, data: &FolderHandle) -> io::Result<()> {
    for entry in data.entries()? {
        let kept = copy.entry(&entry.name).ok().map(|copied| copied.kind);
        match (entry.kind, kept) {
            (EntryKind::Folder, Some(EntryKind::Folder)) => {
                remove_extra(&copy.enter(&entry.name)?, &data.enter(&entry.name)?)?;
            }
            (kind, Some(kept)) if kind == kept => {}
            _ => data.remove(&entry.name)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_mirror_has_the_same_files_and_what_is_missing_from_it_goes() {
        let folder = tempfile::tempdir().unwrap();
        let [data, copy] = ["data", "copy"].map(|name| folder.path().join(name));
        fs::create_dir_all(data.join("sub/deep")).unwrap();
        fs::create_dir_all(copy.join("stale")).unwrap();
        for name in ["a", "sub/b", "sub/deep/c"] {
            fs::write(data.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", data.join("link")).unwrap();
        mirror(&data, &copy, None).unwrap();
        assert!(!copy.join("stale").exists());
        assert_eq!(fs::read(copy.join("sub/deep/c")).unwrap(), b"sub/deep/c");
        assert_eq!(
            fs::read_link(copy.join("link")).unwrap(),
            Path::new("/etc/passwd")
        );

        fs::remove_file(copy.join("a")).unwrap();
        fs::remove_dir_all(copy.join("sub/deep")).unwrap();
        fs::write(copy.join("sub/deep"), "a file now").unwrap();
        remove_missing(&fs::File::open(&copy).unwrap().into(), &data).unwrap();
        assert!(!data.join("a").exists() && !data.join("sub/deep").exists());
        assert!(data.join("sub/b").exists() && data.join("link").is_symlink());
    }
}
