//! Mistral, compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    telemetry_name: "mistral_ai",
    litellm: LitellmNames::with_prefixes(&["mistral"]),
    example: "api_key = \"env:MISTRAL_API_KEY\"\n",
    example_models: &["mistral-large-latest"],
    ..compatible(
        "mistral",
        "Mistral",
        &["MISTRAL_API_KEY"],
        BaseUrl::Fixed("https://api.mistral.ai/v1"),
    )
};
