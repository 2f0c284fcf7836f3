//! Flags for sources that are URLs, and the fetcher they configure.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use indicatif::ProgressBar;
use prowess_skill::Digest;
use prowess_source::url::{CacheOptions, FetchOptions, FetchState, Fetcher, is_url};
use prowess_source::{OpenResult, Origin, SearchBounds};

use super::{client, output, progress};

/// Options for sources that are URLs. They come last: options after them would have their heading.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Sources by URL")]
pub(crate) struct FetchArgs {
    /// Allow private and local addresses
    #[arg(long)]
    allow_private: bool,
    /// Make no request; use what is cached and fresh
    #[arg(long, conflicts_with = "refresh")]
    offline: bool,
    /// Ignore the cache and fetch again
    #[arg(long)]
    refresh: bool,
    /// Use a stale cached copy when a host does not respond
    #[arg(long)]
    stale: bool,
    /// Accept only content with this digest, as printed by `prowess skill show`
    #[arg(long, value_name = "DIGEST")]
    pin: Option<Digest>,
}

impl FetchArgs {
    /// Opens sources, in order. A fetcher is created only if one of them is a URL.
    pub(crate) fn open(&self, sources: &[PathBuf]) -> anyhow::Result<Vec<OpenResult>> {
        let bounds = SearchBounds::default();
        if !sources.iter().any(|source| is_url(source)) {
            return Ok(sources
                .iter()
                .map(|source| prowess_source::open(source, &bounds))
                .collect());
        }
        let bar = progress::bytes_bar("fetching");
        let fetcher = Fetcher::new(self.options(&bar)?)?;
        let opened = client::block_on(async {
            let mut opened = Vec::with_capacity(sources.len());
            for source in sources {
                opened.push(prowess_source::open_source(source, &bounds, &fetcher).await);
            }
            Ok(opened)
        })?;
        bar.finish_and_clear();
        for (origins, _) in opened.iter().flatten() {
            origins.iter().for_each(warn_if_stale);
        }
        Ok(opened)
    }

    /// Opens one source.
    pub(crate) fn open_one(&self, source: &Path) -> anyhow::Result<OpenResult> {
        let mut opened = self.open(&[source.to_owned()])?;
        opened.pop().context("the source is empty")
    }

    fn options(&self, bar: &ProgressBar) -> anyhow::Result<FetchOptions> {
        let bar = bar.clone();
        let cache = CacheOptions::from_env();
        let cache =
            cache.context("HOME is not set; set PROWESS_CACHE_DIR to a folder for the cache")?;
        Ok(FetchOptions {
            allow_private: self.allow_private,
            offline: self.offline,
            refresh: self.refresh,
            stale_if_error: self.stale,
            pin: self.pin,
            cache: Some(cache),
            progress: Some(Arc::new(move |bytes| bar.inc(bytes))),
            ..FetchOptions::default()
        })
    }
}

/// Stale content is used only when the flag allows it, and always with a remark.
fn warn_if_stale(origin: &Origin) {
    if let Origin::Url(remote) = origin
        && remote.state == FetchState::Stale
    {
        output::print_remark(&format!(
            "{}: the host does not respond; using a stale cached copy",
            remote.url
        ));
    }
}
