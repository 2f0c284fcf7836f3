//! The place of one skill, and how its files are read from there. How origins are found is
//! the task of `open` and `url`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_skill::{
    Bundle, BundleLimits, Diagnostic, LoadOptions, LoadedSkill, Profile, Severity, Skill, rules,
};

use crate::archive_contents::PackedSkill;
use crate::discover::Discovery;
use crate::error::SourceError;
use crate::folder::SkippedEntry;
use crate::url::FetchedSkill;
use crate::{archive, folder};

/// The source of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A folder with a SKILL.md.
    Folder(PathBuf),
    /// A zip or tar.gz that is one skill.
    Archive(PathBuf),
    /// One of several skills in a zip or tar.gz, already read.
    Packed(Arc<PackedSkill>),
    /// A Markdown file that is the whole skill.
    Markdown(PathBuf),
    /// A URL, already fetched.
    Url(Arc<FetchedSkill>),
}

/// The skills of a source, and the result of the search for them.
pub type OpenResult = Result<(Vec<Origin>, Discovery), SourceError>;

impl Origin {
    /// The path of the folder or file. For a URL its text, which is not a path on a disk and
    /// only for display.
    pub fn path(&self) -> &Path {
        match self {
            Origin::Url(remote) => Path::new(&remote.url),
            Origin::Packed(skill) => &skill.path,
            Origin::Folder(path) | Origin::Archive(path) | Origin::Markdown(path) => path,
        }
    }

    /// The name of the folder or file, without its extension.
    pub fn name(&self) -> Option<String> {
        match self {
            Origin::Url(remote) => remote.place_name.clone(),
            Origin::Packed(skill) => Some(skill.folder.clone()),
            Origin::Folder(path) => {
                let named = path.file_name().is_some();
                let path = if named {
                    path.clone()
                } else {
                    path.canonicalize().ok()?
                };
                path.file_name()?.to_str().map(str::to_owned)
            }
            Origin::Archive(path) => archive::stem(path),
            Origin::Markdown(path) => path.file_stem()?.to_str().map(str::to_owned),
        }
    }

    /// Reads the bundle, with a diagnostic for each file that was skipped.
    pub fn read(&self, limits: &BundleLimits) -> Result<(Bundle, Vec<Diagnostic>), SourceError> {
        match self {
            Origin::Url(remote) => Ok((remote.bundle().clone(), Vec::new())),
            Origin::Packed(skill) => Ok((skill.bundle.clone(), Vec::new())),
            Origin::Folder(path) => {
                let read = folder::read(path, limits)?;
                let skipped = read.skipped.iter().map(SkippedEntry::to_diagnostic);
                Ok((read.bundle, skipped.collect()))
            }
            Origin::Archive(path) => Ok((archive::read(path, limits)?, Vec::new())),
            Origin::Markdown(path) => Ok((archive::read_markdown(path, limits)?, Vec::new())),
        }
    }

    /// Reads and checks the skill. One from a URL is checked like an upload, whatever the
    /// profile, and is returned only if it passes.
    pub fn load(
        &self,
        limits: &BundleLimits,
        profile: Profile,
    ) -> Result<LoadedSkill, SourceError> {
        if let Origin::Url(remote) = self {
            let loaded = remote.load(limits);
            return loaded.map_err(|error| SourceError::url(&remote.url, error));
        }
        let (bundle, mut skipped) = self.read(limits)?;
        if profile == Profile::Upload {
            refuse_left_out(&mut skipped);
        }
        let name = self.name();
        // Only a folder must have the skill's name; a file may have any name.
        let own_folder = match self {
            Origin::Folder(_) => true,
            Origin::Packed(skill) => skill.own_folder,
            _ => false,
        };
        let folder = name.as_deref().filter(|_| own_folder);
        let options = LoadOptions {
            limits: limits.clone(),
            profile,
            folder,
            fallback_name: name.as_deref(),
        };
        let mut loaded = Skill::load(bundle, &options);
        loaded.diagnostics.extend(skipped);
        Ok(loaded)
    }
}

/// Makes an error of each file that was left out of a skill, for those who copy the skill: the
/// copy would lack the file, and nobody would notice.
pub fn refuse_left_out(diagnostics: &mut [Diagnostic]) {
    let left_out = diagnostics
        .iter_mut()
        .filter(|found| found.code == rules::CONTENT_LEFT_OUT.code);
    for diagnostic in left_out {
        diagnostic.severity = Severity::Error;
    }
}
