//! The limits of a run, and how much of each is used.

use std::time::{Duration, Instant};

use prowess_wire::neutral::TokenUsage;

use crate::settings::RunLimits;

/// What a run has used, and its limits.
#[derive(Debug)]
pub(crate) struct RunBudget {
    limits: RunLimits,
    started_at: Instant,
    /// How long the run had been going on before this server got it.
    earlier: Duration,
    turns: u32,
    tokens: u64,
    /// What the turns cost that this server made, in billionths.
    spent_nanos: u64,
    sandbox_time: Duration,
}

/// The limit that a run has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// Turns of the model.
    Turns,
    /// Total time.
    WallTime,
    /// Tokens of all turns.
    Tokens,
    /// Time in the sandbox.
    SandboxTime,
    /// The money that its client may spend.
    Budget,
}

impl LimitKind {
    /// Its name, for records and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LimitKind::Turns => "turns",
            LimitKind::WallTime => "wall time",
            LimitKind::Tokens => "tokens",
            LimitKind::SandboxTime => "sandbox time",
            LimitKind::Budget => "budget",
        }
    }
}

impl RunBudget {
    pub(crate) fn new(limits: RunLimits) -> Self {
        RunBudget {
            limits,
            started_at: Instant::now(),
            earlier: Duration::ZERO,
            turns: 0,
            tokens: 0,
            spent_nanos: 0,
            sandbox_time: Duration::ZERO,
        }
    }

    /// Counts time that another server has spent.
    pub(crate) fn add_earlier_time(&mut self, time: Duration) {
        self.earlier = self.earlier.saturating_add(time);
    }

    fn elapsed(&self) -> Duration {
        self.earlier.saturating_add(self.started_at.elapsed())
    }

    pub(crate) fn add_turn(&mut self, usage: &TokenUsage) {
        self.turns += 1;
        let tokens = usage.total_input().saturating_add(usage.output_tokens);
        self.tokens = self.tokens.saturating_add(tokens);
    }

    /// Counts what a turn cost that this server made.
    pub(crate) fn add_cost(&mut self, nanos: u64) {
        self.spent_nanos = self.spent_nanos.saturating_add(nanos);
    }

    pub(crate) fn spent_nanos(&self) -> u64 {
        self.spent_nanos
    }

    pub(crate) fn add_sandbox_time(&mut self, time: Duration) {
        self.sandbox_time += time;
    }

    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    /// How long tools may run now.
    pub(crate) fn time_left(&self) -> Duration {
        let wall = self.limits.wall_time.saturating_sub(self.elapsed());
        wall.min(self.limits.sandbox_time.saturating_sub(self.sandbox_time))
    }

    /// The limit that is reached, if one is.
    pub(crate) fn reached_limit(&self) -> Option<LimitKind> {
        if self.turns >= self.limits.turns {
            Some(LimitKind::Turns)
        } else if self.tokens >= self.limits.tokens {
            Some(LimitKind::Tokens)
        } else if self.elapsed() >= self.limits.wall_time {
            Some(LimitKind::WallTime)
        } else if self.sandbox_time >= self.limits.sandbox_time {
            Some(LimitKind::SandboxTime)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_reached_by_what_it_counts() {
        let limits = RunLimits {
            turns: 2,
            tokens: 100,
            sandbox_time: Duration::from_secs(5),
            ..RunLimits::default()
        };
        let usage = TokenUsage {
            input_tokens: 30,
            cache_read_input_tokens: 10,
            output_tokens: 10,
            ..TokenUsage::default()
        };
        let mut budget = RunBudget::new(limits.clone());
        budget.add_turn(&usage);
        assert_eq!(budget.reached_limit(), None);
        budget.add_turn(&usage);
        assert_eq!(budget.reached_limit(), Some(LimitKind::Turns));

        let mut budget = RunBudget::new(RunLimits {
            turns: 9,
            ..limits.clone()
        });
        budget.add_turn(&usage);
        budget.add_turn(&usage);
        assert_eq!(budget.reached_limit(), Some(LimitKind::Tokens));

        let mut budget = RunBudget::new(limits.clone());
        budget.add_sandbox_time(Duration::from_secs(4));
        assert!(budget.time_left() <= Duration::from_secs(1));
        budget.add_sandbox_time(Duration::from_secs(1));
        assert_eq!(budget.reached_limit(), Some(LimitKind::SandboxTime));

        let wall = RunLimits {
            wall_time: Duration::ZERO,
            ..limits
        };
        assert_eq!(
            RunBudget::new(wall).reached_limit(),
            Some(LimitKind::WallTime)
        );
    }
}
