//! Mistral, compatible with OpenAI, with rules of its own for ids and the order of messages.

use super::openai::{OpenAiOptions, build_openai, compatible};
use crate::config::ProviderConfigError;
use crate::descriptor::{BaseUrl, KindBackend, KindDescriptor, LitellmNames, UpstreamSettings};
use crate::upstream::Upstream;

pub(super) static KIND: KindDescriptor = KindDescriptor {
    telemetry_name: "mistral_ai",
    litellm: LitellmNames::with_prefixes(&["mistral"]),
    example: "api_key = \"env:MISTRAL_API_KEY\"\n",
    example_models: &["mistral-large-latest"],
    backend: KindBackend::Http(build),
    ..compatible(
        "mistral",
        "Mistral",
        &["MISTRAL_API_KEY"],
        BaseUrl::Fixed("https://api.mistral.ai/v1"),
    )
};

fn build(settings: &UpstreamSettings<'_>) -> Result<Box<dyn Upstream>, ProviderConfigError> {
    let options: &OpenAiOptions = settings.options()?;
    let mut upstream = build_openai(settings, options.responses)?;
    upstream.mistral_rules = true;
    Ok(Box::new(upstream))
}
