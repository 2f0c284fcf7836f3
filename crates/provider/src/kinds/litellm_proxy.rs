//! A LiteLLM proxy.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "A LiteLLM proxy, through its OpenAI-compatible API.",
    litellm: LitellmNames::with_prefixes(&["litellm_proxy"]),
    key_optional: true,
    ready_variables: Some(&["LITELLM_PROXY_API_BASE"]),
    example: "base_url = \"http://127.0.0.1:4000\"\napi_key = \"env:LITELLM_PROXY_API_KEY\"\n",
    ..compatible(
        "litellm_proxy",
        "LiteLLM proxy",
        &["LITELLM_PROXY_API_KEY"],
        BaseUrl::Variables {
            names: &["LITELLM_PROXY_API_BASE"],
            default: None,
        },
    )
};
