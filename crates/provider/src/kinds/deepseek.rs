//! DeepSeek, compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    litellm: LitellmNames::with_prefixes(&["deepseek"]),
    example: "api_key = \"env:DEEPSEEK_API_KEY\"\n",
    example_models: &["deepseek-chat"],
    ..compatible(
        "deepseek",
        "DeepSeek",
        &["DEEPSEEK_API_KEY"],
        BaseUrl::Fixed("https://api.deepseek.com/v1"),
    )
};
