//! Models of vendors whose own API is Chat Completions: xAI, DeepSeek, Moonshot, Zhipu,
//! Mistral. Alibaba's support every setting. And Amazon's, which only Bedrock has.

use super::name::{ModelName, ModelVariant};
use super::{Capabilities, Efforts, Family, Sampling};

const THREE: Efforts = Efforts::Levels(&["low", "medium", "high"]);

pub(super) fn find(name: &ModelName) -> Option<Capabilities> {
    let base = Capabilities {
        family: Family::Chat,
        ..Capabilities::default()
    };
    if name
        .after("amazon")
        .is_some_and(|variant| variant.has("nova"))
    {
        return Some(Capabilities {
            family: Family::Nova,
            ..base
        });
    }
    if let Some(variant) = name.after("grok") {
        return Some(grok(&variant, base));
    }
    if name.after("deepseek").is_some() || name.after("glm").is_some() {
        return Some(Capabilities {
            thinking_switch: true,
            ..base
        });
    }
    if let Some(variant) = name.after("kimi") {
        return Some(kimi(&variant, base));
    }
    if name.after("mistral").is_some() {
        return Some(Capabilities {
            efforts: Efforts::Levels(&["none", "high"]),
            mistral_rules: true,
            ..base
        });
    }
    let plain = [
        "magistral",
        "codestral",
        "devstral",
        "ministral",
        "pixtral",
        "mixtral",
        "voxtral",
    ];
    if plain.iter().any(|word| name.after(word).is_some()) {
        return Some(Capabilities {
            efforts: Efforts::None,
            mistral_rules: true,
            ..base
        });
    }
    let qwen = name.after("qwen").is_some() || name.numbered("qwen").is_some();
    qwen.then_some(base)
}

/// Reasoning models support neither stop sequences nor penalties; an effort only from 4.3
/// on, which was released after 4.20, and the highest only from 4.6 on.
fn grok(variant: &ModelVariant<'_>, base: Capabilities) -> Capabilities {
    let reasons = !variant.has("non");
    let reasoning = Capabilities {
        no_stop: reasons,
        no_penalties: reasons,
        ..base
    };
    let efforts = match variant.version() {
        _ if variant.has("code") => Efforts::None,
        Some((3, _)) if variant.has("mini") => Efforts::Levels(&["low", "high"]),
        Some((0..=3, _)) => {
            return Capabilities {
                efforts: Efforts::None,
                ..base
            };
        }
        Some((4, 20)) if variant.has("multi") => {
            Efforts::Levels(&["low", "medium", "high", "xhigh"])
        }
        Some((4, 0..=2 | 20)) => Efforts::None,
        Some((4, 3)) => Efforts::Levels(&["none", "low", "medium", "high"]),
        Some((4, 4 | 5)) => THREE,
        Some(_) => Efforts::Levels(&["low", "medium", "high", "xhigh"]),
        None => return base,
    };
    Capabilities {
        efforts,
        ..reasoning
    }
}

/// From K2.5 on the temperature is fixed, and any other is refused.
fn kimi(variant: &ModelVariant<'_>, base: Capabilities) -> Capabilities {
    let version = variant.version().unwrap_or((0, 0));
    let fixed = version >= (2, 5) || variant.has("thinking") || variant.has("coding");
    Capabilities {
        sampling: if fixed { Sampling::None } else { Sampling::Any },
        // Others that run it let it be set.
        vendor_sampling: true,
        efforts: if version.0 >= 3 {
            Efforts::Levels(&["low", "high", "max"])
        } else {
            Efforts::Unknown
        },
        // K2.5 and K2.6 can disable thinking; K3 cannot.
        thinking_switch: version.0 == 2 && version >= (2, 5),
        ..base
    }
}

#[cfg(test)]
mod tests {
    use super::super::capabilities;
    use super::*;

    #[test]
    fn grok_takes_the_efforts_of_its_version() {
        for (name, efforts, refuses_stop) in [
            ("grok-3", Efforts::None, false),
            ("grok-3-mini", Efforts::Levels(&["low", "high"]), true),
            ("grok-4-0709", Efforts::None, true),
            ("x-ai/grok-4.1-fast", Efforts::None, true),
            ("grok-4-1-fast-non-reasoning", Efforts::None, false),
            ("grok-4.20-0309-reasoning", Efforts::None, true),
            ("grok-code-fast-1", Efforts::None, true),
            (
                "grok-4.3",
                Efforts::Levels(&["none", "low", "medium", "high"]),
                true,
            ),
            ("grok-4.5", THREE, true),
            (
                "x-ai/grok-4.6",
                Efforts::Levels(&["low", "medium", "high", "xhigh"]),
                true,
            ),
        ] {
            let known = capabilities(name);
            assert_eq!(known.efforts, efforts, "{name}");
            assert_eq!(known.no_stop, refuses_stop, "{name}");
            assert_eq!(known.no_penalties, refuses_stop, "{name}");
        }
    }

    #[test]
    fn kimi_fixes_its_temperature_from_k2_5_on() {
        for (name, sampling, switch) in [
            ("kimi-k2-0905-preview", Sampling::Any, false),
            ("kimi-k2-thinking", Sampling::None, false),
            ("kimi-k2.5", Sampling::None, true),
            ("moonshotai/kimi-k2.6", Sampling::None, true),
            ("kimi-k3", Sampling::None, false),
        ] {
            let known = capabilities(name);
            assert_eq!(known.sampling, sampling, "{name}");
            assert_eq!(known.thinking_switch, switch, "{name}");
        }
        let levels = Efforts::Levels(&["low", "high", "max"]);
        assert_eq!(capabilities("kimi-k3").efforts, levels);
    }

    #[test]
    fn deepseek_and_glm_can_be_kept_from_thinking() {
        for name in [
            "deepseek-chat",
            "deepseek-v4-pro",
            "glm-4.7",
            "z-ai/glm-4.6",
        ] {
            assert!(capabilities(name).thinking_switch, "{name}");
        }
    }

    #[test]
    fn mistral_reasons_fully_or_not_at_all() {
        let levels = Efforts::Levels(&["none", "high"]);
        assert_eq!(capabilities("mistral-medium-latest").efforts, levels);
        assert_eq!(capabilities("magistral-medium-2509").efforts, Efforts::None);
    }

    #[test]
    fn mistrals_models_are_known_wherever_they_run() {
        for name in [
            "mistral-large-latest",
            "mistralai/Mistral-Small-4-119B-2603-NVFP4",
            "mistralai/devstral-medium",
            "open-mixtral-8x22b",
        ] {
            assert!(capabilities(name).mistral_rules, "{name}");
        }
        assert!(!capabilities("qwen3-32b").mistral_rules);
    }

    #[test]
    fn qwen_is_a_family_of_chat_without_restrictions() {
        for name in ["qwen3-32b", "qwen/qwen-plus", "Qwen/Qwen3-235B-A22B"] {
            let expected = Capabilities {
                family: Family::Chat,
                ..Capabilities::default()
            };
            assert_eq!(capabilities(name), expected, "{name}");
        }
    }
}
