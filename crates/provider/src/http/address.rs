//! Where a request goes, as it stands on the wire.

use http::uri::InvalidUri;
use http::{HeaderValue, Uri};
use url::Url;

/// An address, taken apart once and cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(super) uri: Uri,
    pub(super) host: Option<HeaderValue>,
}

impl TryFrom<&Url> for Address {
    type Error = InvalidUri;

    fn try_from(url: &Url) -> Result<Self, InvalidUri> {
        let uri = Uri::try_from(url.as_str())?;
        let host = uri.authority().map(|host| host.as_str());
        let host = host.and_then(|host| HeaderValue::from_str(host).ok());
        Ok(Address { uri, host })
    }
}

/// Where a request goes: to one of a few places that were known before, or to one made
/// up for it.
#[derive(Debug)]
pub(crate) enum To {
    Known(Address),
    Url(Url),
}

impl From<&Address> for To {
    fn from(address: &Address) -> Self {
        To::Known(address.clone())
    }
}

impl From<Url> for To {
    fn from(url: Url) -> Self {
        To::Url(url)
    }
}

impl TryFrom<To> for Address {
    type Error = InvalidUri;

    fn try_from(to: To) -> Result<Self, InvalidUri> {
        match to {
            To::Known(address) => Ok(address),
            To::Url(url) => Address::try_from(&url),
        }
    }
}
