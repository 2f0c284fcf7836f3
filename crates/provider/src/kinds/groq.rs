//! Groq: open models, compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    litellm: LitellmNames::with_prefixes(&["groq"]),
    example: "api_key = \"env:GROQ_API_KEY\"\n",
    example_models: &["llama-3.3-70b-versatile"],
    ..compatible(
        "groq",
        "Groq",
        &["GROQ_API_KEY"],
        BaseUrl::Fixed("https://api.groq.com/openai/v1"),
    )
};
