//! Skills of folders, archives and URLs, seen again when they change.
//!
//! A shelf looks at its sources when asked and reads only what is new: a skill whose
//! files have the sizes and times they had is not read again. Nothing watches in the
//! background; whoever lists tools asks first.

use crate::spec::Member;
use prowess_skill::{Diagnostic, Limits, Profile, Skill};
use prowess_source::{Bounds, Labelled, Opened, Origin, Shadowed, SourceError, open};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// Files of one skill that are looked at; one with more is not a skill anyway.
const MOST_FILES: usize = 10_000;

/// Folders within folders that are looked into.
const DEEPEST: usize = 32;

/// The sources of a toolbox.
#[derive(Debug)]
pub struct Shelf {
    sources: Vec<Labelled>,
    bounds: Bounds,
    limits: Limits,
    /// By path, or URL.
    known: BTreeMap<PathBuf, Known>,
    /// What the last look gave, to tell whether the next one gives something else.
    last: Option<Vec<(String, Origin, u64)>>,
}

/// What a search gave.
#[derive(Debug, Default)]
struct Found {
    origins: Vec<Origin>,
    problems: Vec<Problem>,
    cut_short: bool,
}

/// A place that was read.
#[derive(Debug, Clone)]
struct Known {
    /// Sizes and times of its files when it was read.
    fingerprint: u64,
    read: Result<Arc<Skill>, Problem>,
}

/// A place that gives no skill, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The place, or the source that it is in.
    pub path: PathBuf,
    /// A stable identifier of the reason.
    pub code: String,
    /// The reason, for people.
    pub message: String,
}

/// What a look at the sources gave.
#[derive(Debug)]
pub struct Refreshed {
    /// The skills, by name.
    pub members: Vec<Member>,
    /// Whether they differ from those of the last look.
    pub changed: bool,
    /// Skills that lost their name to one of a later source.
    pub shadowed: Vec<Shadowed>,
    /// Places that give no skill. The others are not harmed.
    pub problems: Vec<Problem>,
    /// Whether a search ended early because there was too much to search.
    pub cut_short: bool,
}

impl Shelf {
    /// A shelf of these sources. Nothing is read yet.
    #[must_use]
    pub fn new(sources: Vec<Labelled>, bounds: Bounds, limits: Limits) -> Self {
        Self {
            sources,
            bounds,
            limits,
            known: BTreeMap::new(),
            last: None,
        }
    }

    /// Looks at the sources and reads what is new. This waits for the disk, and knows
    /// paths only: for URLs see [`Shelf::take`].
    pub fn refresh(&mut self) -> Refreshed {
        let sources = self.sources.iter();
        let opened = sources.map(|source| open(&source.path, &self.bounds));
        let opened = opened.collect();
        self.take(opened)
    }

    /// The same for sources that somebody else has opened, in their order.
    pub fn take(&mut self, opened: Vec<Opened>) -> Refreshed {
        let mut found = self.find(opened);
        let look = |origin: Origin| {
            let known = self.look(&origin);
            (origin, known)
        };
        let read: Vec<(Origin, Known)> = found.origins.into_par_iter().map(look).collect();
        let (skills, shadowed) = by_name(&read, &mut found.problems);
        let seen = |(name, (origin, known)): (&String, &(&Origin, &Known))| {
            (name.clone(), (*origin).clone(), known.fingerprint)
        };
        let now: Vec<_> = skills.iter().map(seen).collect();
        let members = skills.values().filter_map(|(_, known)| member(known));
        let members = members.collect();
        let changed = self.last.as_ref() != Some(&now);
        self.last = Some(now);
        let by_path = |(origin, known): (Origin, Known)| (origin.path().to_owned(), known);
        self.known = read.into_iter().map(by_path).collect();
        Refreshed {
            members,
            changed,
            shadowed,
            problems: found.problems,
            cut_short: found.cut_short,
        }
    }

    /// What the sources gave, taken together.
    fn find(&self, opened: Vec<Opened>) -> Found {
        let mut all = Found::default();
        for (source, opened) in self.sources.iter().zip(opened) {
            let unreadable = |error| Problem::unreadable(&source.path, error);
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

    /// What is at a place: as it was read before, unless it has changed since.
    fn look(&self, origin: &Origin) -> Known {
        let fingerprint = fingerprint(origin);
        if let Some(known) = self.known.get(origin.path())
            && known.fingerprint == fingerprint
        {
            return known.clone();
        }
        let read = match origin.load(&self.limits, Profile::Lenient) {
            Err(error) => Err(Problem::unreadable(origin.path(), &error)),
            Ok(loaded) => match loaded.skill {
                Some(skill) => Ok(Arc::new(skill)),
                None => Err(Problem::refused(origin.path(), &loaded.diagnostics)),
            },
        };
        Known { fingerprint, read }
    }
}

type ByName<'a> = BTreeMap<String, (&'a Origin, &'a Known)>;

/// Skills by name; of two with one name the later counts.
fn by_name<'a>(
    read: &'a [(Origin, Known)],
    problems: &mut Vec<Problem>,
) -> (ByName<'a>, Vec<Shadowed>) {
    let mut skills = ByName::new();
    let mut shadowed = Vec::new();
    for (origin, known) in read {
        let name = match &known.read {
            Ok(skill) => skill.name.clone(),
            Err(problem) => {
                problems.push(problem.clone());
                continue;
            }
        };
        let by = origin.path().to_owned();
        if let Some((before, _)) = skills.insert(name.clone(), (origin, known)) {
            let hidden = before.path().to_owned();
            shadowed.push(Shadowed { name, hidden, by });
        }
    }
    (skills, shadowed)
}

fn member(known: &Known) -> Option<Member> {
    let skill = Arc::clone(known.read.as_ref().ok()?);
    Some(Member {
        skill,
        id: None,
        title: None,
    })
}

impl Problem {
    fn unreadable(path: &Path, error: &SourceError) -> Self {
        Self {
            path: path.to_owned(),
            code: error.code().to_owned(),
            message: error.to_string(),
        }
    }

    fn refused(path: &Path, diagnostics: &[Diagnostic]) -> Self {
        let worst = diagnostics.iter().max_by_key(|d| d.severity);
        let message = worst.map_or("not a skill", |d| d.message.as_str());
        Self {
            path: path.to_owned(),
            code: worst.map_or("not-a-skill", |d| d.code).to_owned(),
            message: format!("{}: {message}", path.display()),
        }
    }
}

/// Names, sizes and times of all that is at a place, or the digest of what came from a
/// URL or out of an archive of several skills. What cannot be seen counts as nothing: reading it says why.
fn fingerprint(origin: &Origin) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut left = MOST_FILES;
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
        add(path, &meta, &mut hasher, &mut left, 0);
    }
    hasher.finish()
}

fn add(path: &Path, meta: &Metadata, hasher: &mut DefaultHasher, left: &mut usize, depth: usize) {
    if *left == 0 || depth > DEEPEST {
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
            add(&entry.path(), &meta, hasher, left, depth + 1);
        }
    }
}
