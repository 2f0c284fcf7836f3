//! OpenAI's models.

use super::name::{ModelName, ModelVariant, ModelVersion};
use super::{Capabilities, Efforts, Family, Sampling};

const THREE: Efforts = Efforts::Levels(&["low", "medium", "high"]);
const MINIMAL: Efforts = Efforts::Levels(&["minimal", "low", "medium", "high"]);
const NONE: Efforts = Efforts::Levels(&["none", "low", "medium", "high"]);
const XHIGH: Efforts = Efforts::Levels(&["none", "low", "medium", "high", "xhigh"]);
const MAX: Efforts = Efforts::Levels(&["none", "low", "medium", "high", "xhigh", "max"]);
const CODEX: Efforts = Efforts::Levels(&["low", "medium", "high", "xhigh"]);
const PRO: Efforts = Efforts::Levels(&["medium", "high", "xhigh"]);
const HIGH: Efforts = Efforts::Levels(&["high"]);
const MEDIUM: Efforts = Efforts::Levels(&["medium"]);

/// A model that does not reason.
const NON_REASONING: Capabilities = Capabilities {
    family: Family::Chat,
    sampling: Sampling::Any,
    vendor_sampling: false,
    efforts: Efforts::None,
    thinking: super::ThinkingModes::Unknown,
    budgets: None,
    signed_calls: false,
    no_stop: false,
    no_penalties: false,
    completion_limit: false,
    thinking_switch: false,
    needs_responses: false,
    encrypted_reasoning: false,
    mistral_rules: false,
    system_messages: false,
    media_in_results: None,
    cache_points: super::CachePoints::Everywhere,
    no_result_status: false,
    no_claude_fields: false,
    no_top_k: false,
};

/// A model that reasons.
const REASONING: Capabilities = Capabilities {
    sampling: Sampling::None,
    efforts: THREE,
    no_stop: true,
    no_penalties: true,
    completion_limit: true,
    encrypted_reasoning: true,
    ..NON_REASONING
};

/// The first version whose tools the Chat API refuses while it reasons. Some later ones
/// reason by default.
const FIRST_WITHOUT_CHAT_TOOLS: ModelVersion = (5, 4);

pub(super) fn find(name: &ModelName) -> Option<Capabilities> {
    if let Some((_, variant)) = name.numbered("o").filter(|_| starts_with_o(name)) {
        return Some(o_series(name, &variant));
    }
    if name.first() == Some("codex") {
        return Some(Capabilities {
            needs_responses: true,
            ..REASONING
        });
    }
    if name.first() == Some("chatgpt") {
        return Some(NON_REASONING);
    }
    let variant = name.after("gpt")?;
    if variant.has("oss") {
        return Some(Capabilities {
            efforts: THREE,
            ..NON_REASONING
        });
    }
    match undotted(variant.version()?) {
        (0..=4, _) => Some(NON_REASONING),
        // The one of this family that does not reason.
        (5, 0) if variant.has("chat") => Some(NON_REASONING),
        version => Some(gpt_5(&variant, version)),
    }
}

/// Azure has no dots in names: `gpt-35-turbo` is 3.5.
fn undotted(version: ModelVersion) -> ModelVersion {
    match version {
        (10.., 0) => (version.0 / 10, version.0 % 10),
        _ => version,
    }
}

/// `o3` is a model; an `o1` further back in a name is not.
fn starts_with_o(name: &ModelName) -> bool {
    let first = name.first().and_then(|word| word.strip_prefix('o'));
    first.is_some_and(|number| number.len() == 1 && number != "0")
}

fn o_series(name: &ModelName, variant: &ModelVariant<'_>) -> Capabilities {
    let early = name.first() == Some("o1") && (variant.has("mini") || variant.has("preview"));
    let efforts = if early {
        Efforts::None
    } else if variant.has("research") {
        MEDIUM
    } else {
        THREE
    };
    Capabilities {
        efforts,
        needs_responses: variant.has("pro") || variant.has("research"),
        ..REASONING
    }
}

fn gpt_5(variant: &ModelVariant<'_>, version: ModelVersion) -> Capabilities {
    let (codex, pro) = (variant.has("codex"), variant.has("pro"));
    let efforts = match version {
        _ if variant.has("chat") => MEDIUM,
        (5, 0) if pro => HIGH,
        (5, 0) if codex => THREE,
        (5, 0) => MINIMAL,
        (5, 1) if codex && variant.has("max") => CODEX,
        (5, 1) if codex => THREE,
        (5, 1) => NONE,
        _ if pro => PRO,
        _ if codex => CODEX,
        (5, 2..=5) => XHIGH,
        _ => MAX,
    };
    let off = matches!(efforts, Efforts::Levels(levels) if levels.contains(&"none"));
    Capabilities {
        efforts,
        sampling: if off {
            Sampling::WithoutReasoning
        } else {
            Sampling::None
        },
        needs_responses: codex || pro || version >= FIRST_WITHOUT_CHAT_TOOLS,
        ..REASONING
    }
}

#[cfg(test)]
mod tests {
    use super::super::capabilities;
    use super::*;

    #[test]
    fn the_o_series_reasons_and_takes_no_sampling() {
        for (name, efforts) in [
            ("o1", THREE),
            ("o3-mini", THREE),
            ("openai/o4-mini", THREE),
            ("o1-mini-2024-09-12", Efforts::None),
            ("o3-deep-research", MEDIUM),
        ] {
            let expected = Capabilities {
                efforts,
                needs_responses: name.contains("research"),
                ..REASONING
            };
            assert_eq!(capabilities(name), expected, "{name}");
        }
    }

    #[test]
    fn gpt_5_takes_the_levels_of_its_version() {
        for (name, efforts) in [
            ("gpt-5-mini", MINIMAL),
            ("gpt-5-codex", THREE),
            ("gpt-5-pro", HIGH),
            ("gpt-5.1-codex", THREE),
            ("gpt-5.1-codex-max", CODEX),
            ("gpt-5.1-chat-latest", MEDIUM),
            ("gpt-5.2-pro", PRO),
            ("gpt-5.3-codex", CODEX),
        ] {
            let known = capabilities(name);
            assert_eq!(known.efforts, efforts, "{name}");
            assert_eq!(known.sampling, Sampling::None, "{name}");
            assert!(known.completion_limit && known.no_stop, "{name}");
        }
    }

    #[test]
    fn gpt_5_1_and_later_take_sampling_when_they_do_not_reason() {
        for (name, efforts) in [
            ("gpt-5.1", NONE),
            ("openai/gpt-5.2", XHIGH),
            ("gpt-5.4-mini", XHIGH),
            ("gpt-5.6-sol", MAX),
            ("gpt-6", MAX),
        ] {
            let known = capabilities(name);
            assert_eq!(known.efforts, efforts, "{name}");
            assert_eq!(known.sampling, Sampling::WithoutReasoning, "{name}");
        }
    }

    #[test]
    fn models_that_do_not_reason_take_no_effort() {
        for name in [
            "gpt-4o",
            "gpt-4.1-mini",
            "gpt-3.5-turbo",
            "gpt-35-turbo",
            "gpt-5-chat-latest",
            "chatgpt-4o-latest",
        ] {
            assert_eq!(capabilities(name), NON_REASONING, "{name}");
        }
    }

    #[test]
    fn models_that_chat_refuses_with_tools_need_responses() {
        for name in [
            "gpt-5.4",
            "gpt-5.4-mini-2026-03-17",
            "gpt-5.6-terra",
            "gpt-6-astra",
            "gpt-5-codex",
            "gpt-5.1-codex-mini",
            "codex-mini-latest",
            "gpt-5-pro",
            "o3-pro",
            "o4-mini-deep-research",
            "gpt-54",
        ] {
            assert!(capabilities(name).needs_responses, "{name}");
        }
        for name in [
            "gpt-5",
            "gpt-5-2025-08-07",
            "gpt-5.2",
            "gpt-5-search-api",
            "gpt-4o",
            "gpt-35-turbo",
            "gpt-oss-120b",
            "o3",
            "my-deployment",
        ] {
            assert!(!capabilities(name).needs_responses, "{name}");
        }
    }

    #[test]
    fn open_models_take_an_effort_and_sampling() {
        for name in ["gpt-oss-120b", "openai.gpt-oss-20b-1:0"] {
            let known = capabilities(name);
            assert_eq!(
                (known.efforts, known.sampling),
                (THREE, Sampling::Any),
                "{name}"
            );
        }
    }
}
