//! What gives credentials: one fetch, without any memory. The cache keeps them.

use std::future::Future;
use std::pin::Pin;
use std::time::SystemTime;

use crate::error::CloudError;

/// Credentials as a source gave them.
#[derive(Debug, Clone)]
pub struct Issued<T> {
    /// The credentials.
    pub value: T,
    /// When they expire; `None` for those that do not.
    pub expires: Option<SystemTime>,
}

/// Credentials that are being fetched.
pub type FetchFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<Issued<T>, CloudError>> + Send + 'a>>;

/// A source of credentials.
pub trait CredentialSource: Send + Sync + 'static {
    /// What it gives.
    type Value: Clone + Send + Sync + 'static;

    /// Fetches new ones.
    fn fetch(&self) -> FetchFuture<'_, Self::Value>;

    /// The same source with its values converted.
    fn map_values<U, F>(self, convert: F) -> MappedSource<Self, F>
    where
        Self: Sized,
        F: Fn(Self::Value) -> U + Send + Sync + 'static,
        U: Clone + Send + Sync + 'static,
    {
        MappedSource {
            source: self,
            convert,
        }
    }
}

/// A source with its values converted.
#[derive(Debug)]
pub struct MappedSource<S, F> {
    source: S,
    convert: F,
}

impl<S, U, F> CredentialSource for MappedSource<S, F>
where
    S: CredentialSource,
    U: Clone + Send + Sync + 'static,
    F: Fn(S::Value) -> U + Send + Sync + 'static,
{
    type Value = U;

    fn fetch(&self) -> FetchFuture<'_, U> {
        Box::pin(async {
            let issued = self.source.fetch().await?;
            Ok(Issued {
                value: (self.convert)(issued.value),
                expires: issued.expires,
            })
        })
    }
}
