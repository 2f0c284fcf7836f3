//! What one call may have of the client's credentials, once it is decided (`client_key`).

use http::HeaderMap;

use crate::credentials::ClientCredentials;
use crate::key::SecretText;

/// For whom one call is made, and what it may have of the client's credentials.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallCredentials<'a> {
    /// The client's headers.
    pub(crate) headers: &'a HeaderMap,
    pub(crate) key: ClientKey<'a>,
    /// Stands for the tenant; 0 if that is not known.
    pub(crate) owner: u64,
}

/// The client's own key, as one provider sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClientKey<'a> {
    /// The client sent none.
    None,
    /// It is meant for this provider.
    Meant(&'a SecretText),
    /// It is meant for another one.
    Withheld,
}

impl ClientCredentials {
    /// For a call of the provider that the client named, or whose file it asks for.
    pub(crate) fn for_named_provider(&self) -> CallCredentials<'_> {
        CallCredentials {
            headers: &self.headers,
            key: self.key.as_ref().map_or(ClientKey::None, ClientKey::Meant),
            owner: 0,
        }
    }

    /// For a call in which the client's key has no part.
    pub(crate) fn without_key(&self) -> CallCredentials<'_> {
        CallCredentials {
            headers: &self.headers,
            key: match &self.key {
                Some(_) => ClientKey::Withheld,
                None => ClientKey::None,
            },
            owner: 0,
        }
    }
}
