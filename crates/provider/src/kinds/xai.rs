//! xAI, compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    telemetry_name: "x_ai",
    litellm: LitellmNames::with_prefixes(&["xai"]),
    example: "api_key = \"env:XAI_API_KEY\"\n",
    example_models: &["grok-4"],
    ..compatible(
        "xai",
        "xAI",
        &["XAI_API_KEY"],
        BaseUrl::Fixed("https://api.x.ai/v1"),
    )
};
