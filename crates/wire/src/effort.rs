//! Effort levels and thinking budgets, for models that know only one of them.

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
