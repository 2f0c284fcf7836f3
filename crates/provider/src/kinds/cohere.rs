//! Cohere, through its OpenAI-compatible API.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "Cohere's models, through its OpenAI-compatible API.",
    litellm: LitellmNames::with_prefixes(&["cohere_chat", "cohere"]),
    example: "api_key = \"env:CO_API_KEY\"\n",
    example_models: &["command-a-03-2025"],
    ..compatible(
        "cohere",
        "Cohere",
        &["CO_API_KEY", "COHERE_API_KEY"],
        BaseUrl::Fixed("https://api.cohere.ai/compatibility/v1"),
    )
};
