//! Fireworks AI, compatible with OpenAI, with long responses as streams only.

use super::openai::{OpenAiOptions, build_openai, compatible};
use crate::config::ProviderConfigError;
use crate::descriptor::{BaseUrl, KindBackend, KindDescriptor, LitellmNames, UpstreamSettings};
use crate::upstream::Upstream;

/// It refuses a request for more tokens that is not streamed.
const MAX_WHOLE_TOKENS: u64 = 4096;

pub(super) static KIND: KindDescriptor = KindDescriptor {
    aliases: &["fireworks"],
    litellm: LitellmNames::with_prefixes(&["fireworks_ai"]),
    example: "api_key = \"env:FIREWORKS_API_KEY\"\n",
    example_models: &["accounts/fireworks/models/deepseek-v3"],
    backend: KindBackend::Http(build),
    ..compatible(
        "fireworks_ai",
        "Fireworks AI",
        &["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"],
        BaseUrl::Fixed("https://api.fireworks.ai/inference/v1"),
    )
};

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &OpenAiOptions = settings.options()?;
    let mut upstream = build_openai(settings, options.responses)?;
    upstream.max_whole_tokens = Some(MAX_WHOLE_TOKENS);
    Ok(Box::new(upstream))
}
