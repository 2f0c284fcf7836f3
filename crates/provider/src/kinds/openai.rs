//! OpenAI's API, and any server compatible with it at an address of its own. Kinds of vendors
//! that are compatible with it are made from this one.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{KindOptions, ProviderConfigError};
use crate::descriptor::{
    BaseUrl, ConfigPaths, KindBackend, KindDescriptor, LitellmModel, LitellmNames, OptionError,
    OptionsType, UpstreamSettings, WrittenOptions,
};
use crate::upstream::{OPENAI_HOST, OpenAi, Upstream};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "OpenAI's API. With another `base_url`, any server that is compatible with it; such a \
            server needs no key.",
    key_variables: &["OPENAI_API_KEY"],
    base_url: BaseUrl::Fixed("https://api.openai.com/v1"),
    model_prefixes: &["gpt-", "chatgpt-", "codex-", "o1", "o3", "o4-"],
    litellm: LitellmNames {
        bare_models: &[
            "gpt-",
            "chatgpt-",
            "codex-",
            "o1",
            "o3",
            "o4",
            "ft:gpt-",
            "text-embedding-3-",
            "text-embedding-ada-",
            "omni-moderation-",
            "dall-e-",
            "whisper-",
            "tts-",
        ],
        read_model: Some(read_litellm_model),
        ..LitellmNames::with_prefixes(&["openai"])
    },
    example: "api_key = \"env:OPENAI_API_KEY\"\n",
    example_models: &["gpt-5.1"],
    ..KindDescriptor::new(
        "openai",
        "OpenAI",
        OptionsType::new::<OpenAiOptions>(),
        KindBackend::Http(build),
    )
};

/// Options of a server compatible with OpenAI's.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OpenAiOptions {
    /// Whether it has `/responses`. Default: only OpenAI itself does.
    pub responses: Option<bool>,
}

impl KindOptions for OpenAiOptions {
    fn kind() -> &'static KindDescriptor {
        &KIND
    }
}

impl WrittenOptions for OpenAiOptions {
    type Options = Self;

    fn check(self, _: &ConfigPaths<'_>) -> Result<Self, OptionError> {
        Ok(self)
    }
}

/// `openai/responses/…` asks for the Responses API, which is chosen by model and client here.
fn read_litellm_model(_: &str, model: &str) -> LitellmModel {
    LitellmModel {
        model: model.strip_prefix("responses/").unwrap_or(model).to_owned(),
        settings: Vec::new(),
    }
}

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &OpenAiOptions = settings.options()?;
    Ok(Box::new(build_openai(settings, options.responses)?))
}

/// The upstream at the address of the settings.
pub(super) fn build_openai(
    settings: &UpstreamSettings<'_>,
    responses: Option<bool>,
) -> Result<OpenAi, ProviderConfigError> {
    let base = settings.base()?;
    let is_openai = base.host_str() == Some(OPENAI_HOST);
    let upstream = OpenAi::new(base, responses.unwrap_or(is_openai));
    upstream.map_err(|error| settings.bad_url_error(error))
}

/// A vendor whose API is compatible with OpenAI's.
pub(super) const fn compatible(
    name: &'static str,
    title: &'static str,
    key_variables: &'static [&'static str],
    base_url: BaseUrl,
) -> KindDescriptor {
    KindDescriptor {
        key_variables,
        base_url,
        ..KindDescriptor::new(
            name,
            title,
            OptionsType::new::<OpenAiOptions>(),
            KindBackend::Http(build),
        )
    }
}
