//! Vendors that LiteLLM knows by a prefix of its own. They are compatible with OpenAI, so a
//! provider with their address is all they need.

/// A vendor.
pub(super) struct CompatibleVendor {
    /// The prefix of its models, and the name of the provider.
    pub(super) prefix: &'static str,
    pub(super) address: &'static str,
    /// Where LiteLLM reads the key from that a model does not name.
    pub(super) key_variable: &'static str,
}

static VENDORS: [CompatibleVendor; 10] = [
    vendor("ai21", "https://api.ai21.com/studio/v1", "AI21_API_KEY"),
    vendor(
        "dashscope",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
    ),
    vendor(
        "deepinfra",
        "https://api.deepinfra.com/v1/openai",
        "DEEPINFRA_API_KEY",
    ),
    vendor(
        "hyperbolic",
        "https://api.hyperbolic.xyz/v1",
        "HYPERBOLIC_API_KEY",
    ),
    vendor("minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    vendor("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    vendor(
        "novita",
        "https://api.novita.ai/v3/openai",
        "NOVITA_API_KEY",
    ),
    vendor(
        "sambanova",
        "https://api.sambanova.ai/v1",
        "SAMBANOVA_API_KEY",
    ),
    vendor(
        "volcengine",
        "https://ark.cn-beijing.volces.com/api/v3",
        "VOLCENGINE_API_KEY",
    ),
    vendor("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
];

const fn vendor(
    prefix: &'static str,
    address: &'static str,
    key_variable: &'static str,
) -> CompatibleVendor {
    CompatibleVendor {
        prefix,
        address,
        key_variable,
    }
}

/// The vendor whose models have this prefix.
pub(super) fn find(prefix: &str) -> Option<&'static CompatibleVendor> {
    VENDORS.iter().find(|vendor| vendor.prefix == prefix)
}
