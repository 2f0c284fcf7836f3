//! Many skills in one archive: a repository, as code hosts pack it, or a folder of
//! skills that somebody packed.
//!
//! Unlike a skill's own archive, such an archive has many files of no skill: links, odd
//! names, large files. They are skipped; files in a skill's folder are checked like those of
//! any other skill.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::archive_file::ArchiveFile;
use super::format::ArchiveFormat;
use super::{Bundle, BundleError, BundleErrorKind, check_size, tar, zip};
use crate::limits::BundleLimits;
use crate::path::ancestors;

/// The skills of a repository's archive.
#[derive(Debug, Default)]
pub struct SkillTree {
    /// Skills by the path of their folder; the archive itself, when it is a skill, has
    /// an empty one.
    pub skills: BTreeMap<String, Result<Bundle, BundleError>>,
}

/// Which skills of a repository to read.
pub struct TreeQuery<'a> {
    /// Whether the archive has one top folder around everything, which is ignored: code hosts
    /// name it after the repository and the branch.
    pub wrapped: bool,
    /// Only skills in or below this folder; everywhere when empty.
    pub under: &'a str,
    /// Only the skill whose folder has this name.
    pub folder_name: Option<&'a str>,
    /// Which files are read at all, by their path in the repository.
    pub keep: fn(&str) -> bool,
}

/// Longer names belong to no skill, and would be slow to search folder by folder.
const MAX_NAME_BYTES: usize = 4096;

/// Files of one skill while they are collected.
type LooseFiles = Vec<(String, Bytes, bool)>;

impl SkillTree {
    /// Finds the skills of a zip or a gzipped tar. `whole` limits the archive and what is read
    /// from it; `limits` limits each skill.
    pub fn read(
        archive: &[u8],
        query: &TreeQuery<'_>,
        whole: &BundleLimits,
        limits: &BundleLimits,
    ) -> Result<SkillTree, BundleError> {
        check_size(archive, whole)?;
        let folders = skill_folders(archive, query, whole)?;
        let mut gathered: BTreeMap<&str, Result<LooseFiles, BundleError>> = BTreeMap::new();
        each_file(archive, whole, |name, file| {
            let Some((path, folder)) = skill_file_path(name, query, &folders) else {
                return Ok(());
            };
            let inside = path.get(folder.len()..).unwrap_or_default();
            let inside = inside.trim_start_matches('/').to_owned();
            let loose = gathered.entry(folder).or_insert_with(|| Ok(Vec::new()));
            let Ok(files) = loose else { return Ok(()) };
            if file.size > limits.file_bytes {
                *loose = Err(BundleError::at(
                    path,
                    BundleErrorKind::FileTooLarge(limits.file_bytes),
                ));
            } else if files.len() >= limits.files {
                *loose = Err(BundleErrorKind::TooManyFiles(limits.files).into());
            } else {
                match file.read() {
                    Ok((data, executable)) => files.push((inside, data.into(), executable)),
                    Err(error) => *loose = Err(error),
                }
            }
            Ok(())
        })?;
        let bundle = |(folder, files): (&str, Result<LooseFiles, _>)| {
            let bundle = files.and_then(|files| Bundle::from_files(files, limits));
            (folder.to_owned(), bundle)
        };
        let skills = gathered.into_iter().map(bundle).collect();
        Ok(SkillTree { skills })
    }
}

fn each_file(
    archive: &[u8],
    whole: &BundleLimits,
    visit: impl FnMut(&str, ArchiveFile<'_>) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    match ArchiveFormat::detect(archive) {
        ArchiveFormat::Zip => zip::each_file(archive, whole, visit),
        ArchiveFormat::Gzip => tar::each_file(archive, whole, visit),
        ArchiveFormat::Other(what) => Err(BundleErrorKind::UnknownFormat(what).into()),
    }
}

/// Folders with a SKILL.md, except those inside another skill.
fn skill_folders(
    archive: &[u8],
    query: &TreeQuery<'_>,
    whole: &BundleLimits,
) -> Result<BTreeSet<String>, BundleError> {
    let mut found = BTreeSet::new();
    each_file(archive, whole, |name, _| {
        if let Some(path) = matching_path(name, query) {
            let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
            if file.eq_ignore_ascii_case("SKILL.md") {
                found.insert(folder.to_owned());
            }
        }
        Ok(())
    })?;
    let inner = |folder: &String| {
        let mut above = ancestors(folder).chain((!folder.is_empty()).then_some(""));
        above.any(|above| found.contains(above))
    };
    let has_name = |folder: &String| {
        let own = folder.rsplit('/').next().unwrap_or(folder);
        query.folder_name.is_none_or(|name| name == own)
    };
    let outer = found
        .iter()
        .filter(|folder| !inner(folder) && has_name(folder));
    Ok(outer.cloned().collect())
}

/// The path of an entry, if the query includes it.
fn matching_path<'n>(name: &'n str, query: &TreeQuery<'_>) -> Option<&'n str> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let name = name.strip_prefix("./").unwrap_or(name);
    let path = if query.wrapped {
        name.split_once('/')?.1
    } else {
        name
    };
    let below = path.strip_prefix(query.under)?;
    let within = query.under.is_empty() || below.starts_with('/');
    (within && (query.keep)(path)).then_some(path)
}

/// The path of an entry, and the folder of its skill.
fn skill_file_path<'n, 'f>(
    name: &'n str,
    query: &TreeQuery<'_>,
    folders: &'f BTreeSet<String>,
) -> Option<(&'n str, &'f str)> {
    let path = matching_path(name, query)?;
    let folder = ancestors(path)
        .chain([""])
        .find_map(|above| folders.get(above))?;
    Some((path, folder))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prowess_testkit::raw_tar::RawTar;

    use super::*;

    const SKILL: &[u8] = b"---\nname: a\ndescription: d\n---\n";

    fn read(archive: &[u8], under: &str) -> Result<SkillTree, BundleError> {
        let query = TreeQuery {
            wrapped: true,
            under,
            folder_name: None,
            keep: |_| true,
        };
        SkillTree::read(
            archive,
            &query,
            &BundleLimits::default(),
            &BundleLimits::default(),
        )
    }

    #[test]
    fn what_is_wrong_with_one_skill_is_not_the_others_fault() {
        let archive = RawTar::new()
            .file("r/a/SKILL.md", SKILL)
            .file("r/b/SKILL.md", SKILL)
            .file("r/b/c:d", b"x")
            .file("r/ab/x", b"x")
            .gz();
        let tree = read(&archive, "").unwrap();
        let seen: Vec<_> = tree
            .skills
            .iter()
            .map(|(folder, bundle)| {
                (
                    folder.as_str(),
                    bundle.as_ref().map_or_else(|e| e.code(), |_| "ok"),
                )
            })
            .collect();
        assert_eq!(seen, [("a", "ok"), ("b", "path-colon")]);
        assert_eq!(read(&archive, "a").unwrap().skills.len(), 1);
        assert_eq!(read(&archive, "../a").unwrap().skills.len(), 0);
    }

    #[test]
    fn a_repository_that_inflates_too_far_is_refused() {
        let archive = RawTar::new().file("r/big", &vec![0; 40 << 20]).gz();
        assert_eq!(read(&archive, "").unwrap_err().code(), "compression-ratio");
    }

    proptest! {
        #[test]
        fn no_archive_panics(names in proptest::collection::vec(".{0,20}", 0..5), cut in 0usize..200) {
            let mut tar = RawTar::new().file("r/a/SKILL.md", SKILL);
            for name in names {
                tar = tar.file(name, b"x");
            }
            let mut archive = tar.gz();
            archive.truncate(archive.len().saturating_sub(cut));
            let _ = read(&archive, "");
        }
    }
}
