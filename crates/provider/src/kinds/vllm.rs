//! vLLM: compatible with OpenAI, without a key unless it was started with one, and with a token
//! counter of its own. Its further fields (`guided_json`, `top_k`, …) pass unchanged.

use http::HeaderMap;
use prowess_wire::embeddings::EmbeddingDialect;
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
use crate::upstream::{
    BuiltRequest, ModelTask, OpenAi, Upstream, UpstreamJob, append_segments, post,
};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    aliases: &["hosted_vllm"],
    about: "A vLLM server. It needs a key only if it was started with one. Tokens are counted \
            by its `/tokenize`; fields that only it has (`guided_json`, `top_k`, …) pass \
            unchanged from Chat Completions clients.",
    key_variables: &["VLLM_API_KEY", "HOSTED_VLLM_API_KEY"],
    key_optional: true,
    ready_variables: Some(&["VLLM_API_BASE", "HOSTED_VLLM_API_BASE"]),
    base_url: BaseUrl::Variables {
        names: &["VLLM_API_BASE", "HOSTED_VLLM_API_BASE"],
        default: None,
    },
    litellm: LitellmNames::with_prefixes(&["hosted_vllm", "vllm"]),
    example: "base_url = \"http://127.0.0.1:8000/v1\"\n",
    example_models: &["Qwen/Qwen3-8B"],
    ..KindDescriptor::new(
        "vllm",
        "vLLM",
        OptionsType::new::<VllmOptions>(),
        KindBackend::Http(build),
    )
};

/// Options of vLLM.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VllmOptions {
    /// Whether `/responses` is used for clients of the Responses API.
    pub responses: bool,
}

impl KindOptions for VllmOptions {
    fn kind() -> &'static KindDescriptor {
        &KIND
    }
}

impl WrittenOptions for VllmOptions {
    type Options = Self;

    fn check(self, _: &ConfigPaths<'_>) -> Result<Self, OptionError> {
        Ok(self)
    }
}

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &VllmOptions = settings.options()?;
    let openai = build_openai(settings, Some(options.responses))?;
    // Its own paths are beside those of the compatible API.
    let mut root = openai.base.clone();
    let path = root.path().trim_end_matches('/').to_owned();
    root.set_path(path.strip_suffix("/v1").unwrap_or(&path));
    Ok(Box::new(Vllm { openai, root }))
}

#[derive(Debug)]
struct Vllm {
    openai: OpenAi,
    /// The address without `/v1`.
    root: Url,
}

impl Upstream for Vllm {
    fn base(&self) -> &Url {
        self.openai.base()
    }

    /// A client's count is not passed on: its counter is another one.
    fn supports_pass_through(&self, client: ClientDialect, task: ModelTask, model: &str) -> bool {
        task != ModelTask::CountTokens && self.openai.supports_pass_through(client, task, model)
    }

    fn dialect(&self, _: &str, origin: Dialect) -> Dialect {
        self.openai.dialect_by_client(origin)
    }

    fn token_counter_dialect(&self, _: &str) -> Option<Dialect> {
        Some(Dialect::Chat)
    }

    fn embedding_dialect(&self, model: &str) -> Option<EmbeddingDialect> {
        self.openai.embedding_dialect(model)
    }

    fn needs_key(&self) -> bool {
        false
    }

    fn default_write_options(&self) -> WriteOptions {
        self.openai.default_write_options()
    }

    fn request(&self, mut job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        if job.task != ModelTask::CountTokens {
            return self.openai.request(job, key);
        }
        self.authorize(&mut job.headers, key)?;
        let url = append_segments(&self.root, ["tokenize"]);
        Ok(post(url, job.headers, job.body))
    }

    fn list_request(&self, headers: HeaderMap, key: Option<&SecretText>) -> Option<BuiltRequest> {
        self.openai.list_request(headers, key)
    }
}
