//! AWS Bedrock: InvokeModel with Anthropic's body, and Converse.

use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::hosting::{AnthropicHost, hosted_body};
use prowess_wire::raw::RawObject;
use prowess_wire::{ClientDialect, Dialect, ReadContext, StreamReader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::cloud_auth::{AwsAuth, AwsAuthOptions, AwsCredentials, CloudAuth, aws_is_visible};
use crate::config::{AwsKeys, KindOptions, ProviderConfigError};
use crate::descriptor::{
    BaseUrl, ConfigPaths, KindBackend, KindDescriptor, LitellmModel, LitellmNames, OptionError,
    OptionsType, UpstreamSettings, WrittenOptions,
};
use crate::http::headers;
use crate::key::{KeyError, KeySource, SecretText};
use crate::upstream::{
    Authentication, BuiltRequest, ModelTask, Upstream, UpstreamJob, append_segments, post,
    sign_request, take_betas,
};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "Models on AWS Bedrock. `api_key` is a bearer token of Bedrock; without one, requests \
            are signed with AWS keys, or with what AWS's own chain of credentials finds.",
    key_variables: &["AWS_BEARER_TOKEN_BEDROCK"],
    key_optional: true,
    ready_variables: Some(&["AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"]),
    has_credentials: Some(aws_is_visible),
    base_url: BaseUrl::FromOptions("that of the region"),
    authentication: "AWS signature; `Authorization: Bearer` for a bearer token",
    telemetry_name: "aws.bedrock",
    litellm: LitellmNames {
        bare_models: &[
            "anthropic.claude-",
            "us.anthropic.claude-",
            "eu.anthropic.claude-",
            "apac.anthropic.claude-",
            "au.anthropic.claude-",
            "jp.anthropic.claude-",
            "global.anthropic.claude-",
            "amazon.nova-",
            "us.amazon.nova-",
            "eu.amazon.nova-",
            "apac.amazon.nova-",
            "amazon.titan-",
        ],
        settings: &[
            ("base_url", &["aws_bedrock_runtime_endpoint"]),
            ("region", &["aws_region_name"]),
            ("access_key_id", &["aws_access_key_id"]),
            ("secret_access_key", &["aws_secret_access_key"]),
            ("session_token", &["aws_session_token"]),
            ("profile", &["aws_profile_name"]),
            ("role_arn", &["aws_role_name"]),
            ("external_id", &["aws_external_id"]),
            ("api_key", &["api_key"]),
        ],
        read_model: Some(read_litellm_model),
        ..LitellmNames::with_prefixes(&["bedrock", "bedrock_converse"])
    },
    example: "region = \"eu-central-1\"\n",
    example_models: &[
        "eu.anthropic.claude-opus-4-5",
        "amazon.nova-pro-v1:0",
        "amazon.titan-embed-text-v2:0",
    ],
    ..KindDescriptor::new(
        "bedrock",
        "AWS Bedrock",
        OptionsType::new::<BedrockSettings>(),
        KindBackend::Http(build),
    )
};

/// Options of Bedrock. An `api_key` is a Bedrock bearer token; without one, requests are
/// signed with AWS keys.
#[derive(Debug, Clone, Default)]
pub struct BedrockOptions {
    /// The region. Default: `AWS_REGION` or `AWS_DEFAULT_REGION`.
    pub region: Option<String>,
    /// AWS keys. Default: the standard `AWS_…` variables, then AWS's own chain.
    pub keys: Option<AwsKeys>,
    /// The profile of `~/.aws/config`.
    pub profile: Option<String>,
    /// A role to assume.
    pub role_arn: Option<String>,
    /// The external id that the role requires.
    pub external_id: Option<String>,
    /// Which of its two APIs to use.
    pub api: BedrockApi,
    /// `anthropic_version` in the body of InvokeModel.
    pub anthropic_version: Option<String>,
}

/// Bedrock's two APIs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum BedrockApi {
    /// InvokeModel for Anthropic's models, which loses nothing; Converse for all others.
    #[default]
    Auto,
    /// InvokeModel with Anthropic's body.
    Invoke,
    /// Converse.
    Converse,
}

/// The options as configuration files have them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct BedrockSettings {
    /// The region. Default: `AWS_REGION` or `AWS_DEFAULT_REGION`.
    region: Option<String>,
    /// AWS access key id. Default: the standard variables, then AWS's own chain of credentials.
    access_key_id: Option<KeySource>,
    /// The secret access key of `access_key_id`.
    secret_access_key: Option<KeySource>,
    /// The token of a temporary session, of `access_key_id`.
    session_token: Option<KeySource>,
    /// The profile of `~/.aws/config`. Default: `AWS_PROFILE`, else `default`.
    profile: Option<String>,
    /// A role to assume with the credentials that are found.
    role_arn: Option<String>,
    /// The external id that the role requires.
    external_id: Option<String>,
    /// Which of its two APIs to use.
    api: BedrockApi,
    /// `anthropic_version` in the body of InvokeModel.
    anthropic_version: Option<String>,
}

impl KindOptions for BedrockOptions {
    fn kind() -> &'static KindDescriptor {
        &KIND
    }
}

impl WrittenOptions for BedrockSettings {
    type Options = BedrockOptions;

    fn check(self, paths: &ConfigPaths<'_>) -> Result<BedrockOptions, OptionError> {
        let token = self.session_token;
        let token = token.map(|token| paths.key("session_token", token));
        let keys = match (self.access_key_id, self.secret_access_key) {
            (Some(id), Some(secret)) => Some(AwsKeys {
                access_key_id: paths.key("access_key_id", id)?,
                secret_access_key: paths.key("secret_access_key", secret)?,
                session_token: token.transpose()?,
            }),
            (None, None) if token.is_none() => None,
            _ => {
                let reason = "access_key_id and secret_access_key only work together";
                return Err(OptionError::new("access_key_id", reason));
            }
        };
        Ok(BedrockOptions {
            region: self.region,
            keys,
            profile: self.profile,
            role_arn: self.role_arn,
            external_id: self.external_id,
            api: self.api,
            anthropic_version: self.anthropic_version,
        })
    }
}

/// `bedrock/converse/…`, `bedrock/invoke/…` and `bedrock/REGION/…` have more than a model.
fn read_litellm_model(prefix: &str, model: &str) -> LitellmModel {
    let mut settings = Vec::new();
    let mut rest = model;
    if prefix == "bedrock_converse" {
        settings.push(("api", "converse".to_owned()));
    }
    while let Some((head, tail)) = rest.split_once('/') {
        match head {
            "converse" | "invoke" => settings.push(("api", head.to_owned())),
            region if is_region(region) => settings.push(("region", region.to_owned())),
            // How LiteLLM writes requests to an imported model.
            _ if tail.starts_with("arn:") => {}
            _ => break,
        }
        rest = tail;
    }
    LitellmModel {
        model: rest.to_owned(),
        settings,
    }
}

fn is_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    matches!(parts.as_slice(), [a, .., n] if a.len() == 2 && parts.len() >= 3 && n.len() == 1)
}

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &BedrockOptions = settings.options()?;
    let region = settings
        .option_or_variable(&options.region, &["AWS_REGION", "AWS_DEFAULT_REGION"])
        .ok_or_else(|| settings.missing_error("region", "set region or AWS_REGION"))?;
    let given = AwsAuthOptions {
        provider: settings.provider,
        region: &region,
        keys: options.keys.as_ref(),
        profile: options.profile.as_deref(),
        role_arn: options.role_arn.as_deref(),
        external_id: options.external_id.as_deref(),
    };
    let version = options.anthropic_version.clone();
    Ok(Box::new(Bedrock {
        base: settings.base_or(&format!("https://bedrock-runtime.{region}.amazonaws.com"))?,
        api: options.api,
        anthropic_version: version
            .unwrap_or_else(|| AnthropicHost::Bedrock.classic_version().to_owned()),
        auth: AwsAuth::build(given, settings.env)?,
        credentials: Mutex::new(None),
        region,
    }))
}

#[derive(Debug)]
struct Bedrock {
    base: Url,
    region: String,
    api: BedrockApi,
    anthropic_version: String,
    /// Where the credentials come from that requests without a bearer token are signed with.
    auth: AwsAuth,
    /// The last of them. They are obtained before a request is built, as that may take time.
    credentials: Mutex<Option<AwsCredentials>>,
}

impl Bedrock {
    fn model_dialect(&self, model: &str) -> Dialect {
        match self.api {
            BedrockApi::Invoke => Dialect::Messages,
            BedrockApi::Converse => Dialect::Converse,
            // `anthropic.claude-…`, `eu.anthropic.claude-…`, and the ARNs of both.
            BedrockApi::Auto if model.contains("anthropic.") => Dialect::Messages,
            BedrockApi::Auto => Dialect::Converse,
        }
    }

    fn last_credentials(&self) -> Result<AwsCredentials, KeyError> {
        let last = self.credentials.lock();
        let last = last.unwrap_or_else(PoisonError::into_inner);
        last.clone().ok_or(KeyError::NotConfigured)
    }

    /// The request to be counted is nested in another; one for InvokeModel in base64.
    fn count_body(&self, job: &UpstreamJob<'_>, betas: &[&str]) -> bytes::Bytes {
        let input = match job.dialect {
            Dialect::Messages => {
                let body = STANDARD.encode(self.invoke_body(job, betas));
                format!("{{\"invokeModel\":{{\"body\":\"{body}\"}}}}")
            }
            _ => {
                let body = String::from_utf8_lossy(&job.body);
                format!("{{\"converse\":{body}}}")
            }
        };
        format!("{{\"input\":{input}}}").into()
    }

    fn invoke_body(&self, job: &UpstreamJob<'_>, betas: &[&str]) -> bytes::Bytes {
        let host = AnthropicHost::Bedrock;
        match RawObject::parse(&job.body) {
            Ok(raw) => hosted_body(&raw, host, &self.anthropic_version, betas).into(),
            // Not a JSON object: the upstream will reject it.
            Err(_) => job.body.clone(),
        }
    }
}

impl Upstream for Bedrock {
    fn base(&self) -> &Url {
        &self.base
    }

    /// It frames Anthropic's events differently.
    fn supports_pass_through(&self, _: ClientDialect, _: ModelTask, _: &str) -> bool {
        false
    }

    fn dialect(&self, model: &str, _: Dialect) -> Dialect {
        self.model_dialect(model)
    }

    fn token_counter_dialect(&self, model: &str) -> Option<Dialect> {
        Some(self.model_dialect(model))
    }

    /// It counts exactly the body that InvokeModel would receive.
    fn counts_whole_body(&self, dialect: Dialect) -> bool {
        dialect == Dialect::Messages
    }

    /// The API of an embedding model, by its vendor.
    fn embedding_dialect(&self, model: &str) -> Option<EmbeddingDialect> {
        if model.contains("titan-embed") {
            Some(EmbeddingDialect::Titan)
        } else if model.contains("cohere.embed") {
            Some(EmbeddingDialect::Cohere)
        } else {
            None
        }
    }

    /// Requests can be signed instead.
    fn needs_key(&self) -> bool {
        false
    }

    fn credential_source(&self) -> Option<String> {
        Some(self.auth.source_name().to_owned())
    }

    fn cloud_auth(&self) -> Option<CloudAuth<'_>> {
        Some(CloudAuth::Aws(&self.auth))
    }

    fn authenticate(&self) -> Option<Authentication<'_>> {
        Some(Box::pin(async move {
            let credentials = self.auth.credentials().await?;
            let last = self.credentials.lock();
            *last.unwrap_or_else(PoisonError::into_inner) = Some(credentials);
            Ok(None)
        }))
    }

    fn request(&self, mut job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        let betas = take_betas(&mut job.headers, AnthropicHost::Bedrock);
        // Its streams are not server-sent events.
        job.headers.remove(http::header::ACCEPT);
        let (operation, body) = match (job.dialect, job.stream) {
            _ if job.task == ModelTask::Embed => ("invoke", job.body),
            _ if job.task == ModelTask::CountTokens => {
                ("count-tokens", self.count_body(&job, &betas))
            }
            (Dialect::Messages, false) => ("invoke", self.invoke_body(&job, &betas)),
            (Dialect::Messages, true) => (
                "invoke-with-response-stream",
                self.invoke_body(&job, &betas),
            ),
            (_, false) => ("converse", job.body),
            (_, true) => ("converse-stream", job.body),
        };
        let url = append_segments(&self.base, ["model", job.model, operation]);
        match key {
            Some(key) => headers::set_bearer(&mut job.headers, key)?,
            None => {
                let credentials = self.last_credentials()?;
                sign_request(&self.region, credentials, &url, &mut job.headers, &body)?;
            }
        }
        Ok(post(url, job.headers, body))
    }

    fn reader(&self, dialect: Dialect, context: ReadContext) -> StreamReader {
        match dialect {
            Dialect::Messages => StreamReader::for_bedrock_invoke(context),
            other => StreamReader::new(other, context),
        }
    }
}
