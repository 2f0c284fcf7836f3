//! Resolves the skills of a request: ids stay ids, sources are loaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_skill::{BundleLimits, LoadedSkill, Profile, Severity, Skill, rules};
use prowess_source::url::{FetchOptions, Fetcher, is_url};
use prowess_source::{OpenResult, Origin, SearchBounds, SourceError};
use prowess_toolbox::Member;

use super::{Error, SkillRef};

/// The skills of a request.
#[derive(Debug, Default)]
pub(super) struct RequestSkills {
    /// Ids of stored skills, with the requested version.
    pub(super) ids: Vec<(String, Option<String>)>,
    /// Loaded skills.
    pub(super) members: Vec<Member>,
}

/// Resolves and loads skills.
pub(super) async fn resolve_skills(
    skills: &[SkillRef],
    aliases: &BTreeMap<String, String>,
    fetch: &FetchOptions,
) -> Result<RequestSkills, Error> {
    let mut resolved = RequestSkills::default();
    for skill in skills {
        match skill {
            SkillRef::Id { id, version } => resolved.ids.push((id.clone(), version.clone())),
            SkillRef::Loaded(skill) => resolved.members.push(to_member(Arc::clone(skill))),
            SkillRef::Source(place) => match find_alias(place, aliases) {
                Some(id) => resolved.ids.push((id, None)),
                None => {
                    let read = read_source(place, fetch).await?;
                    resolved.members.extend(read.into_iter().map(Member::from));
                }
            },
        }
    }
    Ok(resolved)
}

fn to_member(skill: Arc<Skill>) -> Member {
    Member {
        skill,
        id: None,
        title: None,
    }
}

/// The stored skill of an alias. An existing path takes precedence.
fn find_alias(place: &Path, aliases: &BTreeMap<String, String>) -> Option<String> {
    let id = aliases.get(place.to_str()?)?;
    (!place.exists()).then(|| id.clone())
}

/// Loads all skills of a source, on a blocking thread.
async fn read_source(place: &Path, fetch: &FetchOptions) -> Result<Vec<Skill>, Error> {
    let fetched = match place.to_str() {
        Some(url) if is_url(place) => Some(fetch_source(url, fetch).await),
        _ => None,
    };
    let path = place.to_owned();
    let work = tokio::task::spawn_blocking(move || {
        let opened =
            fetched.unwrap_or_else(|| prowess_source::open(&path, &SearchBounds::default()));
        load_opened(&path, opened)
    });
    work.await.unwrap_or_else(|error| {
        Err(Error::NotASkill {
            place: place.to_owned(),
            why: format!("reading it failed: {error}"),
        })
    })
}

async fn fetch_source(url: &str, options: &FetchOptions) -> OpenResult {
    let fetcher = Fetcher::new(options.clone()).map_err(|error| SourceError::Url {
        url: url.to_owned(),
        error,
    })?;
    fetcher.open(url).await
}

/// Loads the skills of an opened source; all of them must be valid.
///
/// # Errors
/// When the source could not be opened, or has no skill, or one that is invalid.
pub fn load_opened(place: &Path, opened: OpenResult) -> Result<Vec<Skill>, Error> {
    find_origins(place, opened)?
        .iter()
        .map(|origin| into_skill(origin, load_origin(origin)?))
        .collect()
}

/// Loads the skills of an opened source to send them elsewhere: what was left out of them would
/// be missing there.
///
/// # Errors
/// As [`load_opened`], and when something was left out of a skill.
pub fn load_to_send(place: &Path, opened: OpenResult) -> Result<Vec<Skill>, Error> {
    let load = |origin: &Origin| {
        let loaded = load_origin(origin)?;
        let mut problems = loaded.diagnostics.iter();
        match problems.find(|found| found.code == rules::CONTENT_LEFT_OUT.code) {
            Some(left_out) => Err(not_a_skill(origin.path(), left_out.message.clone())),
            None => into_skill(origin, loaded),
        }
    };
    find_origins(place, opened)?.iter().map(load).collect()
}

fn find_origins(place: &Path, opened: OpenResult) -> Result<Vec<Origin>, Error> {
    let (origins, discovery) = opened?;
    // If part of a folder cannot be read, the intended skill might be missing.
    if let Some(error) = discovery.unreadable.into_iter().next() {
        return Err(error.into());
    }
    if origins.is_empty() {
        return Err(not_a_skill(
            place,
            "no SKILL.md in this folder or below".to_owned(),
        ));
    }
    Ok(origins)
}

fn load_origin(origin: &Origin) -> Result<LoadedSkill, Error> {
    Ok(origin.load(&BundleLimits::default(), Profile::Lenient)?)
}

fn into_skill(origin: &Origin, loaded: LoadedSkill) -> Result<Skill, Error> {
    let why = first_error(&loaded);
    loaded.skill.ok_or_else(|| not_a_skill(origin.path(), why))
}

fn first_error(loaded: &LoadedSkill) -> String {
    let mut found = loaded.diagnostics.iter();
    let error = found.find(|found| found.severity == Severity::Error);
    error.map_or_else(
        || "not a skill".to_owned(),
        |error| format!("{}: {}", error.file, error.message),
    )
}

fn not_a_skill(place: &Path, why: String) -> Error {
    Error::NotASkill {
        place: PathBuf::from(place),
        why,
    }
}
