//! What an archive holds: one skill, or several in folders, as in a repository that
//! somebody downloaded as a zip.
//!
//! An archive that is one skill is read by the strict rules of skills. Only one that is
//! not is searched for folders with a SKILL.md, each of which is then checked by itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_skill::bundle::{self, Reason, TreeQuery};
use prowess_skill::{Bundle, BundleError, Digest, Limits, Manifest};

use crate::archive;
use crate::error::SourceError;
use crate::folder::is_kept;
use crate::open::Origin;
use crate::url::NetLimits;

/// Entries of an archive for each skill that may be in it.
const ENTRIES_PER_SKILL: usize = 100;

/// One of several skills in an archive on a disk.
#[derive(Debug, PartialEq, Eq)]
pub struct PackedSkill {
    /// The archive's path with the skill's folder behind it; good to be shown.
    pub path: PathBuf,
    /// The name of its folder.
    pub folder: String,
    /// Whether the folder is the skill's own, which has the skill's name then, and not
    /// that of a repository.
    pub(crate) own_folder: bool,
    /// The digest of its content.
    pub digest: Digest,
    pub(crate) bundle: Bundle,
}

impl PackedSkill {
    fn new(archive: &Path, folder: &str, own_folder: bool, bundle: Bundle) -> Self {
        PackedSkill {
            path: archive.join(folder),
            folder: last_part(folder).to_owned(),
            own_folder,
            digest: Manifest::of(&bundle).digest(),
            bundle,
        }
    }
}

/// What an archive on a disk gave: skills, and others that cannot be used.
type Unpacked = (Vec<Origin>, Vec<(PathBuf, BundleError)>);

/// The skills of an archive on a disk, each by itself, and what is wrong with others.
///
/// # Errors
/// When nothing of it can be used.
pub(crate) fn open(path: &Path, limits: &Limits) -> Result<Unpacked, SourceError> {
    // As large as one that is fetched.
    let whole = WholeLimits::from(&NetLimits::default());
    let bytes = archive::read_capped(path, whole.archive_bytes)?;
    let packed = read(&bytes, limits, whole).map_err(|error| SourceError::bundle(path, error))?;
    let skills = match packed {
        Packed::One(_) => return Ok((vec![Origin::Archive(path.to_owned())], Vec::new())),
        Packed::Several(skills) => skills,
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

/// What all skills of one archive may cost together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WholeLimits {
    /// Bytes of the archive.
    pub(crate) archive_bytes: u64,
    /// Bytes of everything in it, unpacked.
    pub(crate) total_bytes: u64,
    /// Skills in it.
    pub(crate) skills: usize,
}

impl From<&NetLimits> for WholeLimits {
    fn from(net: &NetLimits) -> Self {
        WholeLimits {
            archive_bytes: net.tree_bytes,
            total_bytes: net.source_bytes,
            skills: net.index_entries,
        }
    }
}

impl WholeLimits {
    /// The same as bounds on reading, with those of one skill for the rest.
    pub(crate) fn with(self, one: &Limits) -> Limits {
        Limits {
            archive_bytes: self.archive_bytes,
            total_bytes: self.total_bytes,
            entries: self.skills.saturating_mul(ENTRIES_PER_SKILL),
            directory_bytes: one.directory_bytes.saturating_mul(4),
            ..one.clone()
        }
    }
}

/// Skills, or what is wrong with them, by their folders.
pub(crate) type Skills = BTreeMap<String, Result<Bundle, BundleError>>;

/// What an archive holds.
#[derive(Debug)]
pub(crate) enum Packed {
    /// One skill.
    One(Bundle),
    /// Skills in folders.
    Several(Skills),
}

/// Reads an archive.
///
/// # Errors
/// When it is no archive, or neither a skill nor anything with skills in it.
pub(crate) fn read(
    archive: &[u8],
    limits: &Limits,
    whole: WholeLimits,
) -> Result<Packed, BundleError> {
    let refused = match Bundle::from_archive(archive, limits) {
        Ok(bundle) => return Ok(Packed::One(bundle)),
        Err(error) if matches!(error.reason(), Reason::UnknownFormat(_)) => return Err(error),
        Err(error) => error,
    };
    let query = TreeQuery {
        wrapped: false,
        under: "",
        named: None,
        keep: is_kept,
    };
    // What is wrong with the archive as one skill says more than that it cannot be
    // searched either.
    let Ok(tree) = bundle::Tree::read(archive, &query, &whole.with(limits), limits) else {
        return Err(refused);
    };
    let skills = tree.skills;
    if !several(&skills, &refused) || skills.len() > whole.skills {
        return Err(refused);
    }
    Ok(Packed::Several(skills))
}

/// Whether an archive that is no skill by itself has skills in it. With one SKILL.md it
/// has only if that is no skill's own archive: else leaving out what was refused would
/// make a good skill of a bad one.
fn several(skills: &Skills, refused: &BundleError) -> bool {
    match skills.len() {
        0 => false,
        1 => matches!(refused.reason(), Reason::SkillTooDeep | Reason::Stray(_)),
        _ => true,
    }
}

/// The name of a folder without those above it.
pub(crate) fn last_part(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}
