//! LM Studio on this or another machine, compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "A local LM Studio server; it needs no key.",
    litellm: LitellmNames::with_prefixes(&["lm_studio"]),
    key_optional: true,
    ready_variables: Some(&[]),
    example: "base_url = \"http://127.0.0.1:1234/v1\"\n",
    ..compatible(
        "lm_studio",
        "LM Studio",
        &["LM_STUDIO_API_KEY"],
        BaseUrl::Variables {
            names: &["LM_STUDIO_API_BASE"],
            default: Some("http://127.0.0.1:1234/v1"),
        },
    )
};
