//! What models support, by their names: the only such table of the project.
//!
//! Names come as providers spell them (`claude-sonnet-4-5@20250929`,
//! `us.anthropic.claude-opus-4-7-v1:0`, `google/gemini-3-pro`); `name` parses them,
//! one file per vendor holds the rows, and `servers` and `bedrock` what depends on the server
//! that runs a model rather than on the model. A name that matches no row is assumed to support
//! everything.

mod bedrock;
mod claude;
mod gemini;
mod name;
mod openai;
mod options;
mod others;
mod servers;

use self::name::ModelName;

/// What is known of a model. The default is a model of which nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Whose model it is.
    pub family: Family,
    /// Which sampling parameters it supports.
    pub sampling: Sampling,
    /// Whether only its vendor's own server is that strict about sampling.
    pub vendor_sampling: bool,
    /// Which effort levels it supports.
    pub efforts: Efforts,
    /// In which modes it thinks, as Anthropic's API names them.
    pub thinking: ThinkingModes,
    /// The thinking budgets it supports, where they are limited.
    pub budgets: Option<Budgets>,
    /// Whether it refuses past calls that carry no thought signature (Gemini).
    pub signed_calls: bool,
    /// Whether it refuses `stop`.
    pub no_stop: bool,
    /// Whether it refuses frequency and presence penalties.
    pub no_penalties: bool,
    /// Whether its limit on tokens is `max_completion_tokens` and nothing else.
    pub completion_limit: bool,
    /// Whether its vendor's own Chat API accepts `thinking: {"type": "disabled"}`.
    pub thinking_switch: bool,
    /// Whether OpenAI's Chat API refuses it, or refuses tools while it reasons. The
    /// Responses API does neither.
    pub needs_responses: bool,
    /// Whether the Responses API returns its reasoning, encrypted, on request.
    pub encrypted_reasoning: bool,
    /// Whether servers check its messages by Mistral's rules: see
    /// [`WriteOptions::mistral_rules`](crate::WriteOptions::mistral_rules).
    pub mistral_rules: bool,
    /// Whether it accepts system messages in the middle of a conversation (Claude).
    pub system_messages: bool,
    /// Whether results of functions may contain media (Gemini), if it is known.
    pub media_in_results: Option<bool>,
    /// Where Bedrock's Converse accepts cache points with it.
    pub cache_points: CachePoints,
    /// Whether Converse refuses the status of tool results with it.
    pub no_result_status: bool,
    /// Whether Converse refuses Claude's own settings with it, such as `thinking`.
    pub no_claude_fields: bool,
    /// Whether Converse refuses `top_k` with it.
    pub no_top_k: bool,
}

/// Whose model it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// Not known.
    #[default]
    Unknown,
    /// Anthropic's.
    Claude,
    /// Google's.
    Gemini,
    /// Amazon's Nova.
    Nova,
    /// A vendor with Chat Completions or Responses as its own API.
    Chat,
}

/// Which of temperature, top_p and top_k a model supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// All of them, as far as is known.
    #[default]
    Any,
    /// Temperature or top_p, not both.
    OneOfTwo,
    /// Those that it supports only when its effort is `none`.
    WithoutReasoning,
    /// None.
    None,
}

/// Which effort levels a model supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Efforts {
    /// Not known: any level is sent.
    #[default]
    Unknown,
    /// None at all.
    None,
    /// These.
    Levels(&'static [&'static str]),
}

/// In which modes a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThinkingModes {
    /// Not known: the client's setting is sent.
    #[default]
    Unknown,
    /// It does not think.
    None,
    /// With a budget of tokens only.
    Budget,
    /// With a budget, or adaptive.
    BudgetOrAdaptive,
    /// Adaptive only.
    Adaptive(Disabling),
}

/// Where a prompt may have marks of what is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CachePoints {
    /// In instructions, messages and tools.
    #[default]
    Everywhere,
    /// In instructions only, without a time.
    System,
    /// Nowhere: a request with one is refused.
    Nowhere,
}

/// How thinking is turned off, where it has no budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disabling {
    /// By omission: it is off unless enabled.
    Omit,
    /// Explicitly, at efforts up to `high`.
    Explicit,
    /// Not at all.
    Never,
}

/// The thinking budgets a model supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// The least, but for zero.
    pub min: u64,
    /// The most.
    pub max: u64,
    /// Whether zero turns thinking off.
    pub zero: bool,
}

/// What is known of the model of this name.
pub fn capabilities(model: &str) -> Capabilities {
    let name = ModelName::parse(model);
    let mut known = claude::find(&name)
        .or_else(|| gemini::find(&name))
        .or_else(|| openai::find(&name))
        .or_else(|| others::find(&name))
        .unwrap_or_default();
    bedrock::limit(model, &mut known);
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_row_fits_is_assumed_to_take_everything() {
        for name in [
            "",
            "fast",
            "llama-3.3-70b",
            "my/own/model",
            "claude",
            "gpt",
            "o",
            "-",
        ] {
            let known = capabilities(name);
            assert_eq!(known.sampling, Sampling::Any, "{name}");
            assert_eq!(known.efforts, Efforts::Unknown, "{name}");
            assert_eq!(known.thinking, ThinkingModes::Unknown, "{name}");
            assert!(!known.signed_calls && !known.no_stop, "{name}");
        }
    }

    #[test]
    fn every_spelling_of_a_name_finds_the_same_row() {
        let spellings: [&[&str]; 4] = [
            &[
                "claude-opus-4-7",
                "anthropic/claude-opus-4.7",
                "anthropic/claude-4.7-opus",
                "us.anthropic.claude-opus-4-7-v1:0",
                "claude-opus-4-7@20260416",
                "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-7-v1:0",
                "Claude-Opus-4-7",
            ],
            &[
                "claude-sonnet-4-5",
                "claude-sonnet-4-5@20250929",
                "claude-sonnet-4-5-20250929",
                "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "openrouter/anthropic/claude-sonnet-4.5",
            ],
            &[
                "gemini-3-pro",
                "google/gemini-3-pro",
                "models/gemini-3-pro-preview",
                "gemini-3-pro-preview-11-2025",
            ],
            &[
                "gpt-5",
                "openai/gpt-5",
                "gpt-5-2025-08-07",
                "openai/gpt-5:online",
            ],
        ];
        for names in spellings {
            let first = names.first().map(|name| capabilities(name));
            for name in names {
                assert_eq!(Some(capabilities(name)), first, "{name}");
                assert_ne!(capabilities(name).family, Family::Unknown, "{name}");
            }
        }
    }
}
