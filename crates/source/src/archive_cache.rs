//! The skills of archives on a disk, with a cache.
//!
//! Servers open their sources every few seconds. An archive is read again only if its size,
//! its modification time or its inode has changed.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use prowess_skill::{BundleError, BundleLimits};

use crate::archive;
use crate::archive_contents::{self, ArchiveContents, ArchiveLimits, PackedSkill};
use crate::discover::Discovery;
use crate::error::SourceError;
use crate::origin::{OpenResult, Origin};
use crate::url::FetchLimits;

/// Archives in the cache; the oldest is evicted first.
const MAX_ARCHIVES: usize = 8;

static CACHE: Mutex<Vec<CachedArchive>> = Mutex::new(Vec::new());

/// The contents of an archive.
struct CachedArchive {
    path: PathBuf,
    stamp: FileStamp,
    origins: Vec<Origin>,
    /// Skills that could not be used, and why.
    refused: Vec<(PathBuf, BundleError)>,
}

impl CachedArchive {
    fn to_result(&self) -> (Vec<Origin>, Discovery) {
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
struct FileStamp {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl FileStamp {
    fn new(meta: &Metadata) -> Self {
        FileStamp {
            modified: meta.modified().ok(),
            bytes: meta.len(),
            inode: inode(meta),
        }
    }
}

/// The skills of an archive.
pub(crate) fn open(path: &Path, meta: &Metadata) -> OpenResult {
    let stamp = FileStamp::new(meta);
    let cache = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |archive: &&CachedArchive| archive.path == path && archive.stamp == stamp;
    if let Some(archive) = cache().iter().find(known) {
        return Ok(archive.to_result());
    }
    let (origins, refused) = match unpack(path, &BundleLimits::default()) {
        Ok(unpacked) => unpacked,
        // Reading it as a single skill reports the error.
        Err(SourceError::Bundle { .. }) => {
            let origins = vec![Origin::Archive(path.to_owned())];
            return Ok((origins, Discovery::default()));
        }
        Err(error) => return Err(error),
    };
    let archive = CachedArchive {
        path: path.to_owned(),
        stamp,
        origins,
        refused,
    };
    let opened = archive.to_result();
    let mut cache = cache();
    cache.retain(|archive| archive.path != path);
    if cache.len() == MAX_ARCHIVES {
        cache.remove(0);
    }
    cache.push(archive);
    Ok(opened)
}

/// The skills of an archive, and the errors of others.
type UnpackedSkills = (Vec<Origin>, Vec<(PathBuf, BundleError)>);

/// The skills of an archive on a disk, and the errors of others.
///
/// # Errors
/// When nothing of it can be used.
fn unpack(path: &Path, limits: &BundleLimits) -> Result<UnpackedSkills, SourceError> {
    // The same limits as for fetched archives.
    let whole = ArchiveLimits::from(&FetchLimits::default());
    let bytes = archive::read_capped(path, whole.archive_bytes)?;
    let packed = archive_contents::read(&bytes, limits, whole)
        .map_err(|error| SourceError::bundle(path, error))?;
    let skills = match packed {
        ArchiveContents::Single(_) => {
            return Ok((vec![Origin::Archive(path.to_owned())], Vec::new()));
        }
        ArchiveContents::Several(skills) => skills,
    };
    let own_folder = skills.len() > 1;
    let (mut origins, mut refused) = (Vec::new(), Vec::new());
    for (folder, bundle) in skills {
        match bundle {
            Ok(bundle) => {
                let skill = PackedSkill::new(path, &folder, own_folder, bundle);
                origins.push(Origin::Packed(Arc::new(skill)));
            }
            Err(error) => refused.push((path.join(&folder), error)),
        }
    }
    Ok((origins, refused))
}

#[cfg(unix)]
fn inode(meta: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}
