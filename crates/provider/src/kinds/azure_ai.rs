//! Models of other vendors than OpenAI on Azure (Foundry): Claude with Anthropic's API, all others
//! with OpenAI's, both at the address of one resource.

use std::path::PathBuf;

use http::{HeaderMap, HeaderValue};
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::models::{Family, capabilities};
use prowess_wire::{ClientDialect, Dialect, WriteOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::anthropic::{Anthropic, AnthropicOptions};
use super::azure::entra_tokens;
use super::openai::build_openai;
use crate::cloud_auth::{AzureAuth, AzureAuthOptions, CloudAuth, azure_is_visible};
use crate::config::{KindOptions, ProviderConfigError};
use crate::descriptor::{
    BaseUrl, ConfigPaths, KindBackend, KindDescriptor, LitellmNames, OptionError, OptionsType,
    UpstreamSettings, WrittenOptions,
};
use crate::env::Env;
use crate::http::headers;
use crate::key::{KeyError, KeySource, SecretText};
use crate::upstream::{Authentication, BuiltRequest, ModelTask, OpenAi, Upstream, UpstreamJob};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "Models of other vendors on Azure (Foundry): Claude through Anthropic's API, all others \
            through an OpenAI-compatible one. The model is the name of the deployment. Without a \
            key, access tokens of Entra ID are used, as for Azure OpenAI.",
    key_variables: &["AZURE_AI_API_KEY"],
    key_optional: true,
    has_credentials: Some(is_visible),
    base_url: BaseUrl::Variables {
        names: &[ADDRESS_VARIABLE],
        default: None,
    },
    authentication: "`Authorization: Bearer`; for Claude `api-key` and `x-api-key`, and \
                     `Authorization: Bearer` for tokens of Entra ID",
    telemetry_name: "azure.ai.inference",
    litellm: LitellmNames {
        settings: &[
            ("api_key", &["api_key"]),
            ("tenant_id", &["tenant_id"]),
            ("client_id", &["client_id"]),
            ("client_secret", &["client_secret"]),
        ],
        ..LitellmNames::with_prefixes(&["azure_ai"])
    },
    complete_base_url: Some(complete),
    example: "base_url = \"https://acme.services.ai.azure.com/openai/v1\"\napi_key = \"env:AZURE_AI_API_KEY\"\n",
    example_models: &["mistral-large", "claude-opus-4-5"],
    ..KindDescriptor::new(
        "azure_ai",
        "Azure AI",
        OptionsType::new::<AzureAiOptions>(),
        KindBackend::Http(build),
    )
};

/// Options of Azure AI.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AzureAiOptions {
    /// Which of its two APIs to use.
    pub api: AzureAiApi,
    /// Whether it has `/responses`. Default: only OpenAI itself does.
    pub responses: Option<bool>,
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

/// The two APIs of Azure AI.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AzureAiApi {
    /// Anthropic's for deployments with `claude` in their names, OpenAI's for all others.
    #[default]
    Auto,
    /// Anthropic's, for deployments of Claude with other names.
    Anthropic,
    /// OpenAI's.
    OpenAi,
}

impl KindOptions for AzureAiOptions {
    fn kind() -> &'static KindDescriptor {
        &KIND
    }
}

impl WrittenOptions for AzureAiOptions {
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

const ADDRESS_VARIABLE: &str = "AZURE_AI_API_BASE";

/// Credentials alone may be for other services of Azure.
fn is_visible(env: &Env) -> bool {
    env.get(ADDRESS_VARIABLE).is_some() && azure_is_visible(env)
}

/// What people write behind the address of the resource: paths of an older API, and of Claude.
const OTHER_PATHS: [&str; 4] = [
    "/anthropic/v1/messages",
    "/anthropic/v1",
    "/anthropic",
    "/models",
];
const OPENAI_PATH: &str = "/openai/v1";
const ANTHROPIC_PATH: &str = "/anthropic";

/// People write the address of the resource alone, or with the path of another API.
fn complete(written: &str) -> String {
    let base = written.trim_end_matches('/');
    let mut paths = OTHER_PATHS.iter();
    let resource = paths.find_map(|path| base.strip_suffix(path));
    let resource = resource.unwrap_or(base);
    match resource.ends_with(".services.ai.azure.com") {
        true => format!("{resource}{OPENAI_PATH}"),
        false => written.to_owned(),
    }
}

/// The address of Anthropic's API, beside OpenAI's.
fn anthropic_base(openai: &Url) -> Url {
    let path = openai.path().trim_end_matches('/');
    let resource = path.strip_suffix(OPENAI_PATH).unwrap_or(path);
    let mut base = openai.clone();
    if !resource.ends_with(ANTHROPIC_PATH) {
        base.set_path(&format!("{resource}{ANTHROPIC_PATH}"));
    }
    base
}

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &AzureAiOptions = settings.options()?;
    let openai = build_openai(settings, options.responses)?;
    let tokens = entra_tokens(
        settings,
        AzureAuthOptions {
            provider: settings.provider,
            tenant_id: options.tenant_id.as_deref(),
            client_id: options.client_id.as_deref(),
            client_secret: options.client_secret.as_ref(),
            federated_token_file: options.federated_token_file.as_deref(),
            host: openai.base.host_str().unwrap_or_default(),
        },
    )?;
    let version: HeaderValue =
        settings.header_value("api", &AnthropicOptions::default().version)?;
    let anthropic = Anthropic::new(anthropic_base(&openai.base), version);
    Ok(Box::new(AzureAi {
        api: options.api,
        anthropic: anthropic.map_err(|error| settings.bad_url_error(error))?,
        openai,
        tokens,
    }))
}

#[derive(Debug)]
struct AzureAi {
    api: AzureAiApi,
    openai: OpenAi,
    anthropic: Anthropic,
    /// Where tokens come from when no key is configured.
    tokens: Option<AzureAuth>,
}

impl AzureAi {
    fn is_claude(&self, model: &str) -> bool {
        match self.api {
            AzureAiApi::Auto => capabilities(model).family == Family::Claude,
            AzureAiApi::Anthropic => true,
            AzureAiApi::OpenAi => false,
        }
    }
}

impl Upstream for AzureAi {
    fn base(&self) -> &Url {
        &self.openai.base
    }

    fn supports_pass_through(&self, client: ClientDialect, task: ModelTask, model: &str) -> bool {
        match self.is_claude(model) {
            true => {
                let is_messages = matches!(task, ModelTask::Generate | ModelTask::CountTokens);
                client == ClientDialect::Messages && is_messages
            }
            false => self.openai.supports_pass_through(client, task, model),
        }
    }

    fn dialect(&self, model: &str, origin: Dialect) -> Dialect {
        match self.is_claude(model) {
            true => Dialect::Messages,
            false => self.openai.dialect(model, origin),
        }
    }

    fn token_counter_dialect(&self, model: &str) -> Option<Dialect> {
        match self.is_claude(model) {
            true => Some(Dialect::Messages),
            false => self.openai.token_counter_dialect(model),
        }
    }

    fn embedding_dialect(&self, model: &str) -> Option<EmbeddingDialect> {
        match self.is_claude(model) {
            true => None,
            false => self.openai.embedding_dialect(model),
        }
    }

    fn needs_key(&self) -> bool {
        self.openai.needs_key()
    }

    fn cloud_auth(&self) -> Option<CloudAuth<'_>> {
        self.tokens.as_ref().map(CloudAuth::Azure)
    }

    fn authenticate(&self) -> Option<Authentication<'_>> {
        let tokens = self.tokens.as_ref()?;
        Some(Box::pin(async move { tokens.token().await.map(Some) }))
    }

    fn credential_source(&self) -> Option<String> {
        Some(self.tokens.as_ref()?.source_name())
    }

    fn api_write_options(&self, model: &str) -> WriteOptions {
        match self.is_claude(model) {
            true => self.anthropic.default_write_options(),
            false => self.openai.default_write_options(),
        }
    }

    fn request(&self, job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        // The name of a deployment does not have to say that it is Claude; the dialect does.
        if job.dialect != Dialect::Messages {
            return self.openai.request(job, key);
        }
        let mut request = self.anthropic.request(job, None)?;
        if let Some(key) = key {
            set_claude_key(&mut request.headers, key)?;
        }
        Ok(request)
    }

    fn list_request(&self, headers: HeaderMap, key: Option<&SecretText>) -> Option<BuiltRequest> {
        self.openai.list_request(headers, key)
    }
}

/// Keys are sent as Anthropic's own client for Azure does. Tokens of Entra ID are JSON web tokens.
fn set_claude_key(headers: &mut HeaderMap, key: &SecretText) -> Result<(), KeyError> {
    let text = key.expose();
    if text.starts_with("eyJ") && text.contains('.') {
        return headers::set_bearer(headers, key);
    }
    headers::set_key(headers, headers::API_KEY, key)?;
    headers::set_key(headers, headers::X_API_KEY, key)
}
