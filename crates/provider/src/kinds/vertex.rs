//! Vertex AI: Anthropic's and Google's models, and those of other vendors, which have OpenAI's Chat
//! API there.

use std::path::PathBuf;

use bytes::Bytes;
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::hosting::{AnthropicHost, counted_body, hosted_body};
use prowess_wire::raw::RawObject;
use prowess_wire::{ClientDialect, Dialect, WriteOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::gemini;
use crate::cloud_auth::{CloudAuth, GoogleAuth, GoogleAuthOptions, google_is_visible};
use crate::config::{KindOptions, ProviderConfigError};
use crate::descriptor::{
    BaseUrl, ConfigPaths, KindBackend, KindDescriptor, LitellmNames, OptionError, OptionsType,
    UpstreamSettings, WrittenOptions,
};
use crate::http::HttpRequest;
use crate::key::SecretText;
use crate::upstream::{
    Authentication, BuiltRequest, ModelTask, Upstream, UpstreamJob, append_segments,
    keep_accepted_betas, post, take_betas,
};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    aliases: &["vertex_ai"],
    about: "Google's and Anthropic's models on Vertex AI, and those of other vendors by the names \
            that Google lists (`meta/llama-…-maas`, `mistral-…`). `api_key` is an OAuth access \
            token, for example from a file that another process refreshes; without one, tokens are \
            obtained with Google's own credentials.",
    provider: Some("vertex_ai"),
    key_variables: &["VERTEXAI_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN"],
    key_optional: true,
    ready_variables: Some(&[
        "VERTEXAI_ACCESS_TOKEN",
        "GOOGLE_OAUTH_ACCESS_TOKEN",
        "GOOGLE_APPLICATION_CREDENTIALS",
    ]),
    has_credentials: Some(google_is_visible),
    base_url: BaseUrl::FromOptions("that of the location"),
    telemetry_name: "gcp.vertex_ai",
    litellm: LitellmNames {
        bare_models: &["gemini-"],
        settings: &[
            ("project", &["vertex_project", "vertex_ai_project"]),
            ("location", &["vertex_location", "vertex_ai_location"]),
            ("credentials", &["vertex_credentials"]),
        ],
        ..LitellmNames::with_prefixes(&["vertex_ai", "vertex_ai_beta"])
    },
    example: "project = \"acme\"\nlocation = \"europe-west1\"\ncredentials = \"key.json\"\n",
    example_models: &[
        "claude-opus-4-5",
        "gemini-3-pro",
        "meta/llama-3.3-70b-instruct-maas",
    ],
    ..KindDescriptor::new(
        "vertex",
        "Vertex AI",
        OptionsType::new::<VertexOptions>(),
        KindBackend::Http(build),
    )
};

/// Options of Vertex AI. An `api_key` is an OAuth access token (for example from a file
/// that another process refreshes); without one, tokens are obtained with Google's
/// credentials.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VertexOptions {
    /// A credentials file: of a service account, a user or an external account. Default:
    /// the file named by `GOOGLE_APPLICATION_CREDENTIALS`, then Google's other standard places.
    pub credentials: Option<PathBuf>,
    /// A service account to impersonate with these credentials.
    pub impersonate: Option<String>,
    /// The project. Default: `VERTEXAI_PROJECT` or `GOOGLE_CLOUD_PROJECT`.
    pub project: Option<String>,
    /// The location. Default: `VERTEXAI_LOCATION` or `GOOGLE_CLOUD_LOCATION`, else
    /// `global`.
    pub location: Option<String>,
    /// `anthropic_version` in the body for Anthropic's models.
    pub anthropic_version: Option<String>,
}

impl KindOptions for VertexOptions {
    fn kind() -> &'static KindDescriptor {
        &KIND
    }
}

impl WrittenOptions for VertexOptions {
    type Options = Self;

    fn check(mut self, paths: &ConfigPaths<'_>) -> Result<Self, OptionError> {
        if let Some(file) = &self.credentials {
            self.credentials = Some(paths.path("credentials", file)?);
        }
        Ok(self)
    }
}

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &VertexOptions = settings.options()?;
    let variables = ["VERTEXAI_PROJECT", "GOOGLE_CLOUD_PROJECT"];
    let project = settings
        .option_or_variable(&options.project, &variables)
        .ok_or_else(|| settings.missing_error("project", "set project or VERTEXAI_PROJECT"))?;
    let variables = ["VERTEXAI_LOCATION", "GOOGLE_CLOUD_LOCATION"];
    let location = settings.option_or_variable(&options.location, &variables);
    let location = location.unwrap_or_else(|| "global".to_owned());
    let host = host(&location);
    let given = GoogleAuthOptions {
        provider: settings.provider,
        credentials: options.credentials.as_deref(),
        impersonate: options.impersonate.as_deref(),
        standard_places: settings.base_url.is_none(),
    };
    let version = options.anthropic_version.clone();
    Ok(Box::new(Vertex {
        base: settings.base_or(&host)?,
        project,
        location,
        anthropic_version: version
            .unwrap_or_else(|| AnthropicHost::Vertex.classic_version().to_owned()),
        tokens: GoogleAuth::build(given, settings.env)?,
    }))
}

/// The address of a location: of all regions, of those of a continent, or of one.
fn host(location: &str) -> String {
    match location {
        "global" => "https://aiplatform.googleapis.com".to_owned(),
        "us" | "eu" => format!("https://aiplatform.{location}.rep.googleapis.com"),
        region => format!("https://{region}-aiplatform.googleapis.com"),
    }
}

/// The counter of tokens refuses this beta, which Claude itself has there.
const WEB_SEARCH_BETA: &str = "web-search-2025-03-05";

#[derive(Debug)]
struct Vertex {
    base: Url,
    project: String,
    location: String,
    anthropic_version: String,
    /// Where tokens come from when no key is configured.
    tokens: Option<GoogleAuth>,
}

impl Vertex {
    fn anthropic_request(&self, mut job: UpstreamJob<'_>) -> HttpRequest {
        let (model, method) = match (job.task, job.stream) {
            (ModelTask::CountTokens, _) => ("count-tokens", "rawPredict"),
            (_, true) => (job.model, "streamRawPredict"),
            (_, false) => (job.model, "rawPredict"),
        };
        let url = self.model_url("anthropic", &format!("{model}:{method}"));
        // Here the version is a field of the body, and differs from the API's own.
        job.headers.remove("anthropic-version");
        let refused = match job.task {
            ModelTask::CountTokens => Some(WEB_SEARCH_BETA),
            _ => None,
        };
        keep_accepted_betas(&mut job.headers, AnthropicHost::Vertex, refused);
        let body = self.anthropic_body(&job);
        post(url, job.headers, body)
    }

    fn anthropic_body(&self, job: &UpstreamJob<'_>) -> Bytes {
        let Ok(raw) = RawObject::parse(&job.body) else {
            // Not a JSON object: the upstream will reject it.
            return job.body.clone();
        };
        if job.task == ModelTask::Generate {
            return hosted_body(&raw, AnthropicHost::Vertex, &self.anthropic_version, &[]).into();
        }
        counted_body(&raw, &self.anthropic_version).into()
    }

    fn google_request(&self, mut job: UpstreamJob<'_>) -> HttpRequest {
        take_betas(&mut job.headers, AnthropicHost::Vertex);
        let operation = match job.task {
            ModelTask::Generate | ModelTask::Compact => gemini::operation(job.model, job.stream),
            ModelTask::CountTokens => format!("{}:countTokens", job.model),
            ModelTask::Embed => format!("{}:predict", job.model),
        };
        let mut url = self.model_url("google", &operation);
        if gemini::has_events(&job) {
            url.set_query(Some("alt=sse"));
        }
        post(url, job.headers, job.body)
    }

    /// The path names the version of a model (`…@001`), the body only the model.
    fn publisher_request(&self, job: UpstreamJob<'_>, publisher: &str) -> HttpRequest {
        let method = match job.stream {
            true => "streamRawPredict",
            false => "rawPredict",
        };
        let url = self.model_url(publisher, &format!("{}:{method}", job.model));
        let body = match (job.model.split_once('@'), RawObject::parse(&job.body)) {
            (Some((name, _)), Ok(raw)) => raw.with_str("model", name).into(),
            _ => job.body.clone(),
        };
        post(url, job.headers, body)
    }

    fn shared_request(&self, job: UpstreamJob<'_>) -> HttpRequest {
        let path = [
            "v1",
            "projects",
            &self.project,
            "locations",
            &self.location,
            "endpoints",
            "openapi",
            "chat",
            "completions",
        ];
        post(append_segments(&self.base, path), job.headers, job.body)
    }

    fn model_url(&self, publisher: &str, operation: &str) -> Url {
        let path = [
            "v1",
            "projects",
            &self.project,
            "locations",
            &self.location,
            "publishers",
            publisher,
            "models",
            operation,
        ];
        append_segments(&self.base, path)
    }
}

/// How a model is called, which depends on its vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelApi {
    Anthropic,
    Google,
    /// The Chat API of a vendor, below the models of this publisher.
    Publisher(&'static str),
    /// The Chat API that all other vendors share.
    Shared,
}

/// Vendors whose models have a path of their own, by how their names begin.
const PUBLISHERS: [(&str, &str); 5] = [
    ("codestral", "mistralai"),
    ("jamba", "ai21"),
    ("ministral", "mistralai"),
    ("mistral", "mistralai"),
    ("mixtral", "mistralai"),
];
const MISTRAL: ModelApi = ModelApi::Publisher("mistralai");
/// Vendors whose models are also listed as `VENDOR/MODEL`, although their paths name the model
/// alone.
const NAMED_VENDORS: [&str; 4] = ["ai21/", "anthropic/", GOOGLE_PREFIX, "mistralai/"];
const GOOGLE_PREFIX: &str = "google/";

/// A model as its path names it.
pub(crate) fn path_name(model: &str) -> &str {
    let mut vendors = NAMED_VENDORS.iter();
    let name = vendors.find_map(|vendor| model.strip_prefix(vendor));
    name.unwrap_or(model)
}

/// The API of a model. The vendor follows from the name: it precedes the model, or all names of
/// its models begin alike.
fn model_api(model: &str) -> ModelApi {
    let name = path_name(model);
    if name.starts_with("claude") {
        return ModelApi::Anthropic;
    }
    if model.starts_with(GOOGLE_PREFIX) {
        return ModelApi::Google;
    }
    let mut publishers = PUBLISHERS.iter();
    match publishers.find(|(start, _)| name.starts_with(start)) {
        Some((_, publisher)) => ModelApi::Publisher(publisher),
        None if is_of_vendor(model) => ModelApi::Shared,
        None => ModelApi::Google,
    }
}

/// Names the model without its vendor, also in the body: Google's bodies do not name it.
fn use_path_name(job: &mut UpstreamJob<'_>, api: ModelApi) {
    let name = path_name(job.model);
    if name == job.model {
        return;
    }
    let named = match RawObject::parse(&job.body) {
        Ok(raw) if api != ModelApi::Google => Some(raw.with_str("model", name)),
        _ => None,
    };
    if let Some(body) = named {
        job.body = body.into();
    }
    job.model = name;
}

/// Whether a name is `VENDOR/MODEL`, and not the path of a resource.
fn is_of_vendor(model: &str) -> bool {
    let mut parts = model.split('/');
    let (vendor, name, more) = (parts.next(), parts.next(), parts.next());
    name.is_some() && more.is_none() && !matches!(vendor, Some("models" | "tunedModels"))
}

/// The dialect of a model.
fn model_dialect(model: &str) -> Dialect {
    match model_api(model) {
        ModelApi::Anthropic => Dialect::Messages,
        ModelApi::Google => Dialect::Gemini,
        ModelApi::Publisher(_) | ModelApi::Shared => Dialect::Chat,
    }
}

impl Upstream for Vertex {
    fn base(&self) -> &Url {
        &self.base
    }

    /// Its addresses follow from the model's own name.
    fn api_name<'m>(&self, model: &'m str, _base: &'m str) -> &'m str {
        model
    }

    fn supports_pass_through(&self, client: ClientDialect, task: ModelTask, model: &str) -> bool {
        let is_same = Dialect::from(client) == model_dialect(model);
        match client {
            ClientDialect::Messages | ClientDialect::Gemini => is_same,
            ClientDialect::Chat => is_same && task == ModelTask::Generate,
            ClientDialect::Responses => false,
        }
    }

    fn dialect(&self, model: &str, _: Dialect) -> Dialect {
        model_dialect(model)
    }

    fn token_counter_dialect(&self, model: &str) -> Option<Dialect> {
        let dialect = model_dialect(model);
        (dialect != Dialect::Chat).then_some(dialect)
    }

    fn embedding_dialect(&self, model: &str) -> Option<EmbeddingDialect> {
        (model_dialect(model) == Dialect::Gemini).then_some(EmbeddingDialect::Vertex)
    }

    fn credential_source(&self) -> Option<String> {
        Some(self.tokens.as_ref()?.source_name())
    }

    fn cloud_auth(&self) -> Option<CloudAuth<'_>> {
        self.tokens.as_ref().map(CloudAuth::Google)
    }

    fn authenticate(&self) -> Option<Authentication<'_>> {
        let tokens = self.tokens.as_ref()?;
        Some(Box::pin(async move { tokens.token().await.map(Some) }))
    }

    fn api_write_options(&self, model: &str) -> WriteOptions {
        let api = model_api(model);
        match api {
            ModelApi::Anthropic | ModelApi::Google => self.default_write_options(),
            ModelApi::Publisher(_) | ModelApi::Shared => WriteOptions {
                legacy_max_tokens: true,
                custom_tools: false,
                openai_fields: false,
                mistral_rules: api == MISTRAL,
                mistral_fields: api == MISTRAL,
                ..WriteOptions::default()
            },
        }
    }

    fn request(&self, mut job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        self.authorize(&mut job.headers, key)?;
        let api = model_api(job.model);
        if api != ModelApi::Shared {
            use_path_name(&mut job, api);
        }
        Ok(match api {
            ModelApi::Anthropic => self.anthropic_request(job),
            ModelApi::Google => self.google_request(job),
            ModelApi::Publisher(publisher) => self.publisher_request(job, publisher),
            ModelApi::Shared => self.shared_request(job),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_of_a_model_follows_from_its_name() {
        for (model, api) in [
            ("claude-opus-4-5@20251101", ModelApi::Anthropic),
            ("gemini-3-pro", ModelApi::Google),
            ("google/gemini-3-pro", ModelApi::Google),
            ("models/gemini-3-pro", ModelApi::Google),
            ("text-embedding-005", ModelApi::Google),
            ("mistral-small-2503@001", MISTRAL),
            ("mistralai/codestral-2@001", MISTRAL),
            ("anthropic/claude-opus-4-5", ModelApi::Anthropic),
            ("ai21/jamba-1.5-large", ModelApi::Publisher("ai21")),
            ("codestral-2", MISTRAL),
            ("jamba-1.5-large@001", ModelApi::Publisher("ai21")),
            ("meta/llama-3.3-70b-instruct-maas", ModelApi::Shared),
            ("deepseek-ai/deepseek-r1-0528-maas", ModelApi::Shared),
        ] {
            assert_eq!(model_api(model), api, "{model}");
        }
    }

    #[test]
    fn each_sort_of_location_has_its_own_form_of_address() {
        for (location, address) in [
            ("global", "https://aiplatform.googleapis.com"),
            ("us", "https://aiplatform.us.rep.googleapis.com"),
            ("eu", "https://aiplatform.eu.rep.googleapis.com"),
            (
                "europe-west1",
                "https://europe-west1-aiplatform.googleapis.com",
            ),
        ] {
            assert_eq!(host(location), address, "{location}");
        }
    }
}
