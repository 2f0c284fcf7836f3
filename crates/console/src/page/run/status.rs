//! States of runs, as people read them.

/// A state, and the colour of its badge.
#[derive(Debug, Clone)]
pub(crate) struct StatusBadge {
    /// `ok`, `warn`, `bad` or `muted`.
    pub(crate) class: &'static str,
    pub(crate) text: String,
}

impl StatusBadge {
    pub(crate) fn new(status: &str) -> StatusBadge {
        let class = match status {
            "completed" => "ok",
            "queued" | "running" | "incomplete" | "paused" => "warn",
            "failed" | "interrupted" | "refused" => "bad",
            _ => "muted",
        };
        StatusBadge {
            class,
            text: status.to_owned(),
        }
    }
}

/// Whether a run goes on.
pub(crate) fn is_in_progress(status: &str) -> bool {
    matches!(status, "queued" | "running")
}
