//! Files that differ.

use std::collections::BTreeSet;

use serde::Serialize;

use super::ChangeKind;
use super::line_diff::{DiffBudget, LineDiff, diff_lines};
use crate::manifest::{Digest, ManifestFile};
use crate::path::SkillPath;
use crate::skill::Skill;

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Where it lies in the skill.
    pub path: String,
    /// How it differs.
    pub change: ChangeKind,
    /// The file of the first skill.
    pub from: Option<ComparedFile>,
    /// The file of the second.
    pub to: Option<ComparedFile>,
    /// Whether it is not text, so that it has no lines.
    pub binary: bool,
    /// The lines that differ; none if it is not text, or has the same content.
    pub diff: Option<LineDiff>,
}

/// A file of one of the skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComparedFile {
    /// Bytes of its content.
    pub size: u64,
    /// The digest of its content.
    pub digest: Digest,
    /// Whether it may be executed.
    pub executable: bool,
}

impl From<&ManifestFile> for ComparedFile {
    fn from(file: &ManifestFile) -> Self {
        ComparedFile {
            size: file.size,
            digest: file.digest,
            executable: file.executable,
        }
    }
}

/// All files of two skills.
pub(super) struct ComparedFiles {
    pub(super) changes: Vec<FileChange>,
    pub(super) unchanged: usize,
}

pub(super) fn compare_files(from: &Skill, to: &Skill) -> ComparedFiles {
    let paths = |skill: &Skill| {
        let files = skill.manifest.files().iter();
        files
            .map(|file| file.path.clone())
            .collect::<Vec<SkillPath>>()
    };
    let all = paths(from).into_iter().chain(paths(to));
    let all: BTreeSet<String> = all.map(|path| path.as_str().to_owned()).collect();
    // The main file first: readers look for it, and its lines are never left out for others'.
    let (main, others): (Vec<String>, Vec<String>) =
        all.into_iter().partition(|path| path == "SKILL.md");
    let mut budget = DiffBudget::default();
    let mut compared = ComparedFiles {
        changes: Vec::new(),
        unchanged: 0,
    };
    for path in main.into_iter().chain(others) {
        let before = from.manifest.get(&path).map(ComparedFile::from);
        let after = to.manifest.get(&path).map(ComparedFile::from);
        if before == after {
            compared.unchanged += 1;
            continue;
        }
        let change = match (&before, &after) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            _ => ChangeKind::Changed,
        };
        let digest = |file: &Option<ComparedFile>| file.as_ref().map(|file| file.digest);
        let has_same_content = digest(&before) == digest(&after);
        let (old, new) = (text(from, &path), text(to, &path));
        let diff = match (old, new) {
            (Some(old), Some(new)) if !has_same_content => Some(diff_lines(old, new, &mut budget)),
            _ => None,
        };
        compared.changes.push(FileChange {
            binary: old.is_none() || new.is_none(),
            path,
            change,
            from: before,
            to: after,
            diff,
        });
    }
    compared
}

/// The text of a file; empty if there is no such file, `None` if it is not text.
fn text<'a>(skill: &'a Skill, path: &str) -> Option<&'a str> {
    let Some(file) = skill.bundle.get(path) else {
        return Some("");
    };
    let text = std::str::from_utf8(&file.data).ok();
    text.filter(|text| !text.contains('\0'))
}
