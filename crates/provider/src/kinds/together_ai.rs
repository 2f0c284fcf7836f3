//! Together AI, compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    aliases: &["together"],
    litellm: LitellmNames::with_prefixes(&["together_ai"]),
    example: "api_key = \"env:TOGETHER_API_KEY\"\n",
    example_models: &["meta-llama/Llama-3.3-70B-Instruct-Turbo"],
    ..compatible(
        "together_ai",
        "Together AI",
        &["TOGETHER_API_KEY", "TOGETHERAI_API_KEY"],
        BaseUrl::Fixed("https://api.together.xyz/v1"),
    )
};
