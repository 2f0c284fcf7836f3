//! Effort levels and thinking budgets: for models that support only one of them, or only
//! some levels.

use crate::models::Efforts;

/// All levels, in order.
const EFFORT_SCALE: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The budget nearest to an effort level; `None` for no thinking at all.
pub(crate) fn effort_to_budget(effort: &str) -> Option<u64> {
    match effort {
        "none" => None,
        "minimal" => Some(1024),
        "low" => Some(2048),
        "medium" => Some(8192),
        "high" => Some(16384),
        _ => Some(24576),
    }
}

/// The effort level nearest to a budget.
pub(crate) fn budget_to_effort(budget: u64) -> &'static str {
    match budget {
        0..=2048 => "low",
        2049..=8192 => "medium",
        _ => "high",
    }
}

/// Anthropic's name for a level. Its scale starts at `low`; thinking is disabled
/// elsewhere.
pub(crate) fn anthropic_effort(effort: &str) -> Option<&str> {
    match effort {
        "none" => None,
        "minimal" => Some("low"),
        other => Some(other),
    }
}

/// What to send to a model for an effort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EffortChoice {
    /// This level.
    Level(String),
    /// Nothing: it is what the model does anyway.
    Default,
    /// Nothing, because the model does not support it.
    Refused,
}

/// The level nearest to an effort among those a model supports. `none` only matches
/// itself: a model that should think a little must not have thinking disabled.
pub(crate) fn nearest_effort(effort: &str, efforts: Efforts) -> EffortChoice {
    let levels = match efforts {
        _ if effort == "default" => return EffortChoice::Default,
        Efforts::Unknown => return EffortChoice::Level(effort.to_owned()),
        Efforts::None if effort == "none" => return EffortChoice::Default,
        Efforts::None => return EffortChoice::Refused,
        Efforts::Levels(levels) => levels,
    };
    let Some(requested) = rank(effort) else {
        return EffortChoice::Refused;
    };
    let takes = levels
        .iter()
        .filter(|level| **level != "none" || effort == "none");
    let high = rank("high").unwrap_or_default();
    let nearest = takes.min_by_key(|level| {
        let at = rank(level).unwrap_or_default();
        // Of two that are equally near, the one nearer to `high`, as vendors do it.
        (at.abs_diff(requested), at.abs_diff(high))
    });
    match nearest {
        Some(level) => EffortChoice::Level((*level).to_owned()),
        None => EffortChoice::Refused,
    }
}

fn rank(effort: &str) -> Option<usize> {
    EFFORT_SCALE.iter().position(|level| *level == effort)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(effort: &str, levels: &'static [&'static str]) -> Option<String> {
        match nearest_effort(effort, Efforts::Levels(levels)) {
            EffortChoice::Level(word) => Some(word),
            _ => None,
        }
    }

    #[test]
    fn an_effort_becomes_the_nearest_that_the_model_takes() {
        let three = &["low", "medium", "high"];
        for (effort, levels, expected) in [
            ("minimal", three.as_slice(), "low"),
            ("xhigh", three, "high"),
            ("max", three, "high"),
            ("none", three, "low"),
            ("medium", &["low", "high"], "high"),
            ("xhigh", &["low", "medium", "high", "max"], "high"),
            ("low", &["high"], "high"),
            ("minimal", &["none", "low", "medium", "high"], "low"),
            ("none", &["none", "high"], "none"),
        ] {
            assert_eq!(word(effort, levels).as_deref(), Some(expected), "{effort}");
        }
    }

    #[test]
    fn a_word_that_no_level_stands_for_is_refused_and_the_default_is_left_out() {
        assert_eq!(
            nearest_effort("ultra", Efforts::Levels(&["low"])),
            EffortChoice::Refused
        );
        assert_eq!(
            nearest_effort("high", Efforts::Levels(&["none"])),
            EffortChoice::Refused
        );
        assert_eq!(nearest_effort("high", Efforts::None), EffortChoice::Refused);
        assert_eq!(nearest_effort("none", Efforts::None), EffortChoice::Default);
        for efforts in [Efforts::Unknown, Efforts::None, Efforts::Levels(&["low"])] {
            assert_eq!(nearest_effort("default", efforts), EffortChoice::Default);
        }
        let kept = EffortChoice::Level("ultra".to_owned());
        assert_eq!(nearest_effort("ultra", Efforts::Unknown), kept);
    }
}
