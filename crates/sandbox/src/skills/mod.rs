//! Skills on disk: written once per digest, then shared read-only by every container that
//! names them. `cache` decides which are evicted.

mod cache;

pub(crate) use cache::{SkillCache, SkillsGuard};

use crate::collect::ENTRY_BYTES;
use crate::error::{Error, ErrorContext};
use crate::name;
use bytes::Bytes;
use prowess_skill::Skill;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The error when the files of a skill cannot be written.
const WRITE_FAILED: &str = "cannot write the files of a skill";

/// Prefix of a folder that is being written.
const PARTIAL_PREFIX: &str = ".part-";

/// A skill to be mounted at `/skills/NAME`.
#[derive(Debug, Clone)]
pub struct SkillFiles {
    /// Its name.
    pub name: String,
    /// Digest of all its files; the same digest means the same files.
    pub digest: String,
    /// The files.
    pub files: Vec<SkillFile>,
}

impl SkillFiles {
    /// A whole skill, to be mounted as this folder of `/skills`.
    #[must_use]
    pub fn from_skill(skill: &Skill, folder: impl Into<String>) -> Self {
        let files = skill.bundle.files().map(|(path, file)| SkillFile {
            path: path.to_string(),
            bytes: file.data.clone(),
            executable: file.executable,
        });
        SkillFiles {
            name: folder.into(),
            digest: skill.manifest.digest().hex(),
            files: files.collect(),
        }
    }

    /// Minimum disk usage: its bytes, its files and its folders.
    fn disk_bytes(&self) -> u64 {
        let parents = |file| Path::new(file).ancestors().skip(1);
        let paths = self.files.iter().map(|file| file.path.as_str());
        let folders: HashSet<&Path> = paths.flat_map(parents).chain([Path::new("")]).collect();
        let entries = (self.files.len() as u64).saturating_add(folders.len() as u64);
        let bytes = self.files.iter().map(|file| file.bytes.len() as u64);
        let bytes = bytes.fold(0, u64::saturating_add);
        bytes.saturating_add(entries.saturating_mul(ENTRY_BYTES))
    }
}

/// One file of a skill.
#[derive(Debug, Clone)]
pub struct SkillFile {
    /// Path within the skill.
    pub path: String,
    /// Content, shared with the skill.
    pub bytes: Bytes,
    /// Whether it may be executed.
    pub executable: bool,
}

/// Writes a skill at `place`, unless it exists. Returns whether it was written.
fn write(place: &Path, skill: &SkillFiles) -> Result<bool, Error> {
    if is_folder(place) {
        return Ok(false);
    }
    // Written under a temporary name, then renamed in one step.
    let part = place.with_file_name(format!("{PARTIAL_PREFIX}{}", crate::id::random_id()?));
    let result = write_all(&part, skill).and_then(|()| {
        match renameat_with(CWD, &part, CWD, place, RenameFlags::NOREPLACE) {
            Err(_) if is_folder(place) => {
                fs::remove_dir_all(&part).at(WRITE_FAILED, &part)?;
                Ok(false)
            }
            renamed => renamed.at(WRITE_FAILED, place).map(|()| true),
        }
    });
    if result.is_err() {
        // The first error is returned.
        let _ = fs::remove_dir_all(&part);
    }
    result
}

/// Whether this is a folder, not a link to one.
fn is_folder(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|found| found.is_dir())
}

fn write_all(folder: &Path, skill: &SkillFiles) -> Result<(), Error> {
    make_folder(folder)?;
    for file in &skill.files {
        let names = name::split_path(&file.path)?;
        let mut place = PathBuf::from(folder);
        for (index, part) in names.iter().enumerate() {
            if index > 0 && !place.is_dir() {
                make_folder(&place)?;
            }
            place.push(part.to_string_lossy().as_ref());
        }
        fs::write(&place, &file.bytes).at(WRITE_FAILED, &place)?;
        let mode = if file.executable { 0o755 } else { 0o644 };
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).at(WRITE_FAILED, &place)?;
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<(), Error> {
    fs::create_dir(folder).at(WRITE_FAILED, folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).at(WRITE_FAILED, folder)
}
