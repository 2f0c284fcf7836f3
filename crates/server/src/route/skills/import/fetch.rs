//! Fetches the skills that a URL names. Names of hosts are resolved and checked by
//! `prowess-source`, on every hop; nothing is cached.

use std::sync::Arc;
use std::time::Duration;

use prowess_source::url::{FetchLimits, FetchOptions, FetchedSkill, display_url};
use prowess_source::{FetchError, Fetcher, Origin, SourceError};
use serde_json::Value;

use super::store::refused;
use crate::app::App;
use crate::bodies::OwnedBodyReservation;
use crate::error::HttpError;
use crate::form::transfers::TransferPermit;
use crate::settings::{ImportHosts, ServerSettings};

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
    #[expect(dead_code, reason = "counts for as long as the skills are in memory")]
    pub(super) memory: OwnedBodyReservation,
}

/// Fetches the skills that a URL names, and counts them in `memory`, which has nothing yet.
pub(super) async fn fetch(
    app: &App,
    url: &str,
    mut memory: OwnedBodyReservation,
    permit: &Arc<TransferPermit>,
) -> Result<Fetched, HttpError> {
    if url.len() > MAX_URL_BYTES {
        let message = format!("url: it has more than {MAX_URL_BYTES} bytes");
        return Err(HttpError::bad_request("url-malformed", message).with_detail("param", "url"));
    }
    // All of it may be in memory at once.
    let bytes = usize::try_from(MAX_SOURCE_BYTES).unwrap_or(usize::MAX);
    memory.grow(bytes).await?;
    let settings = app.settings();
    let fetcher = Fetcher::new(fetch_options(settings));
    let fetcher = fetcher.map_err(|error| HttpError::internal("import", &error))?;
    let (source, permit) = (url.to_owned(), Arc::clone(permit));
    // A task of its own, which is not dropped when the client leaves: what it has begun to unpack
    // goes on, and it keeps the permit and its memory meanwhile.
    let fetching = tokio::spawn(async move {
        let _permit = permit;
        let opened = tokio::time::timeout(TOTAL_TIMEOUT, fetcher.open(&source)).await;
        let opened = opened.unwrap_or_else(|_| {
            Err(SourceError::Url {
                url: display_url(&source),
                error: FetchError::Timeout(TOTAL_TIMEOUT),
            })
        });
        (opened, memory)
    });
    let fetched = fetching.await;
    let (opened, memory) = fetched.map_err(|error| HttpError::internal("import", &error))?;
    let hosts = settings.import_hosts;
    let (origins, discovery) = opened.map_err(|error| fetch_error(hosts, &error))?;
    let skills = origins.into_iter().filter_map(|origin| match origin {
        Origin::Url(fetched) => Some(fetched),
        _ => None,
    });
    let unreadable = discovery.unreadable.iter();
    let unreadable = unreadable.map(|error| refused(None, None, &describe(hosts, error)));
    Ok(Fetched {
        url: display_url(url),
        skills: skills.collect(),
        refused: unreadable.collect(),
        memory,
    })
}

/// Tenants choose the URLs, so a public address of this machine is as private as others of the
/// operator's network: a connection to it passes no firewall.
fn fetch_options(settings: &ServerSettings) -> FetchOptions {
    let allow_private = settings.import_hosts == ImportHosts::Private;
    FetchOptions {
        allow_private,
        refuse_own_addresses: !allow_private,
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
    }
}

fn fetch_error(hosts: ImportHosts, error: &SourceError) -> HttpError {
    let code = match closed_host(hosts, error) {
        Some(_) => "url-private-address",
        None => error.code(),
    };
    HttpError::bad_request(code, describe(hosts, error)).with_detail("param", "url")
}

/// The error without addresses: a tenant must not learn those of names in the operator's
/// network.
fn describe(hosts: ImportHosts, error: &SourceError) -> String {
    if let Some((url, host)) = closed_host(hosts, error) {
        return format!(
            "{url}: {host} cannot be found or is not on the public internet; the operator can \
             allow hosts of private networks with `import = \"private\"` under [skills] in \
             prowess.toml"
        );
    }
    match error {
        SourceError::Url {
            url,
            error: FetchError::MetadataAddress { host, .. },
        } => format!("{url}: {host} is at an address that is always blocked"),
        other => other.to_string(),
    }
}

/// The URL and the host, if only hosts on the public internet may be fetched from and this is
/// none. Whether the name exists at all is not said: otherwise a tenant could find out which names
/// there are in the operator's network.
fn closed_host(hosts: ImportHosts, error: &SourceError) -> Option<(&str, &str)> {
    match error {
        SourceError::Url {
            url,
            error:
                FetchError::PrivateAddress { host, .. }
                | FetchError::MetadataAddress { host, .. }
                | FetchError::Unresolved { host, .. },
        } if hosts == ImportHosts::Public => Some((url, host)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use prowess_store::{Store, StoreConfig, TenantId};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_is_fetched_counts_also_when_its_client_has_left() {
        let site = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/one.zip", site.local_addr().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let settings = ServerSettings {
            import_hosts: ImportHosts::Private,
            body_bytes_in_flight: 0,
            body_wait: Duration::ZERO,
            ..ServerSettings::default()
        };
        let app = App::new(store.unwrap(), settings);
        let (tenant, budget) = (TenantId::default_tenant(), app.body_budget());
        let permit = app.transfers().acquire_skill_upload(&tenant).await;
        let permit = Arc::new(permit.unwrap());
        let mut fetching = Box::pin(fetch(&app, &url, budget.reserve_owned(&tenant), &permit));
        // The site never answers.
        let connected = tokio::select! {
            fetched = &mut fetching => Err(fetched.err()),
            connection = site.accept() => Ok(connection),
        };
        assert!(connected.is_ok());
        drop(fetching);
        let mut other = budget.reserve(&tenant);
        assert!(other.grow(budget.max_body_bytes()).await.is_err());
    }

    #[test]
    fn this_machine_is_reached_where_private_networks_are() {
        for (import_hosts, is_reached) in
            [(ImportHosts::Public, false), (ImportHosts::Private, true)]
        {
            let settings = ServerSettings {
                import_hosts,
                ..ServerSettings::default()
            };
            let options = fetch_options(&settings);
            let reached = (options.allow_private, !options.refuse_own_addresses);
            assert_eq!(reached, (is_reached, is_reached), "{import_hosts:?}");
        }
    }

    #[test]
    fn a_name_in_the_operators_network_looks_like_one_that_does_not_exist() {
        let (host, address) = ("db.corp".to_owned(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let errors = [
            FetchError::PrivateAddress {
                host: host.clone(),
                address,
            },
            FetchError::MetadataAddress {
                host: host.clone(),
                address,
            },
            FetchError::Unresolved {
                host,
                why: "no such name".to_owned(),
            },
        ];
        let seen = |hosts| {
            let seen = errors.iter().map(|error| {
                let url = "http://db.corp/x.zip".to_owned();
                let error = error.clone();
                let error = fetch_error(hosts, &SourceError::Url { url, error });
                (error.code, error.message)
            });
            seen.collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(seen(ImportHosts::Public).len(), 1);
        // Where these may be fetched from, the difference helps, and can be found out anyway.
        assert_eq!(seen(ImportHosts::Private).len(), 3);
    }
}
