//! Skills of folders, archives and URLs, reloaded when they change.
//!
//! The sources are checked on request, and only what changed is read: a skill whose files
//! have the same sizes and times is not read again. Nothing watches in the background;
//! callers refresh before they list tools.

use crate::spec::Member;
use prowess_skill::{BundleLimits, Diagnostic, Profile, Skill};
use prowess_source::{
    LabelledSource, OpenResult, Origin, SearchBounds, ShadowedSkill, SourceError, open,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// Files of one skill that are checked; one with more is not a skill anyway.
const MAX_FILES: usize = 10_000;

/// Depth to which folders are checked.
const MAX_DEPTH: usize = 32;

/// The sources of a toolbox.
#[derive(Debug)]
pub struct SkillSources {
    sources: Vec<LabelledSource>,
    bounds: SearchBounds,
    limits: BundleLimits,
    /// By path, or URL.
    cache: BTreeMap<PathBuf, CachedSkill>,
    /// Result of the last refresh, to detect changes.
    last_snapshot: Option<Vec<(String, Origin, u64)>>,
}

/// The result of a search.
#[derive(Debug, Default)]
struct OpenedSources {
    origins: Vec<Origin>,
    problems: Vec<SourceProblem>,
    cut_short: bool,
}

/// A source location that was read.
#[derive(Debug, Clone)]
struct CachedSkill {
    /// Sizes and times of its files when it was read.
    fingerprint: u64,
    result: Result<Arc<Skill>, SourceProblem>,
}

/// A location without a usable skill, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceProblem {
    /// The location, or its source.
    pub path: PathBuf,
    /// A stable identifier of the reason.
    pub code: String,
    /// The reason, for people.
    pub message: String,
}

/// The skills of all sources at one moment.
#[derive(Debug)]
pub struct SkillSnapshot {
    /// The skills, by name.
    pub members: Vec<Member>,
    /// Whether they differ from those of the last refresh.
    pub changed: bool,
    /// Skills hidden by one of the same name in a later source.
    pub shadowed: Vec<ShadowedSkill>,
    /// Locations without a usable skill. They do not affect the others.
    pub problems: Vec<SourceProblem>,
    /// Whether a search stopped at its bounds.
    pub cut_short: bool,
}

impl SkillSources {
    /// Skills of these sources. Nothing is read yet.
    #[must_use]
    pub fn new(sources: Vec<LabelledSource>, bounds: SearchBounds, limits: BundleLimits) -> Self {
        Self {
            sources,
            bounds,
            limits,
            cache: BTreeMap::new(),
            last_snapshot: None,
        }
    }

    /// Checks the sources and reads what changed. This blocks on the disk, and supports
    /// paths only: for URLs see [`SkillSources::refresh_from`].
    pub fn refresh(&mut self) -> SkillSnapshot {
        let sources = self.sources.iter();
        let opened = sources.map(|source| open(&source.path, &self.bounds));
        let opened = opened.collect();
        self.refresh_from(opened)
    }

    /// The same for sources that the caller has opened, in their order.
    pub fn refresh_from(&mut self, opened: Vec<OpenResult>) -> SkillSnapshot {
        let mut found = self.merge_opened(opened);
        let load = |origin: Origin| {
            let known = self.load_cached(&origin);
            (origin, known)
        };
        let read: Vec<(Origin, CachedSkill)> = found.origins.into_par_iter().map(load).collect();
        let (skills, shadowed) = by_name(&read, &mut found.problems);
        let seen = |(name, (origin, known)): (&String, &(&Origin, &CachedSkill))| {
            (name.clone(), (*origin).clone(), known.fingerprint)
        };
        let now: Vec<_> = skills.iter().map(seen).collect();
        let members = skills.values().filter_map(|(_, known)| member(known));
        let members = members.collect();
        let changed = self.last_snapshot.as_ref() != Some(&now);
        self.last_snapshot = Some(now);
        let by_path = |(origin, known): (Origin, CachedSkill)| (origin.path().to_owned(), known);
        self.cache = read.into_iter().map(by_path).collect();
        SkillSnapshot {
            members,
            changed,
            shadowed,
            problems: found.problems,
            cut_short: found.cut_short,
        }
    }

    /// The results of all sources, merged.
    fn merge_opened(&self, opened: Vec<OpenResult>) -> OpenedSources {
        let mut all = OpenedSources::default();
        for (source, opened) in self.sources.iter().zip(opened) {
            let unreadable = |error| SourceProblem::unreadable(&source.path, error);
            match opened {
                Ok((origins, discovery)) => {
                    all.cut_short |= discovery.cut_short;
                    let problems = discovery.unreadable.iter();
                    all.problems.extend(problems.map(unreadable));
                    all.origins.extend(origins);
                }
                Err(error) => all.problems.push(unreadable(&error)),
            }
        }
        all
    }

    /// The skill at a location: from the cache, unless it has changed.
    fn load_cached(&self, origin: &Origin) -> CachedSkill {
        let fingerprint = fingerprint(origin);
        if let Some(known) = self.cache.get(origin.path())
            && known.fingerprint == fingerprint
        {
            return known.clone();
        }
        let result = match origin.load(&self.limits, Profile::Lenient) {
            Err(error) => Err(SourceProblem::unreadable(origin.path(), &error)),
            Ok(loaded) => match loaded.skill {
                Some(skill) => Ok(Arc::new(skill)),
                None => Err(SourceProblem::invalid_skill(
                    origin.path(),
                    &loaded.diagnostics,
                )),
            },
        };
        CachedSkill {
            fingerprint,
            result,
        }
    }
}

type SkillsByName<'a> = BTreeMap<String, (&'a Origin, &'a CachedSkill)>;

/// Skills by name; of two with the same name the later one is used.
fn by_name<'a>(
    read: &'a [(Origin, CachedSkill)],
    problems: &mut Vec<SourceProblem>,
) -> (SkillsByName<'a>, Vec<ShadowedSkill>) {
    let mut skills = SkillsByName::new();
    let mut shadowed = Vec::new();
    for (origin, known) in read {
        let name = match &known.result {
            Ok(skill) => skill.name.clone(),
            Err(problem) => {
                problems.push(problem.clone());
                continue;
            }
        };
        let by = origin.path().to_owned();
        if let Some((before, _)) = skills.insert(name.clone(), (origin, known)) {
            let hidden = before.path().to_owned();
            shadowed.push(ShadowedSkill { name, hidden, by });
        }
    }
    (skills, shadowed)
}

fn member(known: &CachedSkill) -> Option<Member> {
    let skill = Arc::clone(known.result.as_ref().ok()?);
    Some(Member {
        skill,
        id: None,
        title: None,
    })
}

impl SourceProblem {
    fn unreadable(path: &Path, error: &SourceError) -> Self {
        Self {
            path: path.to_owned(),
            code: error.code().to_owned(),
            message: error.to_string(),
        }
    }

    fn invalid_skill(path: &Path, diagnostics: &[Diagnostic]) -> Self {
        let worst = diagnostics.iter().max_by_key(|d| d.severity);
        let message = worst.map_or("not a skill", |d| d.message.as_str());
        Self {
            path: path.to_owned(),
            code: worst.map_or("not-a-skill", |d| d.code).to_owned(),
            message: format!("{}: {message}", path.display()),
        }
    }
}

/// Names, sizes and times of all files at a location, or the digest of a skill that came
/// from a URL or an archive of several skills. What cannot be read counts as nothing:
/// loading it reports why.
fn fingerprint(origin: &Origin) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut left = MAX_FILES;
    let digest = match origin {
        Origin::Url(remote) => Some(remote.digest),
        Origin::Packed(skill) => Some(skill.digest),
        _ => None,
    };
    if let Some(digest) = digest {
        digest.hex().hash(&mut hasher);
        return hasher.finish();
    }
    let path = origin.path();
    if let Ok(meta) = fs::metadata(path) {
        hash_entry(path, &meta, &mut hasher, &mut left, 0);
    }
    hasher.finish()
}

fn hash_entry(
    path: &Path,
    meta: &Metadata,
    hasher: &mut DefaultHasher,
    left: &mut usize,
    depth: usize,
) {
    if *left == 0 || depth > MAX_DEPTH {
        return;
    }
    *left -= 1;
    path.hash(hasher);
    let modified = meta.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    modified.hash(hasher);
    meta.len().hash(hasher);
    if !meta.is_dir() {
        return;
    }
    let Ok(entries) = fs::read_dir(path) else {
        return;
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        // Of a link this is the link's own; links are not followed in skills either.
        if let Ok(meta) = entry.metadata() {
            hash_entry(&entry.path(), &meta, hasher, left, depth + 1);
        }
    }
}
