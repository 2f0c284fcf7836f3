//! Models of other vendors than OpenAI on Azure (Foundry), compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "Models of other vendors on Azure, through their OpenAI-compatible API.",
    telemetry_name: "azure.ai.inference",
    litellm: LitellmNames::with_prefixes(&["azure_ai"]),
    complete_base_url: Some(complete),
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

/// People write the address of the resource alone, or with the path of the older API.
fn complete(written: &str) -> String {
    let base = written.trim_end_matches('/');
    let resource = base.strip_suffix("/models").unwrap_or(base);
    match resource.ends_with(".services.ai.azure.com") {
        true => format!("{resource}/openai/v1"),
        false => written.to_owned(),
    }
}
