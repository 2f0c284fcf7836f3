//! Fetches the skills that a URL names. Names of hosts are resolved and checked by
//! `prowess-source`, on every hop; nothing is cached.

use std::sync::Arc;
use std::time::Duration;

use prowess_source::url::{FetchLimits, FetchOptions, FetchedSkill, display_url};
use prowess_source::{FetchError, Fetcher, Origin, SourceError};
use serde_json::Value;

use super::store::refused;
use crate::app::App;
use crate::bodies::BodyReservation;
use crate::error::HttpError;
use crate::form::transfers::TransferPermit;
use crate::settings::ImportHosts;

/// Skills of one import.
const MAX_SKILLS: usize = 50;
/// Bytes of a repository's archive, and of all skills together.
const MAX_TREE_BYTES: u64 = 50_000_000;
const MAX_SOURCE_BYTES: u64 = 60_000_000;
/// Archives of an index that are in memory at once, packed and unpacked, before the bytes of their
/// skills are counted.
const MAX_ARCHIVES_AT_ONCE: usize = 2;
/// Time for one request, and for all of them.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes of a URL.
const MAX_URL_BYTES: usize = 2_048;

/// What a URL names.
pub(super) struct Fetched {
    /// The URL, for display.
    pub(super) url: String,
    pub(super) skills: Vec<Arc<FetchedSkill>>,
    /// Entries of the response for what could not be fetched.
    pub(super) refused: Vec<Value>,
}

pub(super) async fn fetch(
    app: &App,
    url: &str,
    reservation: &mut BodyReservation<'_>,
    permit: &Arc<TransferPermit>,
) -> Result<Fetched, HttpError> {
    if url.len() > MAX_URL_BYTES {
        let message = format!("url: it has more than {MAX_URL_BYTES} bytes");
        return Err(HttpError::bad_request("url-malformed", message).with_detail("param", "url"));
    }
    // All of it may be in memory at once.
    let bytes = usize::try_from(MAX_SOURCE_BYTES).unwrap_or(usize::MAX);
    reservation.grow(bytes).await?;
    let settings = app.settings();
    let options = FetchOptions {
        allow_private: settings.import_hosts == ImportHosts::Private,
        net: FetchLimits {
            total: REQUEST_TIMEOUT,
            index_entries: MAX_SKILLS,
            concurrent: MAX_ARCHIVES_AT_ONCE,
            tree_bytes: MAX_TREE_BYTES,
            source_bytes: MAX_SOURCE_BYTES,
            ..FetchLimits::default()
        },
        limits: settings.skill_limits.clone(),
        ..FetchOptions::default()
    };
    let fetcher = Fetcher::new(options);
    let fetcher = fetcher.map_err(|error| HttpError::internal("import", &error))?;
    let (source, permit) = (url.to_owned(), Arc::clone(permit));
    // A task of its own, which is not dropped when the client leaves: what it has begun to unpack
    // goes on, and it keeps the permit meanwhile.
    let fetching = tokio::spawn(async move {
        let _permit = permit;
        let opened = tokio::time::timeout(TOTAL_TIMEOUT, fetcher.open(&source)).await;
        opened.unwrap_or_else(|_| {
            Err(SourceError::Url {
                url: display_url(&source),
                error: FetchError::Timeout(TOTAL_TIMEOUT),
            })
        })
    });
    let opened = fetching.await;
    let opened = opened.map_err(|error| HttpError::internal("import", &error))?;
    let (origins, discovery) = opened.map_err(|error| fetch_error(&error))?;
    let skills = origins.into_iter().filter_map(|origin| match origin {
        Origin::Url(fetched) => Some(fetched),
        _ => None,
    });
    let unreadable = discovery.unreadable.iter();
    let unreadable = unreadable.map(|error| refused(None, None, &describe(error)));
    Ok(Fetched {
        url: display_url(url),
        skills: skills.collect(),
        refused: unreadable.collect(),
    })
}

fn fetch_error(error: &SourceError) -> HttpError {
    HttpError::bad_request(error.code(), describe(error)).with_detail("param", "url")
}

/// The error without addresses: a tenant must not learn those of names in the operator's
/// network.
fn describe(error: &SourceError) -> String {
    match error {
        SourceError::Url {
            url,
            error: FetchError::PrivateAddress { host, .. },
        } => format!(
            "{url}: {host} is not on the public internet; the operator can allow such hosts with \
             `import = \"private\"` under [skills] in prowess.toml"
        ),
        SourceError::Url {
            url,
            error: FetchError::MetadataAddress { host, .. },
        } => format!("{url}: {host} is at an address that is always blocked"),
        other => other.to_string(),
    }
}
