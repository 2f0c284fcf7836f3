//! Google's Gemini API.

use http::HeaderMap;
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::raw::{Edit, RawObject};
use prowess_wire::{ClientDialect, Dialect};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use crate::config::{KindOptions, ProviderConfigError};
use crate::descriptor::{
    BaseUrl, ConfigPaths, KindBackend, KindDescriptor, LitellmNames, OptionError, OptionsType,
    UpstreamSettings, WrittenOptions,
};
use crate::http::headers;
use crate::key::{KeyError, SecretText};
use crate::upstream::{
    BodyOrigin, BuiltRequest, ModelTask, Upstream, UpstreamJob, append_segments, get, post,
};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "Google's Gemini API, with a key of AI Studio.",
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    base_url: BaseUrl::Fixed("https://generativelanguage.googleapis.com"),
    authentication: "`x-goog-api-key`",
    telemetry_name: "gcp.gemini",
    model_prefixes: &["gemini-"],
    litellm: LitellmNames::with_prefixes(&["gemini"]),
    complete_base_url: Some(complete),
    example: "api_key = \"env:GEMINI_API_KEY\"\n",
    example_models: &["gemini-3-pro"],
    ..KindDescriptor::new(
        "gemini",
        "Gemini",
        OptionsType::new::<GeminiOptions>(),
        KindBackend::Http(build),
    )
};

/// Options of Gemini.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GeminiOptions {
    /// The API version in the path.
    pub api_version: String,
}

impl Default for GeminiOptions {
    fn default() -> Self {
        GeminiOptions {
            api_version: "v1beta".to_owned(),
        }
    }
}

impl KindOptions for GeminiOptions {
    fn kind() -> &'static KindDescriptor {
        &KIND
    }
}

impl WrittenOptions for GeminiOptions {
    type Options = Self;

    fn check(self, _: &ConfigPaths<'_>) -> Result<Self, OptionError> {
        Ok(self)
    }
}

/// Other providers' addresses contain the version, so people write it here too.
fn complete(written: &str) -> String {
    let base = written.trim_end_matches('/');
    let mut versions = ["/v1", "/v1alpha", "/v1beta"].iter();
    let host = versions.find_map(|version| base.strip_suffix(version));
    host.unwrap_or(written).to_owned()
}

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &GeminiOptions = settings.options()?;
    Ok(Box::new(Gemini {
        base: settings.base()?,
        api_version: options.api_version.clone(),
    }))
}

#[derive(Debug)]
struct Gemini {
    base: Url,
    api_version: String,
}

impl Gemini {
    /// The request to be counted, including its model, is nested in another.
    fn count_request(&self, mut job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        let operation = format!("{}:countTokens", job.model);
        let url = append_segments(&self.base, [&self.api_version, "models", &operation]);
        self.authorize(&mut job.headers, key)?;
        if job.body_origin != BodyOrigin::Gateway {
            return Ok(post(url, job.headers, job.body));
        }
        let model = serde_json::Value::from(format!("models/{}", job.model)).to_string();
        let body = match RawObject::parse(&job.body) {
            Ok(raw) => raw.with_edits(&[Edit::Set("model", &model)]),
            Err(_) => job.body.to_vec(),
        };
        let body = [b"{\"generateContentRequest\":", body.as_slice(), b"}"].concat();
        Ok(post(url, job.headers, body.into()))
    }
}

impl Upstream for Gemini {
    fn base(&self) -> &Url {
        &self.base
    }

    fn supports_pass_through(&self, client: ClientDialect, _: ModelTask, _: &str) -> bool {
        client == ClientDialect::Gemini
    }

    fn dialect(&self, _: &str, _: Dialect) -> Dialect {
        Dialect::Gemini
    }

    fn token_counter_dialect(&self, _: &str) -> Option<Dialect> {
        Some(Dialect::Gemini)
    }

    fn embedding_dialect(&self, _: &str) -> Option<EmbeddingDialect> {
        Some(EmbeddingDialect::Gemini)
    }

    fn authorize(&self, headers: &mut HeaderMap, key: Option<&SecretText>) -> Result<(), KeyError> {
        match key {
            Some(key) => headers::set_key(headers, headers::X_GOOG_API_KEY, key),
            None => Ok(()),
        }
    }

    fn request(&self, mut job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        if job.task == ModelTask::CountTokens {
            return self.count_request(job, key);
        }
        let operation = match job.task {
            ModelTask::Embed => format!("{}:batchEmbedContents", job.model),
            _ => operation(job.model, job.stream),
        };
        let mut url = append_segments(&self.base, [&self.api_version, "models", &operation]);
        if has_events(&job) {
            url.set_query(Some("alt=sse"));
        }
        self.authorize(&mut job.headers, key)?;
        Ok(post(url, job.headers, job.body))
    }

    fn list_request(
        &self,
        mut headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Option<BuiltRequest> {
        let mut url = append_segments(&self.base, [self.api_version.as_str(), "models"]);
        url.set_query(Some("pageSize=1000"));
        let authorized = self.authorize(&mut headers, key);
        Some(authorized.map(|()| get(url, headers)))
    }
}

/// The last segment of the path: model and method.
pub(super) fn operation(model: &str, stream: bool) -> String {
    let method = if stream {
        "streamGenerateContent"
    } else {
        "generateContent"
    };
    format!("{model}:{method}")
}

/// Whether the response is an event stream: a client may also request one JSON array.
pub(super) fn has_events(job: &UpstreamJob<'_>) -> bool {
    job.stream && job.body_origin != (BodyOrigin::Client { json_array: true })
}
