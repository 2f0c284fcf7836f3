//! Which addresses webhooks may be sent to.
//!
//! A name is checked by its addresses when it is connected to, and only those that passed are
//! connected to: changing the address between check and connection has no effect. Hosts
//! written as addresses never reach a resolver, so they are checked separately. The rule
//! itself is `prowess_skill::address`.

use std::net::{IpAddr, SocketAddr};

use prowess_skill::address::{is_metadata, is_public};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Resolves names to permitted addresses only.
#[derive(Debug, Clone, Copy)]
pub(super) struct AddressGuard {
    pub(super) allow_private: bool,
}

/// Why a host may not be connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RefusedHost {
    #[error("`{0}` has the address {1} of a metadata service, which is never permitted")]
    Metadata(String, IpAddr),
    #[error(
        "`{0}` has the address {1}, which is not public; the setting `webhooks.allow_private` \
         permits it"
    )]
    Private(String, IpAddr),
    #[error("`{0}` has no address")]
    NoAddress(String),
}

impl AddressGuard {
    /// Checks a host that is written as an address.
    pub(super) fn check_literal(self, url: &Url) -> Result<(), RefusedHost> {
        match url.host() {
            Some(Host::Ipv4(address)) => self.check(&address.to_string(), address.into()),
            Some(Host::Ipv6(address)) => self.check(&address.to_string(), address.into()),
            Some(Host::Domain(_)) | None => Ok(()),
        }
    }

    fn check(self, host: &str, address: IpAddr) -> Result<(), RefusedHost> {
        if is_metadata(address) {
            Err(RefusedHost::Metadata(host.to_owned(), address))
        } else if !self.allow_private && !is_public(address) {
            Err(RefusedHost::Private(host.to_owned(), address))
        } else {
            Ok(())
        }
    }

    /// The permitted ones of a name's addresses, or the reason against one of them if there
    /// are none.
    fn permitted(
        self,
        host: &str,
        found: impl Iterator<Item = SocketAddr>,
    ) -> Result<Vec<SocketAddr>, RefusedHost> {
        let mut permitted = Vec::new();
        let mut refused = RefusedHost::NoAddress(host.to_owned());
        for address in found {
            match self.check(host, address.ip()) {
                Ok(()) => permitted.push(address),
                Err(reason) => refused = reason,
            }
        }
        if permitted.is_empty() {
            return Err(refused);
        }
        Ok(permitted)
    }
}

impl Resolve for AddressGuard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = *self;
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let permitted = guard.permitted(&host, found)?;
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permitted(allow_private: bool, addresses: &[&str]) -> Result<Vec<String>, RefusedHost> {
        let parse = |text: &&str| SocketAddr::new(text.parse().unwrap(), 0);
        let guard = AddressGuard { allow_private };
        let permitted = guard.permitted("host.test", addresses.iter().map(parse))?;
        Ok(permitted.iter().map(|a| a.ip().to_string()).collect())
    }

    #[test]
    fn only_public_addresses_of_a_name_are_connected_to() {
        let all = ["10.0.0.1", "93.184.216.34", "::1"];
        assert_eq!(permitted(false, &all).unwrap(), ["93.184.216.34"]);
        let private = permitted(false, &["127.0.0.1"]).unwrap_err();
        assert!(matches!(private, RefusedHost::Private(..)), "{private}");
        assert_eq!(permitted(true, &["127.0.0.1"]).unwrap(), ["127.0.0.1"]);
        let metadata = permitted(true, &["169.254.169.254"]).unwrap_err();
        assert!(matches!(metadata, RefusedHost::Metadata(..)), "{metadata}");
        let none = permitted(true, &[]).unwrap_err();
        assert_eq!(none, RefusedHost::NoAddress("host.test".to_owned()));
    }

    #[test]
    fn a_host_written_as_an_address_is_checked_in_every_form() {
        let guard = AddressGuard {
            allow_private: false,
        };
        for (url, fine) in [
            ("http://127.0.0.1/", false),
            ("http://2130706433/", false),
            ("http://0x7f.1/", false),
            ("http://[::1]/", false),
            ("http://[::ffff:10.0.0.1]/", false),
            ("http://169.254.169.254/", false),
            ("http://1.1.1.1/", true),
            ("http://example.com/", true),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(guard.check_literal(&url).is_ok(), fine, "{url}");
        }
    }
}
