//! NVIDIA NIM, hosted by NVIDIA or by anybody, compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    litellm: LitellmNames::with_prefixes(&["nvidia_nim"]),
    example: "api_key = \"env:NVIDIA_NIM_API_KEY\"\n",
    example_models: &["meta/llama-3.3-70b-instruct"],
    ..compatible(
        "nvidia_nim",
        "NVIDIA NIM",
        &["NVIDIA_NIM_API_KEY"],
        BaseUrl::Variables {
            names: &["NVIDIA_NIM_API_BASE"],
            default: Some("https://integrate.api.nvidia.com/v1"),
        },
    )
};
