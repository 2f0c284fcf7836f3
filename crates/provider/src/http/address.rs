//! The address of a request.

use http::uri::InvalidUri;
use http::{HeaderValue, Uri};
use url::Url;

/// A parsed address, cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct RequestAddress {
    pub(super) uri: Uri,
    pub(super) host: Option<HeaderValue>,
}

impl TryFrom<&Url> for RequestAddress {
    type Error = InvalidUri;

    fn try_from(url: &Url) -> Result<Self, InvalidUri> {
        let uri = Uri::try_from(url.as_str())?;
        let host = uri.authority().map(|host| host.as_str());
        let host = host.and_then(|host| HeaderValue::from_str(host).ok());
        Ok(RequestAddress { uri, host })
    }
}

/// The destination of a request: one of a few known addresses, or a URL built for it.
#[derive(Debug)]
pub(crate) enum Destination {
    Known(RequestAddress),
    Url(Url),
}

impl From<&RequestAddress> for Destination {
    fn from(address: &RequestAddress) -> Self {
        Destination::Known(address.clone())
    }
}

impl From<Url> for Destination {
    fn from(url: Url) -> Self {
        Destination::Url(url)
    }
}

impl TryFrom<Destination> for RequestAddress {
    type Error = InvalidUri;

    fn try_from(to: Destination) -> Result<Self, InvalidUri> {
        match to {
            Destination::Known(address) => Ok(address),
            Destination::Url(url) => RequestAddress::try_from(&url),
        }
    }
}
