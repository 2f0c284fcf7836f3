//! Effort levels and thinking budgets: for models that know only one of them, and for
//! those that know only some levels.

use crate::models::Efforts;

/// All levels, in order.
const SCALE: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The budget that comes nearest to an effort level; none for no thinking at all.
pub(crate) fn budget(effort: &str) -> Option<u64> {
    match effort {
        "none" => None,
        "minimal" => Some(1024),
        "low" => Some(2048),
        "medium" => Some(8192),
        "high" => Some(16384),
        _ => Some(24576),
    }
}

/// The effort level that comes nearest to a budget.
pub(crate) fn level(budget: u64) -> &'static str {
    match budget {
        0..=2048 => "low",
        2049..=8192 => "medium",
        _ => "high",
    }
}

/// Anthropic's word for a level. Its scale starts at `low`; no thinking at all is said
/// elsewhere.
pub(crate) fn anthropic(effort: &str) -> Option<&str> {
    match effort {
        "none" => None,
        "minimal" => Some("low"),
        other => Some(other),
    }
}

/// What is to be said of an effort to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fitted {
    /// This word.
    Word(String),
    /// Nothing: it is what the model does anyway.
    Usual,
    /// Nothing, because it takes no such word.
    Refused,
}

/// The word that comes nearest to an effort among those a model takes. `none` stands for
/// itself only: a model that is to think a little is not told not to.
pub(crate) fn fit(effort: &str, efforts: Efforts) -> Fitted {
    let levels = match efforts {
        _ if effort == "default" => return Fitted::Usual,
        Efforts::Unknown => return Fitted::Word(effort.to_owned()),
        Efforts::None if effort == "none" => return Fitted::Usual,
        Efforts::None => return Fitted::Refused,
        Efforts::Levels(levels) => levels,
    };
    let Some(wanted) = rank(effort) else {
        return Fitted::Refused;
    };
    let takes = levels
        .iter()
        .filter(|level| **level != "none" || effort == "none");
    let high = rank("high").unwrap_or_default();
    let nearest = takes.min_by_key(|level| {
        let at = rank(level).unwrap_or_default();
        // Of two that are equally near, the one nearer to `high`, as vendors do it.
        (at.abs_diff(wanted), at.abs_diff(high))
    });
    match nearest {
        Some(level) => Fitted::Word((*level).to_owned()),
        None => Fitted::Refused,
    }
}

fn rank(effort: &str) -> Option<usize> {
    SCALE.iter().position(|level| *level == effort)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(effort: &str, levels: &'static [&'static str]) -> Option<String> {
        match fit(effort, Efforts::Levels(levels)) {
            Fitted::Word(word) => Some(word),
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
    fn a_word_that_no_level_stands_for_is_refused_and_the_usual_is_left_out() {
        assert_eq!(fit("ultra", Efforts::Levels(&["low"])), Fitted::Refused);
        assert_eq!(fit("high", Efforts::Levels(&["none"])), Fitted::Refused);
        assert_eq!(fit("high", Efforts::None), Fitted::Refused);
        assert_eq!(fit("none", Efforts::None), Fitted::Usual);
        for efforts in [Efforts::Unknown, Efforts::None, Efforts::Levels(&["low"])] {
            assert_eq!(fit("default", efforts), Fitted::Usual);
        }
        let kept = Fitted::Word("ultra".to_owned());
        assert_eq!(fit("ultra", Efforts::Unknown), kept);
    }
}
