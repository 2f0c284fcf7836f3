//! Google's models.

use super::name::ModelName;
use super::{Budgets, Capabilities, Efforts, Family, ThinkingModes};

const TWO: Efforts = Efforts::Levels(&["low", "high"]);
const THREE: Efforts = Efforts::Levels(&["low", "medium", "high"]);
const FOUR: Efforts = Efforts::Levels(&["minimal", "low", "medium", "high"]);

pub(super) fn find(name: &ModelName) -> Option<Capabilities> {
    let variant = name.after("gemini")?;
    let base = Capabilities {
        family: Family::Gemini,
        ..Capabilities::default()
    };
    let version = match variant.version() {
        Some(version) => version,
        // `gemini-flash-latest` and its like have moved past 3 long ago.
        None if variant.has("latest") => (3, 9),
        None => return Some(base),
    };
    let is_flash = variant.has("flash");
    let base = Capabilities {
        media_in_results: Some(version >= (3, 0)),
        ..base
    };
    Some(match version {
        (0..=1, _) | (2, 0..=4) => Capabilities {
            thinking: ThinkingModes::None,
            efforts: Efforts::None,
            ..base
        },
        (2, _) => Capabilities {
            thinking: ThinkingModes::Budget,
            efforts: Efforts::None,
            budgets: Some(budgets(is_flash, variant.has("lite"))),
            no_penalties: true,
            ..base
        },
        _ => Capabilities {
            efforts: match version {
                (3, 0) if !is_flash => TWO,
                (3, 0..=1) if is_flash => FOUR,
                // Every later one supports these.
                _ => THREE,
            },
            signed_calls: true,
            no_penalties: true,
            ..base
        },
    })
}

fn budgets(is_flash: bool, is_lite: bool) -> Budgets {
    let (least, most) = match (is_flash, is_lite) {
        (_, true) => (512, 24_576),
        (true, false) => (1, 24_576),
        (false, false) => (128, 32_768),
    };
    Budgets {
        min: least,
        max: most,
        zero: is_flash,
    }
}

#[cfg(test)]
mod tests {
    use super::super::capabilities;
    use super::*;

    #[test]
    fn models_before_2_5_do_not_think_and_take_penalties() {
        for name in ["gemini-2.0-flash-001", "gemini-1.5-pro"] {
            let known = capabilities(name);
            assert_eq!(known.thinking, ThinkingModes::None, "{name}");
            assert_eq!(known.efforts, Efforts::None, "{name}");
            assert!(!known.no_penalties && !known.signed_calls, "{name}");
            assert_eq!(known.media_in_results, Some(false), "{name}");
        }
    }

    #[test]
    fn models_2_5_take_a_budget_of_their_own_and_no_level() {
        for (name, min, max, zero) in [
            ("gemini-2.5-pro", 128, 32_768, false),
            ("google/gemini-2.5-flash", 1, 24_576, true),
            ("gemini-2.5-flash-lite-preview-09-2025", 512, 24_576, true),
        ] {
            let known = capabilities(name);
            assert_eq!(known.thinking, ThinkingModes::Budget, "{name}");
            assert_eq!(known.efforts, Efforts::None, "{name}");
            assert_eq!(known.budgets, Some(Budgets { min, max, zero }), "{name}");
            assert!(known.no_penalties && !known.signed_calls, "{name}");
            assert_eq!(known.media_in_results, Some(false), "{name}");
        }
    }

    #[test]
    fn models_from_3_take_levels_and_want_signed_calls() {
        for (name, efforts) in [
            ("gemini-3-pro-preview", TWO),
            ("gemini-3.1-pro-preview", THREE),
            ("gemini-3-flash-preview", FOUR),
            ("gemini-3.1-flash-lite", FOUR),
            ("gemini-3.8-flash", THREE),
            ("gemini-flash-latest", THREE),
            ("gemini-4-pro", THREE),
        ] {
            let known = capabilities(name);
            assert_eq!(known.efforts, efforts, "{name}");
            assert_eq!(known.budgets, None, "{name}");
            assert!(known.signed_calls && known.no_penalties, "{name}");
            assert_eq!(known.media_in_results, Some(true), "{name}");
        }
    }

    #[test]
    fn of_a_name_without_a_version_only_the_family_is_known() {
        let known = capabilities("gemini-exp-1206");
        assert_eq!(known.family, Family::Gemini);
        assert!(!known.signed_calls && known.media_in_results.is_none());
    }
}
