//! Credentials of AWS, Google and Azure for providers that run there.
//!
//! Three types, one per cloud, each built from a provider's options and the environment:
//! [`AwsAuth`] has credentials that sign requests, [`GoogleAuth`] and [`AzureAuth`] have access
//! tokens. What is configured is used first, then the cloud's own places in its own order.
//! Building reads no file and opens no connection; the first call does. `prowess-cloud` knows
//! where credentials are and keeps them; this module knows the options of providers, sends the
//! requests through this crate's HTTP client, and turns errors into this crate's. It knows no
//! model and no dialect.

mod aws;
mod azure;
mod error;
mod expiring;
mod google;
mod transport;
mod visible;

pub(crate) use aws::{AwsAuth, AwsAuthOptions, AwsCredentials};
pub(crate) use azure::{AzureAuth, AzureAuthOptions};
pub(crate) use google::{GoogleAuth, GoogleAuthOptions};
pub(crate) use visible::{aws_is_visible, azure_is_visible, google_is_visible};

/// The credentials of a provider, of whichever cloud.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CloudAuth<'a> {
    Aws(&'a AwsAuth),
    Google(&'a GoogleAuth),
    Azure(&'a AzureAuth),
}

impl CloudAuth<'_> {
    /// Goes on with the credentials that the same provider of an earlier configuration has, if
    /// they come from the same source.
    pub(crate) fn take_over(self, previous: CloudAuth<'_>) {
        match (self, previous) {
            (CloudAuth::Aws(own), CloudAuth::Aws(previous)) => own.take_over(previous),
            (CloudAuth::Google(own), CloudAuth::Google(previous)) => own.take_over(previous),
            (CloudAuth::Azure(own), CloudAuth::Azure(previous)) => own.take_over(previous),
            _ => {}
        }
    }
}
