//! The states of a run.

use crate::error::{Error, Result};

/// The state of a run in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunState {
    /// It waits for a server.
    Queued,
    /// A server runs it, or did until its lease ran out.
    Running,
    /// The model is done.
    Completed,
    /// An error ended it.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// A limit ended it.
    Incomplete,
    /// Its server died, and it was not to be resumed.
    Interrupted,
}

impl RunState {
    /// All of them.
    pub const ALL: [RunState; 7] = [
        RunState::Queued,
        RunState::Running,
        RunState::Completed,
        RunState::Failed,
        RunState::Cancelled,
        RunState::Incomplete,
        RunState::Interrupted,
    ];

    /// As stored, and as in OpenAI's API where it has the state.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Queued => "queued",
            RunState::Running => "running",
            RunState::Completed => "completed",
            RunState::Failed => "failed",
            RunState::Cancelled => "cancelled",
            RunState::Incomplete => "incomplete",
            RunState::Interrupted => "interrupted",
        }
    }

    /// Whether it never changes again.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, RunState::Queued | RunState::Running)
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut all = RunState::ALL.into_iter();
        all.find(|state| state.as_str() == text)
            .ok_or_else(|| Error::MalformedRow {
                table: "journal_runs",
                reason: format!("unknown state `{text}`"),
            })
    }
}
