//! What depends on the server that runs a model: which thoughts it wants back, and how.

/// What is known of a server by its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Server {
    /// Whether it wants all thoughts back as `reasoning_content`, and refuses messages
    /// with calls that have none.
    pub(super) wants_thoughts: bool,
    /// Whether it takes `reasoning_details` back.
    pub(super) takes_details: bool,
    /// Whether it is Google's own, which takes signatures in `extra_content`.
    pub(super) is_google: bool,
    /// Whether it is the vendor's own server of the models it runs.
    pub(super) is_vendor: bool,
    /// Whether effort is for it a switch, `none` or nothing, with models of this family.
    pub(super) effort_switch: Option<&'static str>,
    /// Whether it knows the old name of the limit with every model.
    pub(super) old_limit: bool,
}

/// What is known of the server at this host.
pub(super) fn server(host: &str) -> Server {
    let is = |domain: &str| {
        let rest = host.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let unknown = Server::default();
    if is("deepseek.com") || is("moonshot.ai") || is("moonshot.cn") || is("kimi.com") {
        return Server {
            wants_thoughts: true,
            is_vendor: true,
            ..unknown
        };
    }
    if is("z.ai") || is("bigmodel.cn") {
        return Server {
            is_vendor: true,
            ..unknown
        };
    }
    if is("openrouter.ai") || is("ai-gateway.vercel.sh") {
        return Server {
            takes_details: true,
            old_limit: true,
            ..unknown
        };
    }
    if is("minimax.io") || is("minimaxi.com") {
        return Server {
            takes_details: true,
            ..unknown
        };
    }
    if is("googleapis.com") {
        return Server {
            is_google: true,
            ..unknown
        };
    }
    if is("groq.com") {
        return Server {
            effort_switch: Some("qwen"),
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
        assert!(server("api.deepseek.com").wants_thoughts);
        assert!(server("api.moonshot.cn").wants_thoughts);
        assert!(server("openrouter.ai").takes_details);
        assert!(server("generativelanguage.googleapis.com").is_google);
        assert_eq!(server("notdeepseek.com"), Server::default());
        assert_eq!(server("deepseek.com.example.org"), Server::default());
        assert_eq!(server("127.0.0.1"), Server::default());
    }
}
