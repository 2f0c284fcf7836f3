//! Which skills there are, told within a budget.

use crate::spec::Member;
use prowess_skill::disclose::catalogue_entry;

/// Least bytes of an entry that still say what the skill is about.
const MIN_ENTRY_BYTES: usize = 96;

/// The skills that a model may load by itself.
pub(crate) fn loadable(members: &[Member]) -> impl Iterator<Item = &Member> {
    members.iter().filter(|m| m.skill.invocation.by_model)
}

/// A catalogue and whether it tells everything.
#[derive(Debug)]
pub(crate) struct CatalogueText {
    pub(crate) text: String,
    /// Skills that did not fit at all.
    pub(crate) omitted: usize,
}

/// A line per skill, in order. When they do not fit, every description is cut to an
/// equal share before any skill is left out: one that is not named is never used.
pub(crate) fn render_catalogue(members: &[Member], budget: usize) -> CatalogueText {
    let count = loadable(members).count();
    let whole: usize = loadable(members)
        .map(|m| catalogue_entry(&m.skill, usize::MAX).len() + 1)
        .sum();
    let share = match whole <= budget {
        true => usize::MAX,
        false => (budget / count.max(1))
            .saturating_sub(1)
            .max(MIN_ENTRY_BYTES),
    };
    let mut text = String::new();
    let mut omitted = 0;
    for member in loadable(members) {
        let line = catalogue_entry(&member.skill, share);
        if omitted == 0 && text.len() + line.len() < budget {
            text.push_str(&line);
            text.push('\n');
        } else {
            omitted += 1;
        }
    }
    CatalogueText { text, omitted }
}
