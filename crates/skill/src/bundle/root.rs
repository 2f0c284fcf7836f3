//! Which folder of a file table is the skill.
//!
//! Either the top itself holds `SKILL.md`, or everything lies in one top folder
//! that does. A `SKILL.md` below the root is a file like any other.

use std::collections::{BTreeMap, HashSet};

use super::{BundleError, BundleErrorKind, BundleFile};
use crate::path::{SkillPath, quote_name};

pub(super) const SKILL_FILE: &str = "SKILL.md";

/// The folder of a file at the top.
const TOP_FOLDER: &str = "";

/// Names listed in a message, at most.
const MAX_LISTED_PATHS: usize = 10;

#[derive(Debug)]
pub(super) struct BundleRoot {
    /// The wrapping folder, or none when the files lie flat.
    pub(super) folder: Option<String>,
    /// The skill's main file below the root, as its author spelled it.
    pub(super) skill_file: String,
}

pub(super) fn find(files: &BTreeMap<SkillPath, BundleFile>) -> Result<BundleRoot, BundleError> {
    let skill = find_skill_file(files)?;
    let Some((folder, name)) = skill.as_str().split_once('/') else {
        return Ok(BundleRoot {
            folder: None,
            skill_file: skill.as_str().to_owned(),
        });
    };
    if name.contains('/') {
        return Err(BundleError::at(
            skill.as_str(),
            BundleErrorKind::SkillTooDeep,
        ));
    }
    let inside = |path: &SkillPath| path.as_str().split('/').next() == Some(folder);
    if let Some(stray) = files.keys().find(|path| !inside(path)) {
        let reason = BundleErrorKind::Stray(quote_name(folder.as_bytes()));
        return Err(BundleError::at(stray.as_str(), reason));
    }
    Ok(BundleRoot {
        folder: Some(folder.to_owned()),
        skill_file: name.to_owned(),
    })
}

/// The one skill file that lies below no other skill's folder.
fn find_skill_file(files: &BTreeMap<SkillPath, BundleFile>) -> Result<&SkillPath, BundleError> {
    let mut candidates: Vec<&SkillPath> = files.keys().filter(|p| is_skill_file(p)).collect();
    candidates.sort_by_key(|path| path.ancestors().count());
    let mut folders = HashSet::new();
    let mut roots = Vec::new();
    for candidate in candidates {
        let mut above = candidate.ancestors().chain([TOP_FOLDER]);
        if !above.any(|folder| folders.contains(folder)) {
            folders.insert(candidate.ancestors().next().unwrap_or(TOP_FOLDER));
            roots.push(candidate);
        }
    }
    match roots.as_slice() {
        [] => Err(BundleErrorKind::NoSkillFile(list_paths(files.keys(), files.len())).into()),
        [one] => Ok(one),
        several => {
            let listed = list_paths(several.iter().copied(), several.len());
            Err(BundleErrorKind::SeveralSkills(listed).into())
        }
    }
}

fn is_skill_file(path: &SkillPath) -> bool {
    path.file_name().eq_ignore_ascii_case(SKILL_FILE)
}

fn list_paths<'a>(paths: impl Iterator<Item = &'a SkillPath>, count: usize) -> String {
    if count == 0 {
        return "no files".to_owned();
    }
    let shown: Vec<String> = paths
        .take(MAX_LISTED_PATHS)
        .map(|path| quote_name(path.as_str().as_bytes()))
        .collect();
    match count.saturating_sub(MAX_LISTED_PATHS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
