//! OpenAI's models on Azure: different paths, and a different header for the key.

use std::path::PathBuf;

use http::HeaderMap;
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::models::capabilities;
use prowess_wire::{ClientDialect, Dialect, WriteOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use crate::cloud_auth::{AzureAuth, AzureAuthOptions, CloudAuth, azure_is_visible};
use crate::config::{KindOptions, ProviderConfigError};
use crate::descriptor::{
    BaseUrl, ConfigPaths, KindBackend, KindDescriptor, LitellmModel, LitellmNames, OptionError,
    OptionsType, UpstreamSettings, WrittenOptions,
};
use crate::http::headers;
use crate::key::{KeyError, KeySource, SecretText};
use crate::upstream::{
    Authentication, BuiltRequest, ModelTask, Upstream, UpstreamJob, append_segments, get,
    operation_path, passes_openai, post,
};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "OpenAI's models on Azure. The model is the name of the deployment. Without a key, \
            access tokens of Entra ID are used: of an application with a secret or a federated \
            token, or of a managed identity.",
    key_variables: &["AZURE_API_KEY", "AZURE_OPENAI_API_KEY"],
    key_optional: true,
    has_credentials: Some(azure_is_visible),
    base_url: BaseUrl::Variables {
        names: &["AZURE_API_BASE", "AZURE_OPENAI_ENDPOINT"],
        default: None,
    },
    authentication: "`api-key`; `Authorization: Bearer` for tokens of Entra ID",
    telemetry_name: "azure.ai.openai",
    litellm: LitellmNames {
        settings: &[
            ("api_key", &["api_key"]),
            ("api_version", &["api_version"]),
            ("tenant_id", &["tenant_id"]),
            ("client_id", &["client_id"]),
            ("client_secret", &["client_secret"]),
        ],
        bearer_token: Some("azure_ad_token"),
        read_model: Some(read_litellm_model),
        ..LitellmNames::with_prefixes(&["azure"])
    },
    complete_base_url: Some(complete),
    variable_options: &[("api_version", "AZURE_API_VERSION")],
    example: "base_url = \"https://acme.openai.azure.com\"\napi_key = \"env:AZURE_API_KEY\"\n",
    example_models: &["my-deployment"],
    ..KindDescriptor::new(
        "azure",
        "Azure OpenAI",
        OptionsType::new::<AzureOptions>(),
        KindBackend::Http(build),
    )
};

/// Options of Azure.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AzureOptions {
    /// The `api-version` of the classic paths, which contain the deployment; without it
    /// the newer `/openai/v1` paths are used.
    pub api_version: Option<String>,
    /// Whether the key is an Entra ID token, sent as `Authorization: Bearer`.
    pub bearer: bool,
    /// The tenant of the application that obtains tokens. Default: `AZURE_TENANT_ID`.
    pub tenant_id: Option<String>,
    /// The application, or the user-assigned managed identity. Default: `AZURE_CLIENT_ID`.
    pub client_id: Option<String>,
    /// The application's secret. Default: `AZURE_CLIENT_SECRET`.
    pub client_secret: Option<KeySource>,
    /// A file with a token of another issuer that the application trusts. Default:
    /// `AZURE_FEDERATED_TOKEN_FILE`.
    pub federated_token_file: Option<PathBuf>,
}

impl KindOptions for AzureOptions {
    fn kind() -> &'static KindDescriptor {
        &KIND
    }
}

impl WrittenOptions for AzureOptions {
    type Options = Self;

    fn check(mut self, paths: &ConfigPaths<'_>) -> Result<Self, OptionError> {
        if let Some(secret) = self.client_secret.take() {
            self.client_secret = Some(paths.key("client_secret", secret)?);
        }
        if let Some(file) = &self.federated_token_file {
            self.federated_token_file = Some(paths.path("federated_token_file", file)?);
        }
        Ok(self)
    }
}

/// Words before a deployment's name in LiteLLM, which say what sort of model it is.
const LITELLM_SERIES: [&str; 3] = ["o_series/", "gpt5_series/", "responses/"];

fn read_litellm_model(_: &str, model: &str) -> LitellmModel {
    let mut series = LITELLM_SERIES.iter();
    let deployment = series.find_map(|series| model.strip_prefix(series));
    LitellmModel {
        model: deployment.unwrap_or(model).to_owned(),
        settings: Vec::new(),
    }
}

/// Azure's portal shows addresses with the path of an operation; only what is before it is the
/// same for all of them.
fn complete(written: &str) -> String {
    let host = written.find("://").map_or(0, |scheme| scheme + 3);
    let paths = ["/openai/deployments/", "/openai/v1", "/openai/responses"];
    let ends = paths.iter().filter_map(|path| {
        let rest = written.get(host..)?;
        Some(host + rest.find(path)?)
    });
    let base = ends.min().and_then(|end| written.get(..end));
    base.unwrap_or(written).to_owned()
}

/// The hosts of Azure's clouds, to which tokens may be sent that no option names.
const AZURE_DOMAINS: [&str; 3] = [".azure.com", ".azure.us", ".azure.cn"];

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &AzureOptions = settings.options()?;
    let base = settings.base()?;
    let tokens = entra_tokens(
        settings,
        AzureAuthOptions {
            provider: settings.provider,
            tenant_id: options.tenant_id.as_deref(),
            client_id: options.client_id.as_deref(),
            client_secret: options.client_secret.as_ref(),
            federated_token_file: options.federated_token_file.as_deref(),
            host: base.host_str().unwrap_or_default(),
        },
    )?;
    let version = options.api_version.as_deref();
    Ok(Box::new(Azure {
        api_version: version
            .filter(|version| !NEWER_VERSIONS.contains(version))
            .map(str::to_owned),
        preview: version == Some(PREVIEW_VERSION),
        base,
        bearer: options.bearer || tokens.is_some(),
        tokens,
    }))
}

/// The source of tokens of Entra ID, for a provider without a key: at Azure, or if an identity is
/// named.
pub(super) fn entra_tokens(
    settings: &UpstreamSettings<'_>,
    given: AzureAuthOptions<'_>,
) -> Result<Option<AzureAuth>, ProviderConfigError> {
    let is_named = given.client_id.is_some()
        || given.client_secret.is_some()
        || given.federated_token_file.is_some();
    let mut domains = AZURE_DOMAINS.iter();
    let is_azure = domains.any(|domain| given.host.ends_with(domain));
    if settings.has_key || !(is_named || is_azure) {
        return Ok(None);
    }
    AzureAuth::build(given, settings.env).map(Some)
}

#[derive(Debug)]
struct Azure {
    base: Url,
    /// The version of the classic paths; `None` for the paths under `/openai/v1`.
    api_version: Option<String>,
    /// Whether the paths under `/openai/v1` are asked for what is not generally available.
    preview: bool,
    /// Whether the key is an Entra ID token.
    bearer: bool,
    /// Where such tokens come from when no key is configured.
    tokens: Option<AzureAuth>,
}

/// The `api-version` of the newer paths that has more than they have without one.
const PREVIEW_VERSION: &str = "preview";
/// What people write as `api_version` for the newer paths.
const NEWER_VERSIONS: [&str; 3] = ["v1", "latest", PREVIEW_VERSION];
/// The first version of the classic paths with `/responses`.
const FIRST_WITH_RESPONSES: &str = "2025-03-01";
/// The first version with schemas of responses.
const FIRST_WITH_SCHEMAS: &str = "2024-08-01";
/// The first version with `max_completion_tokens`, `parallel_tool_calls` and `stream_options`.
const FIRST_WITH_STREAM_OPTIONS: &str = "2024-09-01";
/// The first version with `reasoning_effort`, `store` and `metadata`.
const FIRST_WITH_EFFORT: &str = "2024-12-01";

impl Azure {
    /// Whether it has `/responses`.
    fn has_responses(&self) -> bool {
        self.is_since(FIRST_WITH_RESPONSES)
    }

    /// Whether its version is this one or a newer one. Versions are dates.
    fn is_since(&self, first: &str) -> bool {
        let version = self.api_version.as_deref();
        version.is_none_or(|version| version >= first)
    }

    fn v1_url(&self, operation: &[&str]) -> Url {
        let path = ["openai", "v1"].iter().chain(operation).copied();
        let mut url = append_segments(&self.base, path);
        if self.preview {
            let version = PREVIEW_VERSION;
            url.query_pairs_mut().append_pair("api-version", version);
        }
        url
    }

    fn classic_url(&self, path: &[&str], version: &str) -> Url {
        let mut url = append_segments(&self.base, path.iter().copied());
        url.query_pairs_mut().append_pair("api-version", version);
        url
    }
}

impl Upstream for Azure {
    fn base(&self) -> &Url {
        &self.base
    }

    fn is_openai(&self) -> bool {
        true
    }

    fn supports_pass_through(&self, client: ClientDialect, task: ModelTask, _: &str) -> bool {
        passes_openai(client, task)
    }

    /// The model is the name of a deployment, which usually contains the model's.
    fn dialect(&self, model: &str, origin: Dialect) -> Dialect {
        match origin {
            // A Responses request loses least in Responses.
            Dialect::Responses => origin,
            _ if self.has_responses() && capabilities(model).needs_responses => Dialect::Responses,
            _ => Dialect::Chat,
        }
    }

    /// Earlier versions refuse fields that only later ones have.
    fn default_write_options(&self) -> WriteOptions {
        let has_effort = self.is_since(FIRST_WITH_EFFORT);
        let has_stream_options = self.is_since(FIRST_WITH_STREAM_OPTIONS);
        WriteOptions {
            legacy_max_tokens: !has_stream_options,
            response_schemas: self.is_since(FIRST_WITH_SCHEMAS),
            custom_tools: has_effort,
            openai_fields: has_effort,
            refused_fields: match (has_stream_options, has_effort) {
                (false, _) => &["parallel_tool_calls", "reasoning_effort", "stream_options"],
                (true, false) => &["reasoning_effort"],
                (true, true) => &[],
            },
            ..WriteOptions::default()
        }
    }

    fn token_counter_dialect(&self, _: &str) -> Option<Dialect> {
        Some(Dialect::Responses)
    }

    fn embedding_dialect(&self, _: &str) -> Option<EmbeddingDialect> {
        Some(EmbeddingDialect::OpenAi)
    }

    fn credential_source(&self) -> Option<String> {
        Some(self.tokens.as_ref()?.source_name())
    }

    fn cloud_auth(&self) -> Option<CloudAuth<'_>> {
        self.tokens.as_ref().map(CloudAuth::Azure)
    }

    fn authenticate(&self) -> Option<Authentication<'_>> {
        let tokens = self.tokens.as_ref()?;
        Some(Box::pin(async move { tokens.token().await.map(Some) }))
    }

    fn authorize(&self, headers: &mut HeaderMap, key: Option<&SecretText>) -> Result<(), KeyError> {
        match key {
            Some(key) if self.bearer => headers::set_bearer(headers, key),
            Some(key) => headers::set_key(headers, headers::API_KEY, key),
            None => Ok(()),
        }
    }

    fn request(&self, mut job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        let operation = operation_path(job.dialect, job.task);
        let url = match &self.api_version {
            None => self.v1_url(operation),
            // Only the older classic paths contain the deployment.
            Some(version) if job.dialect == Dialect::Chat => {
                let head = ["openai", "deployments", job.model];
                self.classic_url(&[&head, operation].concat(), version)
            }
            Some(version) => self.classic_url(&[&["openai"], operation].concat(), version),
        };
        self.authorize(&mut job.headers, key)?;
        Ok(post(url, job.headers, job.body))
    }

    fn list_request(
        &self,
        mut headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Option<BuiltRequest> {
        let url = match &self.api_version {
            None => self.v1_url(&["models"]),
            Some(version) => self.classic_url(&["openai", "models"], version),
        };
        let authorized = self.authorize(&mut headers, key);
        Some(authorized.map(|()| get(url, headers)))
    }
}
