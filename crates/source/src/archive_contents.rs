//! The skills in an archive: one, or several in folders, as in a repository downloaded as a
//! zip.
//!
//! An archive that is one skill is read by the strict rules of skills. Any other is
//! searched for folders with a SKILL.md, each of which is checked separately.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess_skill::bundle::{self, BundleErrorKind, TreeQuery};
use prowess_skill::{Bundle, BundleError, BundleLimits, Digest, Manifest};

use crate::folder::is_kept;
use crate::url::FetchLimits;

/// Entries of an archive for each skill that may be in it.
const ENTRIES_PER_SKILL: usize = 100;

/// One of several skills in an archive on a disk.
#[derive(Debug, PartialEq, Eq)]
pub struct PackedSkill {
    /// The archive's path and the skill's folder; for display.
    pub path: PathBuf,
    /// The name of its folder.
    pub folder: String,
    /// Whether the folder is the skill's own, and so must have its name, rather than that
    /// of a repository.
    pub(crate) own_folder: bool,
    /// The digest of its content.
    pub digest: Digest,
    pub(crate) bundle: Bundle,
}

impl PackedSkill {
    pub(crate) fn new(archive: &Path, folder: &str, own_folder: bool, bundle: Bundle) -> Self {
        PackedSkill {
            path: archive.join(folder),
            folder: last_segment(folder).to_owned(),
            own_folder,
            digest: Manifest::from_bundle(&bundle).digest(),
            bundle,
        }
    }
}

/// Limits of all skills of one archive together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArchiveLimits {
    /// Bytes of the archive.
    pub(crate) archive_bytes: u64,
    /// Bytes of everything in it, unpacked.
    pub(crate) total_bytes: u64,
    /// Skills in it.
    pub(crate) skills: usize,
}

impl From<&FetchLimits> for ArchiveLimits {
    fn from(net: &FetchLimits) -> Self {
        ArchiveLimits {
            archive_bytes: net.tree_bytes,
            total_bytes: net.source_bytes,
            skills: net.index_entries,
        }
    }
}

impl ArchiveLimits {
    /// These limits for the whole, with those of one skill for the rest.
    pub(crate) fn to_bundle_limits(self, one: &BundleLimits) -> BundleLimits {
        BundleLimits {
            archive_bytes: self.archive_bytes,
            total_bytes: self.total_bytes,
            entries: self.skills.saturating_mul(ENTRIES_PER_SKILL),
            directory_bytes: one.directory_bytes.saturating_mul(4),
            ..one.clone()
        }
    }
}

/// Skills, or their errors, by folder.
pub(crate) type SkillsByFolder = BTreeMap<String, Result<Bundle, BundleError>>;

/// The contents of an archive.
#[derive(Debug)]
pub(crate) enum ArchiveContents {
    /// One skill.
    Single(Bundle),
    /// Skills in folders.
    Several(SkillsByFolder),
}

/// Reads an archive.
///
/// # Errors
/// When it is not an archive, or contains no skill.
pub(crate) fn read(
    archive: &[u8],
    limits: &BundleLimits,
    whole: ArchiveLimits,
) -> Result<ArchiveContents, BundleError> {
    let refused = match Bundle::from_archive(archive, limits) {
        Ok(bundle) => return Ok(ArchiveContents::Single(bundle)),
        Err(error) if matches!(error.kind(), BundleErrorKind::UnknownFormat(_)) => {
            return Err(error);
        }
        Err(error) => error,
    };
    let query = TreeQuery {
        wrapped: false,
        under: "",
        folder_name: None,
        keep: is_kept,
    };
    // The error of the archive as one skill is more useful than that of the search.
    let Ok(tree) =
        bundle::SkillTree::read(archive, &query, &whole.to_bundle_limits(limits), limits)
    else {
        return Err(refused);
    };
    let skills = tree.skills;
    if !has_skills(&skills, &refused) || skills.len() > whole.skills {
        return Err(refused);
    }
    Ok(ArchiveContents::Several(skills))
}

/// Whether an archive that is not one skill contains skills. With a single SKILL.md it does
/// only if the archive is not that skill itself, because it is too deep or other files lie beside
/// its folder: otherwise skipping the refused entries would make an invalid skill valid.
fn has_skills(skills: &SkillsByFolder, refused: &BundleError) -> bool {
    let mut folders = skills.keys();
    match (folders.next(), folders.next()) {
        (None, _) => false,
        (Some(folder), None) => {
            let is_deep = folder.contains('/');
            is_deep || matches!(refused.kind(), BundleErrorKind::Stray(_))
        }
        _ => true,
    }
}

/// The name of a folder without those above it.
pub(crate) fn last_segment(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}
