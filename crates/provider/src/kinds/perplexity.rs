//! Perplexity, compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    litellm: LitellmNames::with_prefixes(&["perplexity"]),
    example: "api_key = \"env:PERPLEXITY_API_KEY\"\n",
    example_models: &["sonar"],
    ..compatible(
        "perplexity",
        "Perplexity",
        &["PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"],
        BaseUrl::Fixed("https://api.perplexity.ai"),
    )
};
