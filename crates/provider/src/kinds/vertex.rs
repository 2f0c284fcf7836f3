//! Vertex AI: Anthropic's and Google's models.

use std::path::PathBuf;

use bytes::Bytes;
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::hosting::{AnthropicHost, hosted_body};
use prowess_wire::raw::{Edit, RawObject};
use prowess_wire::{ClientDialect, Dialect};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::gemini;
use crate::cloud_auth::{GoogleAuth, GoogleAuthOptions, google_is_visible};
use crate::config::{KindOptions, ProviderConfigError};
use crate::descriptor::{
    BaseUrl, ConfigPaths, KindBackend, KindDescriptor, LitellmNames, OptionError, OptionsType,
    UpstreamSettings, WrittenOptions,
};
use crate::http::HttpRequest;
use crate::key::SecretText;
use crate::upstream::{
    Authentication, BuiltRequest, ModelTask, Upstream, UpstreamJob, append_segments, post,
    take_betas,
};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    aliases: &["vertex_ai"],
    about: "Google's and Anthropic's models on Vertex AI. `api_key` is an OAuth access token, for \
            example from a file that another process refreshes; without one, tokens are obtained \
            with Google's own credentials.",
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
    example_models: &["claude-opus-4-5", "gemini-3-pro"],
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
        // Counting takes the model from the body, so it stays there.
        let version = serde_json::Value::from(self.anthropic_version.as_str()).to_string();
        raw.with_edits(&[Edit::Set("anthropic_version", &version)])
            .into()
    }

    fn google_request(&self, mut job: UpstreamJob<'_>) -> HttpRequest {
        take_betas(&mut job.headers);
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

/// The dialect of a model. The vendor follows from the name: all of Anthropic's model names
/// begin alike.
fn model_dialect(model: &str) -> Dialect {
    if model.starts_with("claude") {
        Dialect::Messages
    } else {
        Dialect::Gemini
    }
}

impl Upstream for Vertex {
    fn base(&self) -> &Url {
        &self.base
    }

    fn supports_pass_through(&self, client: ClientDialect, _: ModelTask, model: &str) -> bool {
        match client {
            ClientDialect::Messages | ClientDialect::Gemini => {
                Dialect::from(client) == model_dialect(model)
            }
            ClientDialect::Chat | ClientDialect::Responses => false,
        }
    }

    fn dialect(&self, model: &str, _: Dialect) -> Dialect {
        model_dialect(model)
    }

    fn token_counter_dialect(&self, model: &str) -> Option<Dialect> {
        Some(model_dialect(model))
    }

    fn embedding_dialect(&self, model: &str) -> Option<EmbeddingDialect> {
        (model_dialect(model) == Dialect::Gemini).then_some(EmbeddingDialect::Vertex)
    }

    fn credential_source(&self) -> Option<String> {
        Some(self.tokens.as_ref()?.source_name())
    }

    fn authenticate(&self) -> Option<Authentication<'_>> {
        let tokens = self.tokens.as_ref()?;
        Some(Box::pin(async move { tokens.token().await.map(Some) }))
    }

    fn request(&self, mut job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        self.authorize(&mut job.headers, key)?;
        match job.dialect {
            Dialect::Messages => Ok(self.anthropic_request(job)),
            _ => Ok(self.google_request(job)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
