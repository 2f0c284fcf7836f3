//! AWS credentials of a provider: configured keys, or AWS's default chain.

use aws_credential_types::Credentials;

#[cfg(feature = "clouds")]
use super::error::key_error;
#[cfg(feature = "clouds")]
use super::expiring::{ExpiringCredentials, settings_text};
use crate::config::{AwsKeys, ProviderConfigError};
use crate::env::Env;
use crate::error::CallError;
use crate::key::{CachedKey, KeyError, KeySource};

/// What signs a request. Cheap to clone; its `Debug` shows no secret.
pub(crate) type AwsCredentials = Credentials;

/// What a provider's configuration says about AWS credentials.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AwsAuthOptions<'a> {
    /// The provider's name, for errors.
    pub(crate) provider: &'a str,
    /// The region, also of the services that give credentials.
    #[cfg_attr(
        not(feature = "clouds"),
        expect(dead_code, reason = "only the chain needs it")
    )]
    pub(crate) region: &'a str,
    /// Configured keys; the chain is not used then.
    pub(crate) keys: Option<&'a AwsKeys>,
    /// The profile of `~/.aws/config`. Default: `AWS_PROFILE`, else `default`.
    pub(crate) profile: Option<&'a str>,
    /// A role to assume with whatever credentials are found.
    pub(crate) role_arn: Option<&'a str>,
    /// The external id that the role requires.
    #[cfg_attr(
        not(feature = "clouds"),
        expect(dead_code, reason = "only the chain needs it")
    )]
    pub(crate) external_id: Option<&'a str>,
}

/// A provider's AWS credentials.
#[derive(Debug)]
pub(crate) struct AwsAuth {
    provider: String,
    source_name: String,
    source: AwsSource,
}

#[derive(Debug)]
enum AwsSource {
    /// Keys that need no request: configured ones, or the standard variables.
    Keys(Box<SigningKeys>),
    /// Credentials that expire.
    #[cfg(feature = "clouds")]
    Chain(ExpiringCredentials<AwsCredentials>),
    /// The chain is needed, but is not part of this build.
    #[cfg(not(feature = "clouds"))]
    NotBuilt,
}

/// AWS keys and where each is read from.
#[derive(Debug)]
struct SigningKeys {
    access_key_id: CachedKey,
    secret_access_key: CachedKey,
    session_token: Option<CachedKey>,
}

impl AwsAuth {
    /// Builds the source of credentials. Reads no file and opens no connection.
    pub(crate) fn build(
        options: AwsAuthOptions<'_>,
        env: &Env,
    ) -> Result<Self, ProviderConfigError> {
        check_role(&options)?;
        let keys = match options.keys {
            Some(keys) => Some(SigningKeys::new(keys.clone(), env)),
            // A configured profile is meant instead of the variables.
            None if options.profile.is_some() => None,
            None => SigningKeys::from_variables(env),
        };
        let (source, source_name) = match (keys, options.role_arn) {
            (Some(keys), None) => {
                let name = match options.keys {
                    Some(_) => "configured keys",
                    None => "environment",
                };
                (AwsSource::Keys(Box::new(keys)), name.to_owned())
            }
            (keys, _) => chain(&options, keys, env),
        };
        Ok(AwsAuth {
            provider: options.provider.to_owned(),
            source_name,
            source,
        })
    }

    /// Where the credentials come from, in words.
    pub(crate) fn source_name(&self) -> &str {
        &self.source_name
    }

    /// Credentials that are valid now. Waits only when none are.
    pub(crate) async fn credentials(&self) -> Result<AwsCredentials, CallError> {
        let error = |error| CallError::Key {
            provider: self.provider.clone(),
            error,
        };
        match &self.source {
            AwsSource::Keys(keys) => keys.credentials().map_err(error),
            #[cfg(feature = "clouds")]
            AwsSource::Chain(chain) => chain.get().await.map_err(|e| error(key_error(&e))),
            #[cfg(not(feature = "clouds"))]
            AwsSource::NotBuilt => Err(error(KeyError::Credentials(
                "this build reads only access_key_id and secret_access_key, or AWS_ACCESS_KEY_ID \
                 and AWS_SECRET_ACCESS_KEY; the feature `clouds` adds the other sources"
                    .to_owned(),
            ))),
        }
    }

    /// Goes on with the credentials that `previous` got from the same source.
    #[cfg(feature = "clouds")]
    pub(super) fn take_over(&self, previous: &AwsAuth) {
        if let (AwsSource::Chain(own), AwsSource::Chain(previous)) =
            (&self.source, &previous.source)
        {
            own.take_over(previous);
        }
    }

    /// Without a chain there is nothing to go on with.
    #[cfg(not(feature = "clouds"))]
    pub(super) fn take_over(&self, _: &AwsAuth) {}
}

#[cfg(feature = "clouds")]
fn chain(
    options: &AwsAuthOptions<'_>,
    keys: Option<SigningKeys>,
    env: &Env,
) -> (AwsSource, String) {
    use std::sync::Arc;

    use prowess_cloud::{AwsChain, AwsChainOptions, CloudClock};

    use super::transport::CredentialTransport;

    let configured = options.keys;
    let settings = settings_text(
        &[
            Some(options.region),
            options.profile,
            options.role_arn,
            options.external_id,
        ],
        &[
            configured.map(|keys| &keys.access_key_id),
            configured.map(|keys| &keys.secret_access_key),
            configured.and_then(|keys| keys.session_token.as_ref()),
        ],
    );
    let base = keys.map(|keys| -> prowess_cloud::BaseCredentials {
        Arc::new(move || keys.credentials().map_err(|error| error.to_string()))
    });
    let options = AwsChainOptions {
        region: options.region.to_owned(),
        profile: options.profile.map(str::to_owned),
        role_arn: options.role_arn.map(str::to_owned),
        external_id: options.external_id.map(str::to_owned),
        base,
    };
    let name = AwsChain::source_name(&options, &env.variables());
    let chain = AwsChain::new(
        options,
        env.variables(),
        CredentialTransport::shared(),
        CloudClock::system(),
    );
    let chain = ExpiringCredentials::new(chain, settings);
    (AwsSource::Chain(chain), name)
}

#[cfg(not(feature = "clouds"))]
fn chain(_: &AwsAuthOptions<'_>, _: Option<SigningKeys>, _: &Env) -> (AwsSource, String) {
    let name = "none that is part of this build".to_owned();
    (AwsSource::NotBuilt, name)
}

/// A role is an ARN; anything else would only be refused by AWS, with a worse message.
fn check_role(options: &AwsAuthOptions<'_>) -> Result<(), ProviderConfigError> {
    match options.role_arn {
        Some(role) if !role.starts_with("arn:") => Err(ProviderConfigError::BadName {
            entry: format!("providers.{}.role_arn", options.provider),
            why: "it must be an ARN, as in arn:aws:iam::123456789012:role/name",
        }),
        _ => Ok(()),
    }
}

impl SigningKeys {
    fn new(keys: AwsKeys, env: &Env) -> Self {
        let key = |source| CachedKey::new(source, env);
        SigningKeys {
            access_key_id: key(keys.access_key_id),
            secret_access_key: key(keys.secret_access_key),
            session_token: keys.session_token.map(key),
        }
    }

    /// The standard variables, if they are set.
    fn from_variables(env: &Env) -> Option<Self> {
        let variable = |name: &str| env.get(name).map(|_| KeySource::Env(name.to_owned()));
        let keys = AwsKeys {
            access_key_id: variable("AWS_ACCESS_KEY_ID")?,
            secret_access_key: variable("AWS_SECRET_ACCESS_KEY")?,
            session_token: variable("AWS_SESSION_TOKEN"),
        };
        Some(SigningKeys::new(keys, env))
    }

    fn credentials(&self) -> Result<AwsCredentials, KeyError> {
        let token = self
            .session_token
            .as_ref()
            .map(CachedKey::get)
            .transpose()?;
        Ok(Credentials::new(
            self.access_key_id.get()?.expose(),
            self.secret_access_key.get()?.expose(),
            token.map(|token| token.expose().to_owned()),
            None,
            "prowess",
        ))
    }
}
