//! Any other server that is compatible with OpenAI.

use super::openai::compatible;
use crate::descriptor::{BaseUrl, KindDescriptor, LitellmNames};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    aliases: &["openai_compatible", "openai_like"],
    about: "Any server that is compatible with OpenAI, at an address that must be configured. It needs no key.",
    provider: None,
    litellm: LitellmNames::with_prefixes(&["openai_like", "custom_openai"]),
    example: "base_url = \"http://models.acme.example/v1\"\n",
    ..compatible("compatible", "OpenAI-compatible", &[], BaseUrl::Required)
};
