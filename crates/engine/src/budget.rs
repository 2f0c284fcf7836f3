//! How much a run may still take.

use std::time::{Duration, Instant};

use prowess_wire::neutral::Usage;

use crate::settings::Limits;

/// How much a run has taken, and how much it may.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    began: Instant,
    turns: u32,
    tokens: u64,
    sandbox: Duration,
}

/// The limit that a run has met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Turns of the model.
    Turns,
    /// Time in all.
    Wall,
    /// Tokens of all turns.
    Tokens,
    /// Time of the sandbox.
    Sandbox,
}

impl Limit {
    /// A word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Turns => "turns",
            Limit::Wall => "wall time",
            Limit::Tokens => "tokens",
            Limit::Sandbox => "sandbox time",
        }
    }
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Budget {
            limits,
            began: Instant::now(),
            turns: 0,
            tokens: 0,
            sandbox: Duration::ZERO,
        }
    }

    pub(crate) fn took_turn(&mut self, usage: &Usage) {
        self.turns += 1;
        let tokens = usage.total_input().saturating_add(usage.output_tokens);
        self.tokens = self.tokens.saturating_add(tokens);
    }

    pub(crate) fn took_sandbox(&mut self, time: Duration) {
        self.sandbox += time;
    }

    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    /// How long tools may run now.
    pub(crate) fn time_left(&self) -> Duration {
        let wall = self.limits.wall.saturating_sub(self.began.elapsed());
        wall.min(self.limits.sandbox.saturating_sub(self.sandbox))
    }

    /// The limit that stands in the way of going on, if one does.
    pub(crate) fn met(&self) -> Option<Limit> {
        if self.turns >= self.limits.turns {
            Some(Limit::Turns)
        } else if self.tokens >= self.limits.tokens {
            Some(Limit::Tokens)
        } else if self.began.elapsed() >= self.limits.wall {
            Some(Limit::Wall)
        } else if self.sandbox >= self.limits.sandbox {
            Some(Limit::Sandbox)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_met_by_what_it_counts() {
        let limits = Limits {
            turns: 2,
            tokens: 100,
            sandbox: Duration::from_secs(5),
            ..Limits::default()
        };
        let usage = Usage {
            input_tokens: 30,
            cache_read_input_tokens: 10,
            output_tokens: 10,
            ..Usage::default()
        };
        let mut budget = Budget::new(limits.clone());
        budget.took_turn(&usage);
        assert_eq!(budget.met(), None);
        budget.took_turn(&usage);
        assert_eq!(budget.met(), Some(Limit::Turns));

        let mut budget = Budget::new(Limits {
            turns: 9,
            ..limits.clone()
        });
        budget.took_turn(&usage);
        budget.took_turn(&usage);
        assert_eq!(budget.met(), Some(Limit::Tokens));

        let mut budget = Budget::new(limits.clone());
        budget.took_sandbox(Duration::from_secs(4));
        assert!(budget.time_left() <= Duration::from_secs(1));
        budget.took_sandbox(Duration::from_secs(1));
        assert_eq!(budget.met(), Some(Limit::Sandbox));

        let wall = Limits {
            wall: Duration::ZERO,
            ..limits
        };
        assert_eq!(Budget::new(wall).met(), Some(Limit::Wall));
    }
}
