//! Models of other vendors than OpenAI on Azure (Foundry), compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "Models of other vendors on Azure, through their OpenAI-compatible API.",
    telemetry_name: "azure.ai.inference",
    litellm: LitellmNames::with_prefixes(&["azure_ai"]),
    example: "base_url = \"https://acme.services.ai.azure.com/openai/v1\"\napi_key = \"env:AZURE_AI_API_KEY\"\n",
    example_models: &["mistral-large"],
    ..compatible(
        "azure_ai",
        "Azure AI",
        &["AZURE_AI_API_KEY"],
        BaseUrl::Variables {
            names: &["AZURE_AI_API_BASE"],
            default: None,
        },
    )
};
