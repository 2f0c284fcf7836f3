//! The betas of Anthropic's API that its models have on Bedrock and on Vertex. Both refuse a
//! request that names any other, while clients such as Claude Code name those of Anthropic's own
//! servers.

use super::host::AnthropicHost;

/// Those of Bedrock.
const BEDROCK: [&str; 19] = [
    "compact-2026-01-12",
    "computer-use-2024-10-22",
    "computer-use-2025-01-24",
    "computer-use-2025-11-24",
    "context-1m-2025-08-07",
    "context-management-2025-06-27",
    "dangerous-tool-use-2026-09-03",
    "dev-full-thinking-2025-05-14",
    "effort-2025-11-24",
    "fine-grained-tool-streaming-2025-05-14",
    "interleaved-thinking-2025-05-14",
    "mid-conversation-output-config-2026-07-01",
    "mid-conversation-tool-changes-2026-07-01",
    "output-128k-2025-02-19",
    "thinking-binding-controls-2026-08-01",
    "thinking-display-updates-2026-08-18",
    "token-efficient-tools-2025-02-19",
    "tool-examples-2025-10-29",
    TOOL_SEARCH,
];

/// Those of Vertex.
const VERTEX: [&str; 13] = [
    "compact-2026-01-12",
    "compact-2026-09-04",
    "computer-use-2025-01-24",
    "computer-use-2025-11-24",
    "context-1m-2025-08-07",
    "context-management-2025-06-27",
    "dangerous-tool-use-2026-09-03",
    "interleaved-thinking-2025-05-14",
    "per-turn-control-2026-07-01",
    "thinking-binding-controls-2026-08-01",
    "thinking-display-updates-2026-08-18",
    TOOL_SEARCH,
    "web-search-2025-03-05",
];

const TOOL_SEARCH: &str = "tool-search-tool-2025-10-19";

/// Anthropic's own name of a beta that the hosts call otherwise.
const TOOL_SEARCH_AT_ANTHROPIC: &str = "advanced-tool-use-2025-11-20";

impl AnthropicHost {
    /// The host's name for a beta; `None` if it would refuse a request with it.
    #[must_use]
    pub fn accepted_beta(self, beta: &str) -> Option<&'static str> {
        let beta = match beta {
            TOOL_SEARCH_AT_ANTHROPIC => TOOL_SEARCH,
            beta => beta,
        };
        let known: &[&'static str] = match self {
            AnthropicHost::Bedrock => &BEDROCK,
            AnthropicHost::Vertex => &VERTEX,
        };
        known.iter().copied().find(|known| *known == beta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn betas_of_anthropics_own_servers_are_not_accepted_elsewhere() {
        for host in [AnthropicHost::Bedrock, AnthropicHost::Vertex] {
            for beta in [
                "claude-code-20250219",
                "oauth-2025-04-20",
                "prompt-caching-scope-2026-01-05",
                "not-made-yet-2030-01-01",
            ] {
                assert_eq!(host.accepted_beta(beta), None, "{host:?} {beta}");
            }
            let search = host.accepted_beta("advanced-tool-use-2025-11-20");
            assert_eq!(search, Some("tool-search-tool-2025-10-19"), "{host:?}");
        }
        let effort = "effort-2025-11-24";
        assert_eq!(AnthropicHost::Bedrock.accepted_beta(effort), Some(effort));
        assert_eq!(AnthropicHost::Vertex.accepted_beta(effort), None);
    }
}
