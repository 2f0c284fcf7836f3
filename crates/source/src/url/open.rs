//! The skills that a URL names.
//!
//! | the URL | result |
//! |---|---|
//! | of a repository's page on a known host | the skills in that folder of it |
//! | that ends like an archive, a Markdown file or JSON | what its bytes are: an archive may hold one skill or several |
//! | any other | the index below it, newest form first; else what its bytes are |
//!
//! `#NAME` selects one of several. The bytes decide the format; names and content types
//! only decide where to look.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use percent_encoding::percent_decode_str;
use prowess_skill::bundle;
use prowess_skill::{Bundle, BundleError, BundleLimits, Digest};
use url::Url;

use super::error::FetchError;
use super::fetch::{FetchedBytes, Fetcher};
use super::fetched_skill::{FetchState, FetchedSkill};
use super::index::{self, IndexContent, IndexEntry, IndexQuery, SkillIndex};
use super::repository_url;
use crate::archive;
use crate::archive_contents::{self, ArchiveContents, ArchiveLimits, SkillsByFolder};
use crate::discover::Discovery;
use crate::error::SourceError;
use crate::origin::{OpenResult, Origin};

/// Whether a source is a URL rather than a path. One with an unsupported scheme counts as
/// a URL too, and is refused as such.
pub fn is_url(source: &Path) -> bool {
    let text = source.to_str().unwrap_or_default();
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|s| s.len() > 1 && s.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// A URL as the user wrote it.
pub(super) struct SkillUrl {
    pub(super) url: Url,
    pub(super) skill_name: Option<String>,
}

/// Skills, and the errors of others of the source.
#[derive(Default)]
pub(super) struct FoundSkills {
    pub(super) skills: Vec<FetchedSkill>,
    pub(super) refused: Vec<(String, FetchError)>,
}

impl Fetcher {
    /// Finds and fetches the skills that a URL names. Failures are reported in
    /// [`Discovery::unreadable`]; it is an error only if all fail.
    pub async fn open(&self, source: &str) -> OpenResult {
        let found = self.find(source).await;
        let found = found.map_err(|error| SourceError::url(source, error))?;
        let unreadable = found
            .refused
            .into_iter()
            .map(|(url, error)| SourceError::url(&url, error))
            .collect();
        let origins = found.skills.into_iter().map(Arc::new).map(Origin::Url);
        let discovery = Discovery {
            unreadable,
            ..Discovery::default()
        };
        Ok((origins.collect(), discovery))
    }

    async fn find(&self, source: &str) -> Result<FoundSkills, FetchError> {
        let target = SkillUrl::parse(source)?;
        self.check(&target.url)?;
        let found =
            match repository_url::find_repository(&target.url, &self.options.repository_hosts) {
                Some(tree) => self.fetch_repository(&target, tree?).await?,
                None => self.find_anywhere(&target).await?,
            };
        let pinned = self.options.pin.zip(found.skills.iter().find(|skill| {
            // A pin applies to every skill.
            self.options.pin != Some(skill.digest)
        }));
        match pinned {
            Some((pinned, skill)) => Err(FetchError::Changed {
                pinned,
                found: skill.digest,
            }),
            None => Ok(found),
        }
    }

    /// Tries each place that the URL could mean, the likeliest first.
    async fn find_anywhere(&self, target: &SkillUrl) -> Result<FoundSkills, FetchError> {
        let indexes = target.index_urls();
        if self.skips_indexes(&indexes, &target.url).await {
            return self.fetch_direct(target).await;
        }
        for url in &indexes {
            match self.fetch(url, self.options.net.index_bytes, None).await {
                Ok(fetched) if is_json(&fetched.data) => {
                    return self.fetch_index(target, url, &fetched.data).await;
                }
                // Sites that return a page for every path have no index there.
                Ok(_) | Err(FetchError::Offline(_)) => {}
                Err(FetchError::Status(status)) if is_missing(status) => {}
                Err(error) => return Err(error),
            }
        }
        self.fetch_direct(target)
            .await
            .map_err(|error| match error {
                FetchError::NotASource(_) if !indexes.is_empty() => no_source_error(""),
                FetchError::Status(status) if is_missing(status) && !indexes.is_empty() => {
                    no_source_error(&format!(" (status {status})"))
                }
                error => error,
            })
    }

    /// If the URL itself is cached, indexes are not requested, which would fail without a
    /// network.
    async fn skips_indexes(&self, indexes: &[Url], url: &Url) -> bool {
        if self.options.refresh {
            return false;
        }
        let even_stale = self.options.stale_if_error || self.options.pin.is_some();
        for index in indexes {
            if self.is_cached(index, even_stale).await {
                return false;
            }
        }
        self.is_cached(url, even_stale).await
    }

    /// Uses the content of the URL itself.
    async fn fetch_direct(&self, target: &SkillUrl) -> Result<FoundSkills, FetchError> {
        let url = &target.url;
        let cap = self.options.limits.archive_bytes;
        if let Some(pin) = self.options.pin
            && let Some(data) = self.cached_bytes(url, cap).await
            && let Some(skill) = self.pinned_skill(target, data, pin)
        {
            return Ok(FoundSkills::single(skill));
        }
        let fetched = self.fetch(url, cap, None).await?;
        if is_json(&fetched.data) {
            return self.fetch_index(target, url, &fetched.data).await;
        }
        self.unpack_archive(target, fetched).await
    }

    /// The skills in the content of the URL itself.
    async fn unpack_archive(
        &self,
        target: &SkillUrl,
        fetched: FetchedBytes,
    ) -> Result<FoundSkills, FetchError> {
        if !is_archive(&fetched.data) {
            return self.single_skill(target, fetched).map(FoundSkills::single);
        }
        let whole = ArchiveLimits::from(&self.options.net);
        let (data, limits) = (fetched.data.clone(), self.options.limits.clone());
        // Inflating an archive is slow.
        let read =
            tokio::task::spawn_blocking(move || archive_contents::read(&data, &limits, whole));
        let read = read.await;
        match read.map_err(|error| FetchError::Interrupted(error.to_string()))?? {
            ArchiveContents::Single(bundle) => {
                Ok(FoundSkills::single(target.skill(bundle, fetched.state)))
            }
            ArchiveContents::Several(skills) => named_skills(target, skills, fetched.state),
        }
    }

    /// The cached content, if it matches the pin: then its age and the current content of
    /// the host do not matter.
    fn pinned_skill(&self, target: &SkillUrl, data: Bytes, pin: Digest) -> Option<FetchedSkill> {
        let state = FetchState::Cached;
        let skill = self
            .single_skill(target, FetchedBytes { data, state })
            .ok()?;
        (skill.digest == pin).then_some(skill)
    }

    /// The only skill in the content of the URL itself.
    fn single_skill(
        &self,
        target: &SkillUrl,
        fetched: FetchedBytes,
    ) -> Result<FetchedSkill, FetchError> {
        let place = Path::new(target.url.path());
        let markdown = place
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("md"));
        let FetchedBytes { data, state } = fetched;
        let bundle = to_bundle(data, markdown, &self.options.limits)?;
        Ok(target.skill(bundle, state))
    }

    /// Fetches the skills of an index, several at a time.
    async fn fetch_index(
        &self,
        target: &SkillUrl,
        url: &Url,
        text: &[u8],
    ) -> Result<FoundSkills, FetchError> {
        let want = IndexQuery {
            skill_name: target.skill_name.as_deref(),
            max_entries: self.options.net.index_entries,
            limits: &self.options.limits,
        };
        let SkillIndex { entries, refused } = index::parse_index(text, url, &want)?;
        let mut found = FoundSkills::default();
        for error in refused {
            found.refuse(target.url.to_string(), error)?;
        }
        let fetched = stream::iter(entries).map(|entry| self.fetch_entry(target, entry));
        let mut fetched = std::pin::pin!(fetched.buffered(self.options.net.concurrent.max(1)));
        let mut left = self.options.net.source_bytes;
        while let Some((url, skill)) = fetched.next().await {
            match skill {
                Ok(skill) => {
                    let bytes = skill.bundle().total_bytes();
                    left = left
                        .checked_sub(bytes)
                        .ok_or(FetchError::SourceTooLarge(self.options.net.source_bytes))?;
                    found.skills.push(skill);
                }
                Err(error) => found.refuse(url, error)?,
            }
        }
        Ok(found)
    }

    async fn fetch_entry(
        &self,
        target: &SkillUrl,
        entry: IndexEntry,
    ) -> (String, Result<FetchedSkill, FetchError>) {
        let url = target.with_name(&entry.name);
        let bundle = match entry.content {
            IndexContent::Artifact { url, digest } => {
                let cap = self.options.limits.archive_bytes;
                self.fetch(&url, cap, Some(digest))
                    .await
                    .and_then(|fetched| {
                        // The type and extension may be wrong; the bytes decide.
                        let bundle = to_bundle(fetched.data, true, &self.options.limits)?;
                        Ok((bundle, fetched.state))
                    })
            }
            IndexContent::Files { folder, paths } => self.fetch_files(&folder, &paths).await,
        };
        let skill = bundle.map(|(bundle, state)| {
            FetchedSkill::new(url.clone(), Some(entry.name), bundle, state).with_listed_name()
        });
        (url, skill)
    }

    /// Fetches the files of a skill one by one, as the older index lists them.
    async fn fetch_files(
        &self,
        folder: &Url,
        paths: &[prowess_skill::SkillPath],
    ) -> Result<(Bundle, FetchState), FetchError> {
        let limits = &self.options.limits;
        let mut files = Vec::with_capacity(paths.len());
        let mut left = limits.total_bytes;
        let mut state = FetchState::Cached;
        for path in paths {
            let mut url = folder.clone();
            if let Ok(mut segments) = url.path_segments_mut() {
                segments.pop_if_empty().extend(path.as_str().split('/'));
            }
            let fetched = self.fetch(&url, limits.file_bytes.min(left), None).await?;
            left = left.saturating_sub(fetched.data.len() as u64);
            state = state.max(fetched.state);
            files.push((path.as_str(), fetched.data));
        }
        Ok((Bundle::from_bare_files(files, limits)?, state))
    }
}

impl SkillUrl {
    fn parse(source: &str) -> Result<Self, FetchError> {
        let malformed = |why: String| FetchError::Malformed(why);
        let mut url = Url::parse(source).map_err(|error| malformed(error.to_string()))?;
        let skill_name = match url.fragment() {
            None | Some("") => None,
            Some(name) => {
                let name = percent_decode_str(name).decode_utf8();
                let name = name.map_err(|_| malformed("its #NAME is not UTF-8".to_owned()))?;
                Some(name.into_owned())
            }
        };
        url.set_fragment(None);
        Ok(SkillUrl { url, skill_name })
    }

    /// URLs of possible indexes; none if the URL names a file.
    fn index_urls(&self) -> Vec<Url> {
        let path = self.url.path();
        let file = Path::new(path);
        let ends = |ending: &str| {
            file.extension()
                .is_some_and(|e| e.eq_ignore_ascii_case(ending))
        };
        if archive::is_archive(file) || ends("md") || ends("json") {
            return Vec::new();
        }
        let mut base = self.url.clone();
        base.set_query(None);
        if !path.ends_with('/') {
            base.set_path(&format!("{path}/"));
        }
        let places = index::INDEX_PATHS.iter();
        places.filter_map(|place| base.join(place).ok()).collect()
    }

    /// The only skill of the URL.
    fn skill(&self, bundle: Bundle, state: FetchState) -> FetchedSkill {
        let name = archive::stem(Path::new(self.url.path())).or_else(|| self.last_folder());
        FetchedSkill::new(self.url.to_string(), name, bundle, state)
    }

    /// The URL of one of several skills.
    pub(super) fn with_name(&self, name: &str) -> String {
        let mut url = self.url.clone();
        url.set_fragment(Some(name));
        url.to_string()
    }

    /// The folder around a SKILL.md, or the last part of the path.
    fn last_folder(&self) -> Option<String> {
        let mut parts = self
            .url
            .path_segments()?
            .rev()
            .filter(|part| !part.is_empty());
        let part = parts.find(|part| !part.eq_ignore_ascii_case("SKILL.md"))?;
        let part = part.strip_suffix(".md").unwrap_or(part);
        let name = percent_decode_str(part).decode_utf8().ok()?;
        Some(name.into_owned())
    }
}

impl FoundSkills {
    fn single(skill: FetchedSkill) -> FoundSkills {
        FoundSkills {
            skills: vec![skill],
            refused: Vec::new(),
        }
    }

    /// The skills of an archive; `place` maps a folder to the name and URL of its skill.
    pub(super) fn from_skills(
        skills: SkillsByFolder,
        state: FetchState,
        place: impl Fn(&str) -> (String, String),
    ) -> Result<FoundSkills, FetchError> {
        let mut found = FoundSkills::default();
        for (folder, bundle) in skills {
            let (name, url) = place(&folder);
            match bundle {
                Ok(bundle) => found
                    .skills
                    .push(FetchedSkill::new(url, Some(name), bundle, state)),
                Err(error) => found.refuse(url, error.into())?,
            }
        }
        Ok(found)
    }

    /// Records a failure. A broken cache fails everything.
    pub(super) fn refuse(&mut self, url: String, error: FetchError) -> Result<(), FetchError> {
        if matches!(error, FetchError::Cache { .. }) {
            return Err(error);
        }
        self.refused.push((url, error));
        Ok(())
    }
}

/// The error for a URL that is not a skill and has no index.
fn no_source_error(status: &str) -> FetchError {
    let places = index::INDEX_PATHS.join(" or ");
    let why = format!(
        "it is neither a SKILL.md nor an archive{status}, and there is no index at {places}"
    );
    FetchError::NotASource(why)
}

fn is_missing(status: u16) -> bool {
    (400..500).contains(&status) && status != 429
}

fn is_json(data: &[u8]) -> bool {
    data.trim_ascii_start().starts_with(b"{")
}

fn is_archive(data: &[u8]) -> bool {
    data.starts_with(b"PK") || data.starts_with(b"\x1f\x8b")
}

/// The selected skill of an archive, or all of them.
fn named_skills(
    target: &SkillUrl,
    mut skills: SkillsByFolder,
    state: FetchState,
) -> Result<FoundSkills, FetchError> {
    if let Some(name) = &target.skill_name {
        let named = |folder: &String| archive_contents::last_segment(folder) == name.as_str();
        if !skills.keys().any(named) {
            return Err(index::no_such_name(
                name,
                skills
                    .keys()
                    .map(|folder| archive_contents::last_segment(folder)),
            ));
        }
        skills.retain(|folder, _| named(folder));
    }
    FoundSkills::from_skills(skills, state, |folder| {
        let name = archive_contents::last_segment(folder);
        (name.to_owned(), target.with_name(name))
    })
}

/// A bundle from an archive or a SKILL.md.
fn to_bundle(data: Bytes, markdown: bool, limits: &BundleLimits) -> Result<Bundle, FetchError> {
    let text = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&data);
    if !is_archive(&data) && (text.starts_with(b"---") || markdown) {
        return Ok(Bundle::from_skill_md(data, limits)?);
    }
    let unknown =
        |error: &BundleError| matches!(error.kind(), bundle::BundleErrorKind::UnknownFormat(_));
    Bundle::from_archive(&data, limits).map_err(|error| {
        if unknown(&error) {
            FetchError::NotASource(error.to_string())
        } else {
            FetchError::Bundle(error)
        }
    })
}
