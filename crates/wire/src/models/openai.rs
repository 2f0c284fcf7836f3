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
    mistral_rules: false,
    media_in_results: None,
};

/// A model that reasons.
const REASONING: Capabilities = Capabilities {
    sampling: Sampling::None,
    efforts: THREE,
    no_stop: true,
    no_penalties: true,
    completion_limit: true,
    ..NON_REASONING
};

pub(super) fn find(name: &ModelName) -> Option<Capabilities> {
    if let Some((_, variant)) = name.numbered("o").filter(|_| starts_with_o(name)) {
        return Some(o_series(name, &variant));
    }
    if name.first() == Some("codex") {
        return Some(REASONING);
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
    match variant.version()? {
        (0..=4, _) => Some(NON_REASONING),
        // The one of this family that does not reason.
        (5, 0) if variant.has("chat") => Some(NON_REASONING),
        version => Some(gpt_5(&variant, version)),
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
            "gpt-5-chat-latest",
            "chatgpt-4o-latest",
        ] {
            assert_eq!(capabilities(name), NON_REASONING, "{name}");
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
