//! AWS's credentials by AWS's own library: environment, profiles with roles and sign-in (SSO),
//! web identity (IRSA), containers (ECS, EKS Pod Identity), instances (IMDSv2), and a configured
//! role on top.
//!
//! aws-config without its HTTP client: requests go through the caller's transport
//! (`connector.rs`), so that there is one TLS library and one pool (16 more packages, of which
//! the clients of STS and SSO are most). The library's cache is not used either: every fetch
//! builds the chain anew, so that changed files and variables count, and `cache/` keeps the
//! result. Programs that print credentials (`credential_process`) are not run: only the sandbox
//! runs foreign code.

mod connector;
mod sources;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use aws_config::sts::AssumeRoleProvider;
use aws_config::{BehaviorVersion, ConfigLoader, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_smithy_async::time::TimeSource;
use aws_smithy_types::timeout::TimeoutConfig;

use self::connector::{FailureKind, ServiceFailure, TransportClient};
use crate::clock::CloudClock;
use crate::error::{CloudError, SourceReport};
use crate::source::{CredentialSource, FetchFuture, Issued};
use crate::transport::{CloudTransport, METADATA_IP};
use crate::variables::Variables;

/// How long one service of AWS may take, with retries.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(10);
/// The session's name in AWS's logs.
const SESSION_NAME: &str = "prowess";

/// Reads credentials that are used before the chain; the error says why it cannot.
pub type BaseCredentials = Arc<dyn Fn() -> Result<Credentials, String> + Send + Sync>;

/// What is configured about AWS's credentials.
#[derive(Clone, Default)]
pub struct AwsChainOptions {
    /// The region of the services that give credentials.
    pub region: String,
    /// The profile. Default: `AWS_PROFILE`, else `default`.
    pub profile: Option<String>,
    /// A role to assume.
    pub role_arn: Option<String>,
    /// The external id that the role requires.
    pub external_id: Option<String>,
    /// Credentials to assume the role with, instead of those of the chain.
    pub base: Option<BaseCredentials>,
}

/// AWS's default chain of credentials.
pub struct AwsChain {
    options: AwsChainOptions,
    variables: Variables,
    transport: Arc<dyn CloudTransport>,
    clock: CloudClock,
    /// Whether a service gave credentials before: then there is one, answering or not.
    has_service: AtomicBool,
}

impl AwsChain {
    /// The chain for these options. Nothing is read yet.
    pub fn new(
        options: AwsChainOptions,
        variables: Variables,
        transport: Arc<dyn CloudTransport>,
        clock: CloudClock,
    ) -> Self {
        AwsChain {
            options,
            variables,
            transport,
            clock,
            has_service: AtomicBool::new(false),
        }
    }

    /// The first source that variables and options name. Nothing is read or asked.
    pub fn source_name(options: &AwsChainOptions, variables: &Variables) -> String {
        let source = match options.base {
            Some(_) => "configured keys".to_owned(),
            None => sources::first_visible(variables, options.profile.as_deref()),
        };
        match &options.role_arn {
            Some(role) => format!("role {role} with {source}"),
            None => source,
        }
    }

    async fn credentials(&self) -> Result<Issued<Credentials>, CloudError> {
        let client = TransportClient::new(Arc::clone(&self.transport));
        let config = self.loader(&client)?.load().await;
        let provider = match &self.options.role_arn {
            Some(role) => {
                let mut role = AssumeRoleProvider::builder(role).session_name(SESSION_NAME);
                if let Some(id) = &self.options.external_id {
                    role = role.external_id(id);
                }
                Some(SharedCredentialsProvider::new(
                    role.configure(&config).build().await,
                ))
            }
            None => config.credentials_provider(),
        };
        let Some(provider) = provider else {
            return Err(self.none_found(&client));
        };
        match provider.provide_credentials().await {
            Ok(credentials) => {
                if client.has_answered() {
                    self.has_service.store(true, Ordering::Relaxed);
                }
                Ok(Issued {
                    expires: credentials.expiry(),
                    value: credentials,
                })
            }
            Err(CredentialsError::CredentialsNotLoaded(_)) => Err(self.none_found(&client)),
            Err(error) => Err(self.refused(&error, &client)),
        }
    }

    fn loader(&self, client: &TransportClient) -> Result<ConfigLoader, CloudError> {
        let timeouts = TimeoutConfig::builder()
            .operation_timeout(SERVICE_TIMEOUT)
            .build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new(self.options.region.clone()))
            .http_client(client.clone())
            .time_source(LibraryClock(self.clock.clone()))
            .timeout_config(timeouts)
            .env(sources::library_variables(
                &self.variables,
                self.options.profile.is_some(),
            ));
        if let Some(profile) = &self.options.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(base) = &self.options.base {
            let base = base().map_err(|reason| CloudError::refused("configured keys", reason))?;
            loader = loader.credentials_provider(base);
        }
        Ok(loader)
    }

    /// No source has any, or the last one failed in a way that may pass.
    fn none_found(&self, client: &TransportClient) -> CloudError {
        if let Some(failure) = self.passing_failure(client) {
            return CloudError::Refused {
                report: SourceReport::new(self.source(), failure.report.to_string()),
                remedy: "",
                transient: true,
            };
        }
        CloudError::NoneFound {
            cloud: "AWS",
            tried: sources::reports(&self.variables, self.options.profile.as_deref(), client),
            remedy: "set access_key_id and secret_access_key or profile in the provider's \
                     configuration, or AWS_PROFILE",
        }
    }

    /// What a source said that is set up, but failed.
    fn refused(&self, error: &CredentialsError, client: &TransportClient) -> CloudError {
        let reason = sources::reason(error);
        let remedy = match reason.contains("SSO") || reason.contains("sso") {
            true => "run `aws sso login`",
            false => "",
        };
        // STS refuses too many requests with status 400.
        let transient = matches!(error, CredentialsError::ProviderTimedOut(_))
            || reason.contains("Throttling")
            || self.passing_failure(client).is_some();
        CloudError::Refused {
            report: SourceReport::new(self.source(), reason),
            remedy,
            transient,
        }
    }

    /// The last failure of a service, if it may pass. At the address of an instance's metadata
    /// service may be nobody, unless it gave credentials before.
    fn passing_failure(&self, client: &TransportClient) -> Option<ServiceFailure> {
        let last = client.failures().pop()?;
        let is_known = self.has_service.load(Ordering::Relaxed)
            || last.report.source != METADATA_IP.to_string();
        let is_passing = match last.kind {
            FailureKind::Unanswered => is_known,
            FailureKind::Transient => true,
            FailureKind::Permanent => false,
        };
        is_passing.then_some(last)
    }

    /// The first source that is set up, for people.
    fn source(&self) -> String {
        let source = sources::first_visible(&self.variables, self.options.profile.as_deref());
        match &self.options.role_arn {
            Some(role) => format!("role {role} with {source}"),
            None => source,
        }
    }
}

impl CredentialSource for AwsChain {
    type Value = Credentials;

    fn fetch(&self) -> FetchFuture<'_, Credentials> {
        Box::pin(self.credentials())
    }
}

impl fmt::Debug for AwsChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsChain")
    }
}

/// The clock, as the library wants it.
#[derive(Debug)]
struct LibraryClock(CloudClock);

impl TimeSource for LibraryClock {
    fn now(&self) -> SystemTime {
        self.0.now()
    }
}
