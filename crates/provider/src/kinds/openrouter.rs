//! OpenRouter: compatible with OpenAI, with headers that name the application and an accounting
//! of its own. Its fields for routing (`provider`, `models`, `transforms`, …) pass unchanged.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::raw::{Edit, RawObject};
use prowess_wire::{ClientDialect, Dialect, WriteOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::openai::build_openai;
use crate::config::{KindOptions, ProviderConfigError};
use crate::descriptor::{
    BaseUrl, ConfigPaths, KindBackend, KindDescriptor, LitellmNames, OptionError, OptionsType,
    UpstreamSettings, WrittenOptions,
};
use crate::key::SecretText;
use crate::upstream::{BodyOrigin, BuiltRequest, ModelTask, OpenAi, Upstream, UpstreamJob};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "Models of many vendors behind one key. The fields that choose among them (`provider`, \
            `models`, `transforms`) pass unchanged from Chat Completions clients.",
    key_variables: &["OPENROUTER_API_KEY"],
    base_url: BaseUrl::Fixed("https://openrouter.ai/api/v1"),
    litellm: LitellmNames::with_prefixes(&["openrouter"]),
    example: "api_key = \"env:OPENROUTER_API_KEY\"\nreferer = \"https://acme.example\"\ntitle = \"Acme\"\n",
    example_models: &["anthropic/claude-opus-4.5"],
    ..KindDescriptor::new(
        "openrouter",
        "OpenRouter",
        OptionsType::new::<OpenRouterOptions>(),
        KindBackend::Http(build),
    )
};

/// Options of OpenRouter.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OpenRouterOptions {
    /// The address of the application, sent as `HTTP-Referer` unless the client sends its own.
    pub referer: Option<String>,
    /// The name of the application, sent as `X-Title` unless the client sends its own.
    pub title: Option<String>,
    /// Whether requests that Prowess writes itself ask for OpenRouter's accounting
    /// (`usage.include`), which adds its cost and cached tokens to the usage. Requests that
    /// pass unchanged ask for it themselves.
    pub include_usage: bool,
    /// Whether `/responses` is used for clients of the Responses API.
    pub responses: bool,
}

impl KindOptions for OpenRouterOptions {
    fn kind() -> &'static KindDescriptor {
        &KIND
    }
}

impl WrittenOptions for OpenRouterOptions {
    type Options = Self;

    fn check(self, _: &ConfigPaths<'_>) -> Result<Self, OptionError> {
        Ok(self)
    }
}

const REFERER: HeaderName = HeaderName::from_static("http-referer");
const TITLE: HeaderName = HeaderName::from_static("x-title");

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &OpenRouterOptions = settings.options()?;
    let mut headers = Vec::new();
    if let Some(referer) = &options.referer {
        headers.push((REFERER, settings.header_value("referer", referer)?));
    }
    if let Some(title) = &options.title {
        headers.push((TITLE, settings.header_value("title", title)?));
    }
    Ok(Box::new(OpenRouter {
        openai: build_openai(settings, Some(options.responses))?,
        headers,
        include_usage: options.include_usage,
    }))
}

#[derive(Debug)]
struct OpenRouter {
    openai: OpenAi,
    /// Headers that name the application.
    headers: Vec<(HeaderName, HeaderValue)>,
    include_usage: bool,
}

impl Upstream for OpenRouter {
    fn base(&self) -> &Url {
        self.openai.base()
    }

    fn supports_pass_through(&self, client: ClientDialect, task: ModelTask, model: &str) -> bool {
        self.openai.supports_pass_through(client, task, model)
    }

    fn dialect(&self, _: &str, origin: Dialect) -> Dialect {
        self.openai.dialect_by_client(origin)
    }

    /// It counts no tokens, with or without `/responses`.
    fn token_counter_dialect(&self, _: &str) -> Option<Dialect> {
        None
    }

    fn embedding_dialect(&self, model: &str) -> Option<EmbeddingDialect> {
        self.openai.embedding_dialect(model)
    }

    fn default_write_options(&self) -> WriteOptions {
        self.openai.default_write_options()
    }

    fn request(&self, mut job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        for (name, value) in &self.headers {
            job.headers.entry(name).or_insert_with(|| value.clone());
        }
        let is_ours = job.body_origin == BodyOrigin::Gateway && job.task == ModelTask::Generate;
        if self.include_usage && is_ours {
            job.body = with_usage(job.body);
        }
        self.openai.request(job, key)
    }

    fn list_request(&self, headers: HeaderMap, key: Option<&SecretText>) -> Option<BuiltRequest> {
        self.openai.list_request(headers, key)
    }
}

/// A body that asks for the accounting.
fn with_usage(body: Bytes) -> Bytes {
    match RawObject::parse(&body) {
        Ok(raw) => raw
            .with_edits(&[Edit::Set("usage", r#"{"include":true}"#)])
            .into(),
        // Not a JSON object: the upstream will reject it.
        Err(_) => body.clone(),
    }
}
