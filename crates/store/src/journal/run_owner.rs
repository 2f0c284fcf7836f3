//! The owner of a run, as it is stored: the name of a server, and how many servers died with the
//! run since its last finished step. A run that is released has no owner. One that is given back
//! keeps its last one, with a mark: that server has not died, and the run may still be why others
//! did. So a server leaves its name without a mark only if it died, was paused for longer than its
//! lease, or could not write that it gave the run up.

/// Between the name and the losses.
const LOSSES: &str = " lost:";
/// Before the name of a server that gave the run back.
const GIVEN_BACK: char = '-';

/// Marks the owner of a row as one that gave the run back. It is SQL text, an assignment of an
/// `UPDATE`; a row without an owner stays without one.
pub(super) const GIVE_BACK: &str = "owner = '-' || owner";

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
    /// Whether the server gave the run back.
    is_given_back: bool,
    /// The number of steps that were finished when the server claimed it.
    step: i64,
}

impl<'a> RunOwner<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        // More than one mark if it was not known whether the first one was stored.
        let owner = text.trim_start_matches(GIVEN_BACK);
        let is_given_back = owner.len() < text.len();
        let with_losses = owner.rsplit_once(LOSSES).and_then(|(name, rest)| {
            let (losses, step) = rest.split_once('@')?;
            Some(RunOwner {
                name,
                losses: losses.parse().ok()?,
                is_given_back,
                step: step.parse().ok()?,
            })
        });
        with_losses.unwrap_or(RunOwner {
            name: owner,
            losses: 0,
            is_given_back,
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
        let is_lost = !self.is_given_back && self.name != name;
        RunOwner {
            name,
            losses: before.saturating_add(u32::from(is_lost)),
            is_given_back: false,
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

    #[test]
    fn who_gives_a_run_back_adds_no_loss_and_forgets_none() {
        for (given_back, next) in [
            ("-a", "b"),
            ("-a lost:2@3", "b lost:2@3"),
            ("--a lost:2@3", "b lost:2@3"),
            ("-a lost:2@2", "b"),
        ] {
            let owner = RunOwner::parse(given_back);
            assert_eq!(owner.claimed_by("b", 3).to_text(), next, "{given_back}");
        }
        assert!(GIVE_BACK.contains(&format!("'{GIVEN_BACK}'")));
    }
}
