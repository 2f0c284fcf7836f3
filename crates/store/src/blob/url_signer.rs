//! Signs URLs of objects, for those who have no credentials of the storage. A build without the
//! feature `s3` has no storage that can.

use std::time::Duration;

use object_store::path::Path;

/// What a URL permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UrlUse {
    Read,
    Write,
}

/// Signs URLs of one bucket.
#[cfg(feature = "s3")]
pub(super) struct UrlSigner(std::sync::Arc<dyn object_store::signer::Signer>);

#[cfg(feature = "s3")]
impl UrlSigner {
    pub(super) fn new(signer: std::sync::Arc<dyn object_store::signer::Signer>) -> Self {
        UrlSigner(signer)
    }

    /// A URL for one object and a limited time.
    pub(super) async fn sign(
        &self,
        permitted: UrlUse,
        path: &Path,
        ttl: Duration,
    ) -> object_store::Result<String> {
        use object_store::signer::Method;

        let method = match permitted {
            UrlUse::Read => Method::GET,
            UrlUse::Write => Method::PUT,
        };
        Ok(self.0.signed_url(method, path, ttl).await?.into())
    }
}

/// There is none.
#[cfg(not(feature = "s3"))]
pub(super) enum UrlSigner {}

#[cfg(not(feature = "s3"))]
impl UrlSigner {
    /// Never called: there is no signer.
    pub(super) async fn sign(
        &self,
        _: UrlUse,
        _: &Path,
        _: Duration,
    ) -> object_store::Result<String> {
        match *self {}
    }
}
