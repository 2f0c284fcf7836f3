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

static VENDORS: [CompatibleVendor; 36] = [
    vendor("ai21", "https://api.ai21.com/studio/v1", "AI21_API_KEY"),
    vendor(
        "ai21_chat",
        "https://api.ai21.com/studio/v1",
        "AI21_API_KEY",
    ),
    vendor("aihubmix", "https://aihubmix.com/v1", "AIHUBMIX_API_KEY"),
    vendor("aiml", "https://api.aimlapi.com/v1", "AIML_API_KEY"),
    vendor(
        "baseten",
        "https://inference.baseten.co/v1",
        "BASETEN_API_KEY",
    ),
    vendor("chutes", "https://llm.chutes.ai/v1", "CHUTES_API_KEY"),
    vendor(
        "codestral",
        "https://codestral.mistral.ai/v1",
        "CODESTRAL_API_KEY",
    ),
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
        "featherless_ai",
        "https://api.featherless.ai/v1",
        "FEATHERLESS_AI_API_KEY",
    ),
    vendor(
        "friendliai",
        "https://api.friendli.ai/serverless/v1",
        "FRIENDLIAI_API_KEY",
    ),
    vendor("gmi", "https://api.gmi-serving.com/v1", "GMI_API_KEY"),
    vendor(
        "hyperbolic",
        "https://api.hyperbolic.xyz/v1",
        "HYPERBOLIC_API_KEY",
    ),
    vendor(
        "inception",
        "https://api.inceptionlabs.ai/v1",
        "INCEPTION_API_KEY",
    ),
    vendor("lambda_ai", "https://api.lambda.ai/v1", "LAMBDA_API_KEY"),
    vendor(
        "meta_llama",
        "https://api.llama.com/compat/v1",
        "LLAMA_API_KEY",
    ),
    vendor("minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    vendor(
        "modelscope",
        "https://api-inference.modelscope.cn/v1",
        "MODELSCOPE_API_KEY",
    ),
    vendor("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    vendor("morph", "https://api.morphllm.com/v1", "MORPH_API_KEY"),
    vendor("nano-gpt", "https://nano-gpt.com/api/v1", "NANOGPT_API_KEY"),
    vendor(
        "nebius",
        "https://api.studio.nebius.ai/v1",
        "NEBIUS_API_KEY",
    ),
    vendor(
        "novita",
        "https://api.novita.ai/v3/openai",
        "NOVITA_API_KEY",
    ),
    vendor(
        "nscale",
        "https://inference.api.nscale.com/v1",
        "NSCALE_API_KEY",
    ),
    vendor("poe", "https://api.poe.com/v1", "POE_API_KEY"),
    vendor("publicai", "https://api.publicai.co/v1", "PUBLICAI_API_KEY"),
    vendor(
        "sambanova",
        "https://api.sambanova.ai/v1",
        "SAMBANOVA_API_KEY",
    ),
    vendor("scaleway", "https://api.scaleway.ai/v1", "SCW_SECRET_KEY"),
    vendor(
        "synthetic",
        "https://api.synthetic.new/openai/v1",
        "SYNTHETIC_API_KEY",
    ),
    vendor(
        "text-completion-openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
    ),
    vendor("v0", "https://api.v0.dev/v1", "V0_API_KEY"),
    vendor(
        "veniceai",
        "https://api.venice.ai/api/v1",
        "VENICE_AI_API_KEY",
    ),
    vendor(
        "vercel_ai_gateway",
        "https://ai-gateway.vercel.sh/v1",
        "VERCEL_AI_GATEWAY_API_KEY",
    ),
    vendor(
        "volcengine",
        "https://ark.cn-beijing.volces.com/api/v3",
        "VOLCENGINE_API_KEY",
    ),
    vendor(
        "wandb",
        "https://api.inference.wandb.ai/v1",
        "WANDB_API_KEY",
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
