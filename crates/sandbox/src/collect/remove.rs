//! Removes trees that hostile code created, of any depth and mode, with a fixed number of
//! descriptors and without recursion, so that no tree is too deep for the stack or for
//! the server's descriptors.

use super::folder::FolderHandle;
use crate::id;
use std::ffi::{CStr, CString};
use std::io;

/// Names that are read from a folder at once.
const BATCH_ENTRIES: usize = 512;

impl FolderHandle {
    /// Removes an entry, with its content if it is a folder. A missing entry is no error.
    pub(crate) fn remove(&self, name: &CStr) -> io::Result<()> {
        remove_tree(self, name)
    }
}

/// Removes an entry of `parent`, with its content if it is a folder, if it exists.
fn remove_tree(parent: &FolderHandle, name: &CStr) -> io::Result<()> {
    if parent.unlink(name)? {
        return Ok(());
    }
    let mut moved = MovedFolders::new()?;
    empty_folder(parent, name, &mut moved)?;
    // Nested folders were moved up here, so that depth needs no recursion.
    while let Some(next) = moved.take() {
        empty_folder(parent, &next, &mut moved)?;
    }
    Ok(())
}

/// Removes a folder of `parent` after moving the folders in it to `parent`.
fn empty_folder(parent: &FolderHandle, name: &CStr, moved: &mut MovedFolders) -> io::Result<()> {
    let folder = parent.enter_to_clear(name)?;
    loop {
        let names = folder.names(BATCH_ENTRIES)?;
        if names.is_empty() {
            return parent.remove_empty(name);
        }
        for name in names {
            if !folder.unlink(&name)? {
                let place = moved.next()?;
                move_up(&folder, &name, parent, &place)?;
            }
        }
    }
}

fn move_up(from: &FolderHandle, name: &CStr, to: &FolderHandle, place: &CStr) -> io::Result<()> {
    match from.rename_to(name, to, place) {
        // To be moved, a folder must be writable for its owner.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            from.enter_to_clear(name)?;
            from.rename_to(name, to, place)
        }
        moved => moved,
    }
}

/// The random names of folders that were moved up, which no code can guess.
struct MovedFolders {
    prefix: String,
    made: u64,
    taken: u64,
}

impl MovedFolders {
    fn new() -> io::Result<Self> {
        let random = id::random_id().map_err(io::Error::other)?;
        Ok(Self {
            prefix: format!("\u{1}gone-{random}"),
            made: 0,
            taken: 0,
        })
    }

    fn name(&self, number: u64) -> io::Result<CString> {
        CString::new(format!("{}-{number}", self.prefix)).map_err(io::Error::other)
    }

    fn next(&mut self) -> io::Result<CString> {
        self.made += 1;
        self.name(self.made)
    }

    fn take(&mut self) -> Option<CString> {
        if self.taken == self.made {
            return None;
        }
        self.taken += 1;
        self.name(self.taken).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags};
    use std::fs;

    /// Deeper than descriptors and a recursion on a small stack would reach.
    #[test]
    fn a_tree_of_any_depth_and_mode_is_removed() {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir(outer.path().join("tree")).unwrap();
        let mut here = rustix::fs::open(outer.path().join("tree"), flags(), Mode::empty()).unwrap();
        for depth in 0..3_000 {
            rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
            rustix::fs::symlinkat("/etc", &here, "link").unwrap();
            let next = rustix::fs::openat(&here, "d", flags(), Mode::empty()).unwrap();
            if depth % 100 == 50 {
                rustix::fs::fchmod(&here, Mode::empty()).unwrap();
            }
            here = next;
        }
        let outer_folder = FolderHandle::open_path(outer.path()).unwrap();
        remove_tree(&outer_folder, c"tree").unwrap();
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
    }

    fn flags() -> OFlags {
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
    }
}
