//! Mounts: the path prefixes below which the same routes are served.
//!
//! Each vendor's API is served as the vendor has it, and with its dialect in the path. Some
//! clients send their base URL's version twice. LiteLLM's clients omit it.

/// Prefixes that always go together.
pub(crate) type MountGroup = &'static [&'static str];

/// Where a header or the path selects the vendor's dialect.
const SHARED: MountGroup = &["/v1", "/v1/v1"];
const ANTHROPIC: MountGroup = &["/anthropic/v1", "/anthropic/v1/v1"];
const OPENAI: MountGroup = &["/openai/v1", "/openai/v1/v1"];
const GOOGLE: MountGroup = &[
    "/v1beta",
    "/v1beta/v1beta",
    "/v1alpha",
    "/gemini/v1",
    "/gemini/v1beta",
    "/gemini/v1beta/v1beta",
    "/gemini/v1alpha",
];
/// No prefix.
const ROOT: MountGroup = &[""];

/// Every prefix, once.
pub(crate) const ALL: &[MountGroup] = &[ROOT, SHARED, ANTHROPIC, OPENAI, GOOGLE];

/// Both vendors' APIs.
pub(crate) const VENDORS: &[MountGroup] = &[SHARED, ANTHROPIC, OPENAI];
/// Both vendors' APIs, and what LiteLLM serves without a version.
pub(crate) const VENDORS_AND_ROOT: &[MountGroup] = &[SHARED, ANTHROPIC, OPENAI, ROOT];
/// What Anthropic's API does not have.
pub(crate) const OPENAI_AND_ROOT: &[MountGroup] = &[SHARED, OPENAI, ROOT];
/// What all three vendors' APIs have.
pub(crate) const EVERYWHERE: &[MountGroup] = ALL;
/// Google's API only.
pub(crate) const GOOGLE_ONLY: &[MountGroup] = &[GOOGLE];
/// At its own path only.
pub(crate) const ROOT_ONLY: &[MountGroup] = &[ROOT];
