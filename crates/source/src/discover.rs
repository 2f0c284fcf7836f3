//! The search for skills below a folder.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::error::SourceError;
use crate::folder::{SKIPPED_FOLDERS, SkillFolderEntry, sorted_entries};

/// Limits of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchBounds {
    /// Folders below the first.
    pub max_depth: usize,
    /// Folders searched.
    pub max_folders: usize,
}

impl Default for SearchBounds {
    fn default() -> Self {
        SearchBounds {
            max_depth: 6,
            max_folders: 20_000,
        }
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Folders that are skills, sorted.
    pub skills: Vec<PathBuf>,
    /// Folders that could not be read. The search continued.
    pub unreadable: Vec<SourceError>,
    /// Whether the search stopped at its bounds.
    pub cut_short: bool,
}

/// The skill file of a folder: `SKILL.md`, else any other case of it.
pub fn skill_file(folder: &Path) -> Option<PathBuf> {
    let exact = folder.join("SKILL.md");
    if exact.is_file() {
        return Some(exact);
    }
    let entries = sorted_entries(folder).ok()?;
    entries
        .into_iter()
        .find(holds_skill)
        .map(|entry| entry.path)
}

/// Whether an entry is a skill file, or a link to one.
fn holds_skill(entry: &SkillFolderEntry) -> bool {
    is_skill_file(&entry.path) && (entry.kind.is_file() || entry.path.is_file())
}

/// Whether a path is named like a skill file, in any case.
pub fn is_skill_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"))
}

/// Searches a folder. One with a SKILL.md is a skill and is not searched further; others
/// are. Level by level, each on all cores.
pub fn discover(root: &Path, bounds: &SearchBounds) -> Discovery {
    let mut found = Discovery::default();
    let mut folders_left = bounds.max_folders;
    let mut level = vec![root.to_owned()];
    for depth in 0.. {
        if level.len() > folders_left {
            level.truncate(folders_left);
            found.cut_short = true;
        }
        folders_left -= level.len();
        if level.is_empty() {
            break;
        }
        let kinds: Vec<_> = level.into_par_iter().map(classify_folder).collect();
        level = Vec::new();
        for kind in kinds {
            match kind {
                FolderKind::Skill(folder) => found.skills.push(folder),
                FolderKind::Searchable(folders) => level.extend(folders),
                FolderKind::Unreadable(error) => found.unreadable.push(error),
            }
        }
        if depth == bounds.max_depth {
            found.cut_short |= !level.is_empty();
            break;
        }
    }
    found
        .skills
        .sort_unstable_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    found
}

/// The kind of a folder.
enum FolderKind {
    Skill(PathBuf),
    Searchable(Vec<PathBuf>),
    Unreadable(SourceError),
}

fn classify_folder(folder: PathBuf) -> FolderKind {
    match sorted_entries(&folder) {
        Err(error) => FolderKind::Unreadable(error),
        Ok(entries) if entries.iter().any(holds_skill) => FolderKind::Skill(folder),
        Ok(entries) => {
            let below = entries.into_iter().filter(is_searched);
            FolderKind::Searchable(below.map(|entry| entry.path).collect())
        }
    }
}

/// Folders, except those of tools. A link is followed only if it points directly to a
/// skill, as installers create them; otherwise it could point anywhere, or form a cycle.
fn is_searched(entry: &SkillFolderEntry) -> bool {
    let path = &entry.path;
    let name = path.file_name().and_then(|name| name.to_str());
    if SKIPPED_FOLDERS.contains(&name.unwrap_or_default()) {
        return false;
    }
    if entry.kind.is_symlink() {
        return path.is_dir() && skill_file(path).is_some();
    }
    entry.kind.is_dir()
}
