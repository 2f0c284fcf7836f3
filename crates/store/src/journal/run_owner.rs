//! The owner of a run, as it is stored: the name of a server, and how many servers died with the
//! run since its last finished step. A run that is released has no owner, so only a server that
//! died, or was stopped for longer than its lease, leaves its name.

/// Between the name and the losses.
const LOSSES: &str = " lost:";

/// Whether the run of a row was lost more than once since its last finished step, and has more to
/// do than to be cancelled. It is SQL text with the columns of `journal_runs`.
pub(super) const IS_SUSPECT: &str = "(cancel_requested = 0
    AND owner LIKE '% lost:%@' || CAST(next_step AS TEXT) AND owner NOT LIKE '% lost:1@%')";

/// The owner of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunOwner<'a> {
    /// The server.
    pub(super) name: &'a str,
    /// Servers before it that died with the run, without a finished step in between.
    pub(super) losses: u32,
    /// The number of steps that were finished when the server claimed it.
    step: i64,
}

impl<'a> RunOwner<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let with_losses = text.rsplit_once(LOSSES).and_then(|(name, rest)| {
            let (losses, step) = rest.split_once('@')?;
            Some(RunOwner {
                name,
                losses: losses.parse().ok()?,
                step: step.parse().ok()?,
            })
        });
        with_losses.unwrap_or(RunOwner {
            name: text,
            losses: 0,
            step: 0,
        })
    }

    /// The owner when a server of this name claims the run from this one.
    pub(super) fn claimed_by<'b>(self, name: &'b str, next_step: i64) -> RunOwner<'b> {
        let before = match self.step == next_step {
            true => self.losses,
            false => 0,
        };
        // A server that claims its own run again has given it up, and has not died.
        let is_lost = self.name != name;
        RunOwner {
            name,
            losses: before.saturating_add(u32::from(is_lost)),
            step: next_step,
        }
    }

    /// As it is stored.
    pub(super) fn to_text(self) -> String {
        match self.losses {
            0 => self.name.to_owned(),
            losses => format!("{}{LOSSES}{losses}@{}", self.name, self.step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_counted_until_a_step_is_finished() {
        let first = RunOwner::parse("a");
        assert_eq!(first.to_text(), "a");
        let second = first.claimed_by("b", 3).to_text();
        assert_eq!(second, "b lost:1@3");
        let third = RunOwner::parse(&second).claimed_by("c", 3).to_text();
        assert_eq!(third, "c lost:2@3");
        assert_eq!(
            RunOwner::parse(&third).claimed_by("d", 4).to_text(),
            "d lost:1@4"
        );
        // It has only given it up.
        assert_eq!(RunOwner::parse(&third).claimed_by("c", 3).to_text(), third);
        assert_eq!(RunOwner::parse(&third).claimed_by("c", 4).to_text(), "c");
    }
}
