//! Fireworks AI, compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    aliases: &["fireworks"],
    litellm: LitellmNames::with_prefixes(&["fireworks_ai"]),
    example: "api_key = \"env:FIREWORKS_API_KEY\"\n",
    example_models: &["accounts/fireworks/models/deepseek-v3"],
    ..compatible(
        "fireworks_ai",
        "Fireworks AI",
        &["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"],
        BaseUrl::Fixed("https://api.fireworks.ai/inference/v1"),
    )
};
