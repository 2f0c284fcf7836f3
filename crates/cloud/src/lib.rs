//! Credentials of clouds: found where each cloud puts them, kept, and refreshed before they
//! expire.
//!
//! A source fetches credentials once: [`AwsChain`], [`GoogleTokens`], [`AzureTokens`]. A
//! [`CredentialCache`] keeps what a source gave, so that a request that finds valid credentials
//! never waits. The caller has the HTTP client ([`CloudTransport`]), the variables
//! ([`Variables`]) and the clock ([`CloudClock`]), so that all of it is tested without a cloud.
//! Knows no models, no providers and no configuration files of Prowess.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `cache` | credentials in use; one refresh at a time, in the background |
//! | `source` | what a source is |
//! | `aws` | AWS's default chain, by AWS's own library (feature `aws`) |
//! | `google` | credentials files, workload identity federation, impersonation, metadata server |
//! | `azure` | applications with a secret or another issuer's token; managed identities |
//! | `transport` | requests for credentials: addresses, statuses, retries |
//! | `secret` | secrets, and the files they are read from |
//! | `clock`, `variables` | the time; environment variables |
//! | `error` | why there are no credentials |

#[cfg(feature = "aws")]
mod aws;
mod azure;
mod cache;
mod clock;
mod error;
mod google;
mod secret;
mod source;
mod transport;
mod variables;

#[cfg(feature = "aws")]
pub use crate::aws::{AwsChain, AwsChainOptions, BaseCredentials};
pub use crate::azure::{AzureCloud, AzureTokenOptions, AzureTokens};
pub use crate::cache::CredentialCache;
pub use crate::clock::CloudClock;
pub use crate::error::{CloudError, SourceReport};
pub use crate::google::{GoogleTokenOptions, GoogleTokens, user_credentials_file};
pub use crate::secret::{CloudToken, ReadSecret};
pub use crate::source::{CredentialSource, FetchFuture, Issued, MappedSource};
pub use crate::transport::{CloudTransport, TransportError, TransportFuture};
pub use crate::variables::Variables;
