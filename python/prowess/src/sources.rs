//! Opens paths and URLs.

use std::path::{Path, PathBuf};

use prowess_skill::Digest;
use prowess_source::url::{CacheOptions, FetchOptions, Fetcher, is_url};
use prowess_source::{OpenResult, SearchBounds, open};
use pyo3::FromPyObject;
use tokio::task::spawn_blocking;

use crate::failure::PyFailure;

/// Options for sources that are URLs: the attributes of `prowess.Fetch`.
#[derive(Debug, Clone, FromPyObject)]
pub(crate) struct FetchSettings {
    allow_private: bool,
    offline: bool,
    refresh: bool,
    stale: bool,
    cache: bool,
    pin: Option<String>,
}

impl FetchSettings {
    fn fetcher(&self) -> Result<Fetcher, PyFailure> {
        let no_digest = |error| PyFailure::usage(format!("pin: {error}"));
        let pin = self.pin.as_deref().map(str::parse::<Digest>);
        let options = FetchOptions {
            allow_private: self.allow_private,
            offline: self.offline,
            refresh: self.refresh,
            stale_if_error: self.stale,
            pin: pin.transpose().map_err(no_digest)?,
            cache: self.cache.then(CacheOptions::from_env).flatten(),
            ..FetchOptions::default()
        };
        Ok(Fetcher::new(options)?)
    }
}

/// Opens sources, in order. A fetcher is created only if one of them is a URL.
pub(crate) async fn open_all(
    sources: &[PathBuf],
    fetch: &FetchSettings,
) -> Result<Vec<OpenResult>, PyFailure> {
    let urls = sources.iter().any(|source| is_url(source));
    let fetcher = if urls { Some(fetch.fetcher()?) } else { None };
    let mut opened = Vec::with_capacity(sources.len());
    for source in sources {
        opened.push(match (&fetcher, source.to_str()) {
            (Some(fetcher), Some(url)) if is_url(source) => fetcher.open(url).await,
            _ => open_path(source).await?,
        });
    }
    Ok(opened)
}

/// On a blocking thread: the disk may be slow, and a folder large.
async fn open_path(path: &Path) -> Result<OpenResult, PyFailure> {
    let path = path.to_owned();
    let opened = spawn_blocking(move || open(&path, &SearchBounds::default())).await;
    opened.map_err(PyFailure::internal)
}
