//! What depends on the server that runs a model: which thoughts it requires, and how.

/// What is known of a server by its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ServerTraits {
    /// Whether it requires all thoughts as `reasoning_content`, and refuses messages
    /// with calls without it.
    pub(super) requires_reasoning: bool,
    /// Whether it accepts `reasoning_details`.
    pub(super) accepts_reasoning_details: bool,
    /// Whether it sends requests on to the servers of many vendors, and knows their fields.
    pub(super) is_router: bool,
    /// Whether it refuses schemas of responses.
    pub(super) no_response_schemas: bool,
    /// Whether it is Google's own, which accepts signatures in `extra_content`.
    pub(super) is_google: bool,
    /// Whether it is the vendor's own server of the models it runs.
    pub(super) is_vendor: bool,
    /// For models of this family, effort is only a switch: `none` or nothing.
    pub(super) effort_switch: Option<&'static str>,
    /// The families of the models with which it accepts an effort, if not with all.
    pub(super) effort_families: Option<&'static [&'static str]>,
    /// Whether it refuses several messages of the user or the model in a row.
    pub(super) alternating_roles: bool,
    /// Whether it refuses functions of which only some are strict.
    pub(super) uniform_strict: bool,
    /// Fields of a request that it refuses, although most servers accept them.
    pub(super) refused_fields: &'static [&'static str],
    /// Whether it accepts the old name of the limit with every model.
    pub(super) legacy_limit: bool,
    /// Whether it is Mistral's own, which checks messages by its rules, whatever the model is
    /// called, and refuses fields that it does not know.
    pub(super) mistral_rules: bool,
}

/// What is known of the server at this host.
pub(super) fn server_traits(host: &str) -> ServerTraits {
    let is = |domain: &str| {
        let rest = host.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let unknown = ServerTraits::default();
    if is("deepseek.com") || is("moonshot.ai") || is("moonshot.cn") || is("kimi.com") {
        return ServerTraits {
            requires_reasoning: true,
            no_response_schemas: is("deepseek.com"),
            is_vendor: true,
            ..unknown
        };
    }
    if is("z.ai") || is("bigmodel.cn") {
        return ServerTraits {
            is_vendor: true,
            ..unknown
        };
    }
    if is("mistral.ai") {
        return ServerTraits {
            mistral_rules: true,
            ..unknown
        };
    }
    if is("openrouter.ai") || is("ai-gateway.vercel.sh") {
        return ServerTraits {
            accepts_reasoning_details: true,
            is_router: true,
            legacy_limit: true,
            ..unknown
        };
    }
    if is("minimax.io") || is("minimaxi.com") {
        return ServerTraits {
            accepts_reasoning_details: true,
            ..unknown
        };
    }
    if is("googleapis.com") {
        return ServerTraits {
            is_google: true,
            ..unknown
        };
    }
    if is("groq.com") {
        return ServerTraits {
            effort_switch: Some("qwen"),
            effort_families: Some(&["gpt-oss", "qwen"]),
            ..unknown
        };
    }
    if is("cerebras.ai") {
        return ServerTraits {
            uniform_strict: true,
            // Its documentation lists it as refused, and GPT-OSS there refuses `false`.
            refused_fields: &["parallel_tool_calls"],
            ..unknown
        };
    }
    if is("perplexity.ai") {
        return ServerTraits {
            alternating_roles: true,
            ..unknown
        };
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_their_domain_alone() {
        assert!(server_traits("api.deepseek.com").requires_reasoning);
        assert!(server_traits("api.moonshot.cn").requires_reasoning);
        assert!(server_traits("openrouter.ai").accepts_reasoning_details);
        assert!(server_traits("api.mistral.ai").mistral_rules);
        assert!(server_traits("generativelanguage.googleapis.com").is_google);
        assert!(server_traits("api.cerebras.ai").uniform_strict);
        assert_eq!(server_traits("notdeepseek.com"), ServerTraits::default());
        assert_eq!(
            server_traits("deepseek.com.example.org"),
            ServerTraits::default()
        );
        assert_eq!(server_traits("127.0.0.1"), ServerTraits::default());
    }
}
