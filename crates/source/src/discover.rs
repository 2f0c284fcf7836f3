//! The search for skills below a folder.

use std::path::{Path, PathBuf};

use crate::error::SourceError;
use crate::folder::{Entry, SKIPPED_FOLDERS, sorted_entries};

/// How far the search goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Folders below the first.
    pub depth: usize,
    /// Folders looked into.
    pub folders: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            depth: 6,
            folders: 20_000,
        }
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Folders that are skills, sorted.
    pub skills: Vec<PathBuf>,
    /// Folders that could not be looked into. The search went on.
    pub unreadable: Vec<SourceError>,
    /// Whether the bounds ended the search early.
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
fn holds_skill(entry: &Entry) -> bool {
    is_skill_file(&entry.path) && (entry.kind.is_file() || entry.path.is_file())
}

/// Whether a path is named like a skill file, in any case.
pub fn is_skill_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"))
}

/// Searches a folder. One with a SKILL.md is a skill, and what lies below is
/// its own; in others the search goes on.
pub fn discover(root: &Path, bounds: &Bounds) -> Discovery {
    let mut found = Discovery::default();
    let mut folders_left = bounds.folders;
    let mut waiting = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        if folders_left == 0 {
            found.cut_short = true;
            break;
        }
        folders_left -= 1;
        let entries = match sorted_entries(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                found.unreadable.push(error);
                continue;
            }
        };
        if entries.iter().any(holds_skill) {
            found.skills.push(folder);
        } else if depth < bounds.depth {
            // A stack gives back the last first: the other way round keeps their order.
            let below = entries.into_iter().rev().filter(is_searched);
            waiting.extend(below.map(|entry| (entry.path, depth + 1)));
        } else if entries.iter().any(is_searched) {
            found.cut_short = true;
        }
    }
    found.skills.sort_unstable();
    found
}

/// Folders, but not those of tools. A link counts only when it leads straight to
/// a skill, as installers make them; else it could lead anywhere, or round.
fn is_searched(entry: &Entry) -> bool {
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
