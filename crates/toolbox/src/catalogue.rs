//! The list of skills within a budget.

use crate::spec::Member;
use prowess_skill::disclose::catalogue_entry;

/// Bytes of an entry that are enough to describe the skill.
const MIN_ENTRY_BYTES: usize = 96;

/// The skills that a model may load by itself.
pub(crate) fn loadable(members: &[Member]) -> impl Iterator<Item = &Member> {
    members.iter().filter(|m| m.skill.invocation.by_model)
}

/// A catalogue, and how many skills it omits.
#[derive(Debug)]
pub(crate) struct CatalogueText {
    pub(crate) text: String,
    /// Skills that did not fit.
    pub(crate) omitted: usize,
}

/// A line per skill, in order. If they do not fit, every description is cut to an equal
/// share before any skill is omitted: one that is not listed is never used.
pub(crate) fn render_catalogue(members: &[Member], budget: usize) -> CatalogueText {
    let count = loadable(members).count();
    let whole: usize = loadable(members)
        .map(|m| catalogue_entry(&m.skill, usize::MAX).len() + 1)
        .sum();
    let share = if whole <= budget {
        usize::MAX
    } else {
        (budget / count.max(1))
            .saturating_sub(1)
            .max(MIN_ENTRY_BYTES)
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
