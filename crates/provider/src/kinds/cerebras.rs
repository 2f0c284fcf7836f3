//! Cerebras, compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    litellm: LitellmNames::with_prefixes(&["cerebras"]),
    example: "api_key = \"env:CEREBRAS_API_KEY\"\n",
    example_models: &["llama-3.3-70b"],
    ..compatible(
        "cerebras",
        "Cerebras",
        &["CEREBRAS_API_KEY"],
        BaseUrl::Fixed("https://api.cerebras.ai/v1"),
    )
};
