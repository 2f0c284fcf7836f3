//! Which skills there are, told within a budget.

use crate::spec::Member;
use prowess_skill::disclose::catalogue_entry;

/// Least bytes of an entry that still say what the skill is about.
const SHORTEST: usize = 96;

/// The skills that a model may load by itself.
pub(crate) fn offered(members: &[Member]) -> impl Iterator<Item = &Member> {
    members.iter().filter(|m| m.skill.invocation.by_model)
}

/// A catalogue and whether it tells everything.
#[derive(Debug)]
pub(crate) struct Catalogue {
    pub(crate) text: String,
    /// Skills that did not fit at all.
    pub(crate) left_out: usize,
}

/// A line per skill, in order. When they do not fit, every description is cut to an
/// equal share before any skill is left out: one that is not named is never used.
pub(crate) fn write(members: &[Member], budget: usize) -> Catalogue {
    let count = offered(members).count();
    let whole: usize = offered(members)
        .map(|m| catalogue_entry(&m.skill, usize::MAX).len() + 1)
        .sum();
    let share = match whole <= budget {
        true => usize::MAX,
        false => (budget / count.max(1)).saturating_sub(1).max(SHORTEST),
    };
    let mut text = String::new();
    let mut left_out = 0;
    for member in offered(members) {
        let line = catalogue_entry(&member.skill, share);
        if left_out == 0 && text.len() + line.len() < budget {
            text.push_str(&line);
            text.push('\n');
        } else {
            left_out += 1;
        }
    }
    Catalogue { text, left_out }
}
