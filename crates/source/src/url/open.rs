//! What a URL names: one skill or several.
//!
//! | the URL | what is taken |
//! |---|---|
//! | of a repository's page on a known host | the skills in that folder of it |
//! | that ends like an archive, a Markdown file or JSON | what its bytes are: an archive may hold one skill or several |
//! | any other | the index below it, newest form first; else what its bytes are |
//!
//! `#NAME` takes one of several. Bytes decide what something is; names and content
//! types only decide where to look.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use percent_encoding::percent_decode_str;
use prowess_skill::bundle;
use prowess_skill::{Bundle, BundleError, Digest, Limits};
use url::Url;

use super::error::FetchError;
use super::fetch::{Fetched, Fetcher};
use super::index::{self, Content, Entry, Index, Want};
use super::remote::{Remote, State};
use super::tree;
use crate::archive;
use crate::discover::Discovery;
use crate::error::SourceError;
use crate::open::{Opened, Origin};
use crate::packed::{self, Packed, Skills, WholeLimits};

/// Whether a source is named by a URL rather than a path. One of a scheme that is
/// not fetched is a URL all the same, to be refused as such.
pub fn is_url(source: &Path) -> bool {
    let text = source.to_str().unwrap_or_default();
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|s| s.len() > 1 && s.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// A URL fit for a message: without a user name and password.
pub(crate) fn shown(source: &str) -> String {
    match source.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let host = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{host}{path}")
                .escape_debug()
                .to_string()
        }
        None => source.escape_debug().to_string(),
    }
}

/// A URL as a person gave it.
pub(super) struct Asked {
    pub(super) url: Url,
    pub(super) named: Option<String>,
}

/// What came of it: skills, and what of the source could not be used.
#[derive(Default)]
pub(super) struct Found {
    pub(super) skills: Vec<Remote>,
    pub(super) refused: Vec<(String, FetchError)>,
}

impl Fetcher {
    /// Finds and fetches the skills that a URL names. Those that cannot be had are
    /// told in [`Discovery::unreadable`]; it is an error only when nothing can.
    pub async fn open(&self, source: &str) -> Opened {
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

    async fn find(&self, source: &str) -> Result<Found, FetchError> {
        let asked = Asked::parse(source)?;
        self.check(&asked.url)?;
        let found = match tree::find(&asked.url, &self.options.trees) {
            Some(tree) => self.repository(&asked, tree?).await?,
            None => self.probe(&asked).await?,
        };
        let pinned = self.options.pin.zip(found.skills.iter().find(|skill| {
            // A pin holds for each skill there is.
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

    /// Looks in each place where the URL could lead, the likeliest first.
    async fn probe(&self, asked: &Asked) -> Result<Found, FetchError> {
        let indexes = asked.indexes();
        if self.skips_indexes(&indexes, &asked.url).await {
            return self.direct(asked).await;
        }
        for url in &indexes {
            match self.fetch(url, self.options.net.index_bytes, None).await {
                Ok(fetched) if is_json(&fetched.data) => {
                    return self.index(asked, url, &fetched.data).await;
                }
                // Sites that answer everything with a page have no index there.
                Ok(_) | Err(FetchError::Offline(_)) => {}
                Err(FetchError::Status(status)) if is_absence(status) => {}
                Err(error) => return Err(error),
            }
        }
        self.direct(asked).await.map_err(|error| match error {
            FetchError::NotASource(_) if !indexes.is_empty() => nothing_there(""),
            FetchError::Status(status) if is_absence(status) && !indexes.is_empty() => {
                nothing_there(&format!(" (status {status})"))
            }
            error => error,
        })
    }

    /// What is kept for the URL itself needs no question about indexes, which would
    /// fail without a network.
    async fn skips_indexes(&self, indexes: &[Url], url: &Url) -> bool {
        if self.options.refresh {
            return false;
        }
        let even_stale = self.options.stale_if_error || self.options.pin.is_some();
        for index in indexes {
            if self.is_kept(index, even_stale).await {
                return false;
            }
        }
        self.is_kept(url, even_stale).await
    }

    /// Takes what the bytes of the URL itself are.
    async fn direct(&self, asked: &Asked) -> Result<Found, FetchError> {
        let url = &asked.url;
        let cap = self.options.limits.archive_bytes;
        if let Some(pin) = self.options.pin
            && let Some(data) = self.kept_bytes(url, cap).await
            && let Some(skill) = self.approved(asked, data, pin)
        {
            return Ok(Found::one(skill));
        }
        let fetched = self.fetch(url, cap, None).await?;
        if is_json(&fetched.data) {
            return self.index(asked, url, &fetched.data).await;
        }
        self.packed(asked, fetched).await
    }

    /// The skills that the bytes of the URL itself are.
    async fn packed(&self, asked: &Asked, fetched: Fetched) -> Result<Found, FetchError> {
        if !is_archive(&fetched.data) {
            return self.one(asked, fetched).map(Found::one);
        }
        let whole = WholeLimits::from(&self.options.net);
        let (data, limits) = (fetched.data.clone(), self.options.limits.clone());
        // Inflating an archive takes a while.
        let read = tokio::task::spawn_blocking(move || packed::read(&data, &limits, whole));
        let read = read.await;
        match read.map_err(|error| FetchError::Interrupted(error.to_string()))?? {
            Packed::One(bundle) => Ok(Found::one(asked.skill(bundle, fetched.state))),
            Packed::Several(skills) => several(asked, skills, fetched.state),
        }
    }

    /// What is kept, if it is what was approved: then it does not matter how old it
    /// is, or what its host has now.
    fn approved(&self, asked: &Asked, data: Bytes, pin: Digest) -> Option<Remote> {
        let state = State::Kept;
        let skill = self.one(asked, Fetched { data, state }).ok()?;
        (skill.digest == pin).then_some(skill)
    }

    /// The one skill that the bytes of the URL itself are.
    fn one(&self, asked: &Asked, fetched: Fetched) -> Result<Remote, FetchError> {
        let place = Path::new(asked.url.path());
        let markdown = place
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("md"));
        let Fetched { data, state } = fetched;
        let bundle = bundle_of(data, markdown, &self.options.limits)?;
        Ok(asked.skill(bundle, state))
    }

    /// Fetches the skills of an index, several at a time.
    async fn index(&self, asked: &Asked, url: &Url, text: &[u8]) -> Result<Found, FetchError> {
        let want = Want {
            named: asked.named.as_deref(),
            most: self.options.net.index_entries,
            limits: &self.options.limits,
        };
        let Index { entries, refused } = index::read(text, url, &want)?;
        let mut found = Found::default();
        for error in refused {
            found.refuse(asked.url.to_string(), error)?;
        }
        let fetched = stream::iter(entries).map(|entry| self.entry(asked, entry));
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

    async fn entry(&self, asked: &Asked, entry: Entry) -> (String, Result<Remote, FetchError>) {
        let url = asked.with_name(&entry.name);
        let bundle = match entry.content {
            Content::Artifact { url, digest } => {
                let cap = self.options.limits.archive_bytes;
                self.fetch(&url, cap, Some(digest))
                    .await
                    .and_then(|fetched| {
                        // An entry's type and its ending may be wrong; its bytes count.
                        let bundle = bundle_of(fetched.data, true, &self.options.limits)?;
                        Ok((bundle, fetched.state))
                    })
            }
            Content::Files { folder, paths } => self.files(&folder, &paths).await,
        };
        let skill = bundle.map(|(bundle, state)| {
            Remote::new(url.clone(), Some(entry.name), bundle, state).listed()
        });
        (url, skill)
    }

    /// Fetches the files of a skill one by one, as the older index lists them.
    async fn files(
        &self,
        folder: &Url,
        paths: &[prowess_skill::SkillPath],
    ) -> Result<(Bundle, State), FetchError> {
        let limits = &self.options.limits;
        let mut files = Vec::with_capacity(paths.len());
        let mut left = limits.total_bytes;
        let mut state = State::Kept;
        for path in paths {
            let mut url = folder.clone();
            if let Ok(mut segments) = url.path_segments_mut() {
                segments.pop_if_empty().extend(path.as_str().split('/'));
            }
            let fetched = self.fetch(&url, limits.file_bytes.min(left), None).await?;
            left = left.saturating_sub(fetched.data.len() as u64);
            state = state.max(fetched.state);
            files.push((path.as_str(), fetched.data, false));
        }
        Ok((Bundle::from_files(files, limits)?, state))
    }
}

impl Asked {
    fn parse(source: &str) -> Result<Self, FetchError> {
        let malformed = |why: String| FetchError::Malformed(why);
        let mut url = Url::parse(source).map_err(|error| malformed(error.to_string()))?;
        let named = match url.fragment() {
            None | Some("") => None,
            Some(name) => {
                let name = percent_decode_str(name).decode_utf8();
                let name = name.map_err(|_| malformed("its #NAME is not UTF-8".to_owned()))?;
                Some(name.into_owned())
            }
        };
        url.set_fragment(None);
        Ok(Asked { url, named })
    }

    /// Where an index could be; nowhere when the URL names a file.
    fn indexes(&self) -> Vec<Url> {
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
        let places = index::PLACES.iter();
        places.filter_map(|place| base.join(place).ok()).collect()
    }

    /// The one skill that is there.
    fn skill(&self, bundle: Bundle, state: State) -> Remote {
        let name = archive::stem(Path::new(self.url.path())).or_else(|| self.last_folder());
        Remote::new(self.url.to_string(), name, bundle, state)
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

impl Found {
    fn one(skill: Remote) -> Found {
        Found {
            skills: vec![skill],
            refused: Vec::new(),
        }
    }

    /// The skills of an archive; `place` gives the name and the URL of each by its folder.
    pub(super) fn from_skills(
        skills: Skills,
        state: State,
        place: impl Fn(&str) -> (String, String),
    ) -> Result<Found, FetchError> {
        let mut found = Found::default();
        for (folder, bundle) in skills {
            let (name, url) = place(&folder);
            match bundle {
                Ok(bundle) => found
                    .skills
                    .push(Remote::new(url, Some(name), bundle, state)),
                Err(error) => found.refuse(url, error.into())?,
            }
        }
        Ok(found)
    }

    /// Notes what cannot be used. A cache that does not work is everybody's problem.
    pub(super) fn refuse(&mut self, url: String, error: FetchError) -> Result<(), FetchError> {
        if matches!(error, FetchError::Cache { .. }) {
            return Err(error);
        }
        self.refused.push((url, error));
        Ok(())
    }
}

/// The error for a URL that is nothing by itself, and has no index below it.
fn nothing_there(status: &str) -> FetchError {
    let places = index::PLACES.join(" or ");
    let why =
        format!("it is no SKILL.md and no archive{status}, and there is no index at {places}");
    FetchError::NotASource(why)
}

fn is_absence(status: u16) -> bool {
    (400..500).contains(&status) && status != 429
}

fn is_json(data: &[u8]) -> bool {
    data.trim_ascii_start().starts_with(b"{")
}

fn is_archive(data: &[u8]) -> bool {
    data.starts_with(b"PK") || data.starts_with(b"\x1f\x8b")
}

/// Those of an archive's skills that were named, or all of them.
fn several(asked: &Asked, mut skills: Skills, state: State) -> Result<Found, FetchError> {
    if let Some(name) = &asked.named {
        let named = |folder: &String| packed::last_part(folder) == name.as_str();
        if !skills.keys().any(named) {
            return Err(index::no_such_name(
                name,
                skills.keys().map(|folder| packed::last_part(folder)),
            ));
        }
        skills.retain(|folder, _| named(folder));
    }
    Found::from_skills(skills, state, |folder| {
        let name = packed::last_part(folder);
        (name.to_owned(), asked.with_name(name))
    })
}

/// A bundle of whatever the bytes are: an archive, or a SKILL.md.
fn bundle_of(data: Bytes, markdown: bool, limits: &Limits) -> Result<Bundle, FetchError> {
    let text = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&data);
    if !is_archive(&data) && (text.starts_with(b"---") || markdown) {
        return Ok(Bundle::from_skill_md(data, limits)?);
    }
    let unknown = |error: &BundleError| matches!(error.reason(), bundle::Reason::UnknownFormat(_));
    Bundle::from_archive(&data, limits).map_err(|error| match unknown(&error) {
        true => FetchError::NotASource(error.to_string()),
        false => FetchError::Bundle(error),
    })
}
