//! The span of one call of a tool of Prowess.

use std::time::{Duration, SystemTime};

use prowess_engine::{CalledSkill, RunStep};

/// A call that has ended.
pub(crate) struct ToolSpan {
    pub(super) call: String,
    pub(super) tool: String,
    pub(super) skill: Option<CalledSkill>,
    pub(super) started_at: SystemTime,
    pub(super) duration: Duration,
    pub(super) is_error: bool,
}

impl ToolSpan {
    /// The span of a call that has just ended; other steps have none.
    pub(crate) fn from_step(step: &RunStep) -> Option<ToolSpan> {
        let RunStep::ToolEnded {
            id,
            name,
            is_error,
            skill,
            duration_ms,
            ..
        } = step
        else {
            return None;
        };
        let duration = Duration::from_millis(*duration_ms);
        let now = SystemTime::now();
        Some(ToolSpan {
            call: id.clone(),
            tool: name.clone(),
            skill: skill.clone(),
            started_at: now.checked_sub(duration).unwrap_or(now),
            duration,
            is_error: *is_error,
        })
    }
}
