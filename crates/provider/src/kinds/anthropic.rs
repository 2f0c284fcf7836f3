//! Anthropic's own API.

use http::uri::InvalidUri;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use prowess_wire::{ClientDialect, Dialect, WriteOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use crate::config::{KindOptions, ProviderConfigError};
use crate::descriptor::{
    BaseUrl, ConfigPaths, KindBackend, KindDescriptor, LitellmNames, OptionError, OptionsType,
    UpstreamSettings, WrittenOptions,
};
use crate::http::{HttpRequest, RequestAddress, headers};
use crate::key::{KeyError, SecretText};
use crate::upstream::{
    BETA_HEADER, BuiltRequest, ModelTask, ProviderFileOperation, SkillsJob, Upstream, UpstreamJob,
    append_segments, get, named_betas, post,
};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "Anthropic's API. Its skills and files are available to clients of every dialect.",
    key_variables: &["ANTHROPIC_API_KEY"],
    base_url: BaseUrl::Fixed("https://api.anthropic.com"),
    authentication: "`x-api-key`; `Authorization: Bearer` for subscription tokens and from version 2026-10-21",
    model_prefixes: &["claude-"],
    litellm: LitellmNames {
        bare_models: &["claude-"],
        ..LitellmNames::with_prefixes(&["anthropic"])
    },
    example: "api_key = \"env:ANTHROPIC_API_KEY\"\n",
    example_models: &["claude-opus-4-5"],
    ..KindDescriptor::new(
        "anthropic",
        "Anthropic",
        OptionsType::new::<AnthropicOptions>(),
        KindBackend::Http(build),
    )
};

/// Options of Anthropic.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AnthropicOptions {
    /// The API version sent when the client names none.
    pub version: String,
}

impl Default for AnthropicOptions {
    fn default() -> Self {
        AnthropicOptions {
            version: "2023-06-01".to_owned(),
        }
    }
}

impl KindOptions for AnthropicOptions {
    fn kind() -> &'static KindDescriptor {
        &KIND
    }
}

impl WrittenOptions for AnthropicOptions {
    type Options = Self;

    fn check(self, _: &ConfigPaths<'_>) -> Result<Self, OptionError> {
        Ok(self)
    }
}

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &AnthropicOptions = settings.options()?;
    let mut base = settings.base()?;
    // Other providers' addresses contain the version, so people write it here too.
    let path = base.path().trim_end_matches('/').to_owned();
    if let Some(path) = path.strip_suffix("/v1") {
        base.set_path(path);
    }
    let version = settings.header_value("version", &options.version)?;
    let upstream = Anthropic::new(base, version);
    Ok(Box::new(
        upstream.map_err(|error| settings.bad_url_error(error))?,
    ))
}

const VERSION_HEADER: HeaderName = HeaderName::from_static("anthropic-version");
/// The beta header that older API versions require for files.
const FILES_BETA: &str = "files-api-2025-04-14";
/// Since this version the SDKs send keys as bearer tokens, and the API rejects sampling
/// parameters.
const BEARER_AUTH_VERSION: &str = "2026-10-21";
/// Subscription tokens are bearer tokens in every version.
const OAUTH_PREFIX: &str = "sk-ant-oat";

#[derive(Debug)]
pub(super) struct Anthropic {
    base: Url,
    version: HeaderValue,
    /// The addresses of its endpoints.
    messages_address: RequestAddress,
    count_address: RequestAddress,
}

impl Anthropic {
    pub(super) fn new(base: Url, version: HeaderValue) -> Result<Anthropic, InvalidUri> {
        let address =
            |path: &[&str]| RequestAddress::try_from(&append_segments(&base, path.iter().copied()));
        Ok(Anthropic {
            messages_address: address(&["v1", "messages"])?,
            count_address: address(&["v1", "messages", "count_tokens"])?,
            base,
            version,
        })
    }

    fn headers(
        &self,
        mut headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Result<HeaderMap, KeyError> {
        self.authorize(&mut headers, key)?;
        Ok(headers)
    }
}

impl Upstream for Anthropic {
    fn base(&self) -> &Url {
        &self.base
    }

    fn supports_pass_through(&self, client: ClientDialect, _: ModelTask, _: &str) -> bool {
        client == ClientDialect::Messages
    }

    fn dialect(&self, _: &str, _: Dialect) -> Dialect {
        Dialect::Messages
    }

    fn token_counter_dialect(&self, _: &str) -> Option<Dialect> {
        Some(Dialect::Messages)
    }

    fn default_write_options(&self) -> WriteOptions {
        WriteOptions {
            sampling: self.version.as_bytes() < BEARER_AUTH_VERSION.as_bytes(),
            ..WriteOptions::default()
        }
    }

    fn authorize(&self, headers: &mut HeaderMap, key: Option<&SecretText>) -> Result<(), KeyError> {
        let version = headers
            .entry(VERSION_HEADER)
            .or_insert_with(|| self.version.clone())
            .as_bytes();
        let uses_bearer = version >= BEARER_AUTH_VERSION.as_bytes();
        match key {
            Some(key) if uses_bearer || key.expose().starts_with(OAUTH_PREFIX) => {
                headers::set_bearer(headers, key)
            }
            Some(key) => headers::set_key(headers, headers::X_API_KEY, key),
            None => Ok(()),
        }
    }

    fn request(&self, job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        let to = match job.task {
            // It has no embeddings; no request for them is sent.
            ModelTask::Generate | ModelTask::Compact | ModelTask::Embed => &self.messages_address,
            ModelTask::CountTokens => &self.count_address,
        };
        Ok(post(to, self.headers(job.headers, key)?, job.body))
    }

    fn list_request(&self, headers: HeaderMap, key: Option<&SecretText>) -> Option<BuiltRequest> {
        let mut url = append_segments(&self.base, ["v1", "models"]);
        url.set_query(Some("limit=1000"));
        Some(self.headers(headers, key).map(|headers| get(url, headers)))
    }

    fn has_file_storage(&self) -> bool {
        true
    }

    fn file_request(
        &self,
        operation: ProviderFileOperation,
        id: &str,
        mut headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Option<BuiltRequest> {
        if !named_betas(&headers).any(|beta| beta == FILES_BETA) {
            headers.append(BETA_HEADER, HeaderValue::from_static(FILES_BETA));
        }
        let content = (operation == ProviderFileOperation::Content).then_some("content");
        let path = ["v1", "files", id].into_iter().chain(content);
        let url = append_segments(&self.base, path);
        let request = self.headers(headers, key).map(|headers| get(url, headers));
        Some(request.map(|request| match operation {
            ProviderFileOperation::Delete => HttpRequest {
                method: Method::DELETE,
                ..request
            },
            _ => request,
        }))
    }

    fn skills_request(&self, job: SkillsJob<'_>, key: &SecretText) -> Option<BuiltRequest> {
        let mut url = self.base.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{}", job.path));
        url.set_query((!job.query.is_empty()).then_some(job.query));
        Some(
            self.headers(job.headers, Some(key))
                .map(|headers| HttpRequest {
                    method: job.method,
                    destination: url.into(),
                    headers,
                    body: job.body,
                }),
        )
    }
}
