//! What archives held when they were last looked at.
//!
//! Whoever serves skills opens its sources every few seconds. An archive is read again
//! only when its size, its time or its place on the disk has changed.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use prowess_skill::{BundleError, Limits};

use crate::discover::Discovery;
use crate::error::SourceError;
use crate::open::{Opened, Origin};
use crate::packed;

/// Archives that are remembered; the one that was added first goes first.
const MAX_ARCHIVES: usize = 8;

static LAST_SEEN: Mutex<Vec<Seen>> = Mutex::new(Vec::new());

/// What an archive held.
struct Seen {
    path: PathBuf,
    stamp: Stamp,
    origins: Vec<Origin>,
    /// Skills that could not be used, and why.
    refused: Vec<(PathBuf, BundleError)>,
}

impl Seen {
    fn opened(&self) -> (Vec<Origin>, Discovery) {
        let refused = self.refused.iter();
        let unreadable = refused.map(|(path, error)| SourceError::bundle(path, error.clone()));
        let discovery = Discovery {
            unreadable: unreadable.collect(),
            ..Discovery::default()
        };
        (self.origins.clone(), discovery)
    }
}

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl Stamp {
    fn new(meta: &Metadata) -> Self {
        Stamp {
            modified: meta.modified().ok(),
            bytes: meta.len(),
            inode: inode(meta),
        }
    }
}

/// The skills of an archive.
pub(crate) fn open(path: &Path, meta: &Metadata) -> Opened {
    let stamp = Stamp::new(meta);
    let seen = || LAST_SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |seen: &&Seen| seen.path == path && seen.stamp == stamp;
    if let Some(seen) = seen().iter().find(known) {
        return Ok(seen.opened());
    }
    let (origins, refused) = match packed::open(path, &Limits::default()) {
        Ok(unpacked) => unpacked,
        // What is wrong with it is said by whoever reads it as the one skill that it is not.
        Err(SourceError::Bundle { .. }) => {
            let origins = vec![Origin::Archive(path.to_owned())];
            return Ok((origins, Discovery::default()));
        }
        Err(error) => return Err(error),
    };
    let found = Seen {
        path: path.to_owned(),
        stamp,
        origins,
        refused,
    };
    let opened = found.opened();
    let mut seen = seen();
    seen.retain(|seen| seen.path != path);
    if seen.len() == MAX_ARCHIVES {
        seen.remove(0);
    }
    seen.push(found);
    Ok(opened)
}

#[cfg(unix)]
fn inode(meta: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}
