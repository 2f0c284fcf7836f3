//! Which hosts may be connected to.
//!
//! A name is checked by its addresses at the time of connecting, and only those that
//! passed are connected to: changing the address between check and connection has no
//! effect. Hosts written as addresses never reach a resolver, so they are checked
//! separately, on every hop.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use prowess_skill::address::{is_metadata, is_public};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::error::FetchError;
use super::own_address::is_own_address;

/// Resolves a name.
pub(super) type HostLookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Allows connections to permitted addresses only.
#[derive(Clone)]
pub(super) struct Guard {
    allow_private: bool,
    /// Whether an address is one of this machine; none where those are permitted.
    is_own: Option<fn(IpAddr) -> bool>,
    lookup: HostLookup,
}

impl Guard {
    /// A guard over the system's resolver.
    pub(super) fn new(allow_private: bool, refuse_own: bool) -> Self {
        let lookup = |host: String| -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            Box::pin(async move {
                let found = tokio::net::lookup_host((host, 0)).await?;
                Ok(found.collect())
            })
        };
        let is_own: fn(IpAddr) -> bool = is_own_address;
        Guard {
            allow_private,
            is_own: refuse_own.then_some(is_own),
            lookup: Arc::new(lookup),
        }
    }

    /// Checks a URL as far as possible without a resolver.
    pub(super) fn check(&self, url: &Url) -> Result<(), FetchError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(FetchError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FetchError::Credentials);
        }
        match url.host() {
            None => Err(FetchError::Malformed("it names no host".to_owned())),
            Some(Host::Domain(_)) => Ok(()),
            Some(Host::Ipv4(address)) => self.check_address(&address.to_string(), address.into()),
            Some(Host::Ipv6(address)) => self.check_address(&address.to_string(), address.into()),
        }
    }

    fn check_address(&self, host: &str, address: IpAddr) -> Result<(), FetchError> {
        let host = host.to_owned();
        if is_metadata(address) {
            return Err(FetchError::MetadataAddress { host, address });
        }
        let is_private = !self.allow_private && !is_public(address);
        if is_private || self.is_own.is_some_and(|is_own| is_own(address)) {
            return Err(FetchError::PrivateAddress { host, address });
        }
        Ok(())
    }

    /// The permitted addresses of a name, or the reason against one of them if there are
    /// none.
    async fn allowed_addresses(&self, host: String) -> Result<Vec<SocketAddr>, FetchError> {
        let unresolved = |why: String| FetchError::Unresolved {
            host: host.clone(),
            why,
        };
        let found = (self.lookup)(host.clone()).await;
        let found = found.map_err(|error| unresolved(error.to_string()))?;
        let mut allowed = Vec::new();
        let mut refused = None;
        for address in found {
            match self.check_address(&host, address.ip()) {
                Ok(()) => allowed.push(address),
                Err(error) => refused = Some(error),
            }
        }
        match (allowed.is_empty(), refused) {
            (false, _) => Ok(allowed),
            (true, Some(error)) => Err(error),
            (true, None) => Err(unresolved("it has no address".to_owned())),
        }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let allowed = guard.allowed_addresses(host).await.map_err(GuardError)?;
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// Carries the guard's error through the HTTP client's errors.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct GuardError(FetchError);

/// The guard's error, if it caused the failure of the HTTP client.
pub(super) fn guard_error(error: &reqwest::Error) -> Option<FetchError> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(GuardError(reason)) = error.downcast_ref() {
            return Some(reason.clone());
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn scripted(answers: &[&[&str]], allow_private: bool) -> Guard {
        let parse = |text: &&str| SocketAddr::new(text.parse().unwrap(), 0);
        let answers: Vec<Vec<_>> = answers
            .iter()
            .map(|answer| answer.iter().map(parse).collect())
            .collect();
        let answers = Mutex::new(answers.into_iter());
        Guard {
            allow_private,
            is_own: None,
            lookup: Arc::new(move |_| {
                let next = answers.lock().unwrap().next().unwrap_or_default();
                Box::pin(async move { Ok(next) })
            }),
        }
    }

    async fn code(guard: &Guard) -> &'static str {
        match guard.allowed_addresses("host.test".to_owned()).await {
            Ok(_) => "ok",
            Err(error) => error.code(),
        }
    }

    #[tokio::test]
    async fn a_name_that_moves_to_a_private_address_is_refused_when_it_is_connected_to_again() {
        let guard = scripted(&[&["93.184.216.34"], &["127.0.0.1"]], false);
        assert_eq!(code(&guard).await, "ok");
        assert_eq!(code(&guard).await, "url-private-address");
    }

    #[tokio::test]
    async fn of_several_addresses_only_public_ones_are_connected_to() {
        let guard = scripted(&[&["10.0.0.1", "93.184.216.34", "::1"]], false);
        let allowed = guard
            .allowed_addresses("host.test".to_owned())
            .await
            .unwrap();
        let allowed: Vec<_> = allowed.iter().map(|a| a.ip().to_string()).collect();
        assert_eq!(allowed, ["93.184.216.34"]);
    }

    #[tokio::test]
    async fn public_addresses_of_this_machine_can_be_refused() {
        let answers: &[&[&str]] = &[&["93.184.216.34"], &["93.184.216.34", "1.1.1.1"]];
        let mut guard = scripted(answers, false);
        guard.is_own = Some(|address: IpAddr| address.to_string() == "93.184.216.34");
        assert_eq!(code(&guard).await, "url-private-address");
        let allowed = guard.allowed_addresses("host.test".to_owned()).await;
        let allowed: Vec<_> = allowed.unwrap().iter().map(SocketAddr::ip).collect();
        assert_eq!(allowed, ["1.1.1.1".parse::<IpAddr>().unwrap()]);
        // Also where no name has to be resolved, and by the addresses that the system has.
        let check = |guard: &Guard, url: &str| guard.check(&Url::parse(url).unwrap()).is_ok();
        assert!(!check(&guard, "http://93.184.216.34:9200/"));
        for refuse_own in [false, true] {
            let guard = Guard::new(true, refuse_own);
            assert_eq!(check(&guard, "http://127.0.0.1/"), !refuse_own);
            assert!(check(&guard, "http://1.1.1.1/"));
        }
    }

    #[tokio::test]
    async fn metadata_addresses_stay_closed_when_private_ones_are_open() {
        let guard = scripted(&[&["10.0.0.1"], &["169.254.169.254"], &[]], true);
        assert_eq!(code(&guard).await, "ok");
        assert_eq!(code(&guard).await, "url-metadata-address");
        assert_eq!(code(&guard).await, "url-unresolved");
    }

    #[test]
    fn hosts_written_as_addresses_are_judged_in_every_spelling() {
        let guard = Guard::new(false, false);
        let code = |text: &str| match guard.check(&Url::parse(text).unwrap()) {
            Ok(()) => "ok",
            Err(error) => error.code(),
        };
        for (url, expected) in [
            ("http://127.0.0.1/", "url-private-address"),
            ("http://2130706433/", "url-private-address"),
            ("http://0x7f.1/", "url-private-address"),
            ("http://[::1]/", "url-private-address"),
            ("http://[::ffff:10.0.0.1]/", "url-private-address"),
            (
                "http://169.254.169.254/latest/meta-data",
                "url-metadata-address",
            ),
            ("http://1.1.1.1/", "ok"),
            ("https://user:secret@example.com/", "url-credentials"),
            ("ftp://example.com/", "url-scheme"),
            ("file:///etc/passwd", "url-scheme"),
        ] {
            assert_eq!(code(url), expected, "{url}");
        }
    }
}
