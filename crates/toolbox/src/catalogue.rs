//! The list of skills within a budget.

use crate::spec::Member;
use prowess_skill::disclose::CatalogueLine;

/// Bytes of a description that are enough for a few words.
const MIN_TEXT_BYTES: usize = 20;

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

/// A line per skill, in order. If they do not fit, long descriptions are cut to the same length,
/// down to a few words, before any skill is omitted: one that is not listed is rarely used.
pub(crate) fn render_catalogue(members: &[Member], budget: usize) -> CatalogueText {
    let lines: Vec<CatalogueLine> = loadable(members)
        .map(|m| CatalogueLine::new(&m.skill))
        .collect();
    // With the ends of the lines.
    let heads: usize = lines.iter().map(|line| line.head_bytes() + 1).sum();
    let texts = lines.iter().map(CatalogueLine::text_bytes).collect();
    let share = fair_share(texts, budget.saturating_sub(heads)).max(MIN_TEXT_BYTES);
    let mut text = String::new();
    let mut omitted = 0;
    for line in lines {
        let line = line.shortened(share);
        if omitted == 0 && text.len() + line.len() < budget {
            text.push_str(&line);
            text.push('\n');
        } else {
            omitted += 1;
        }
    }
    CatalogueText { text, omitted }
}

/// The length to which texts must be cut so that all of them fit; what short ones leave goes to
/// the others.
fn fair_share(mut lengths: Vec<usize>, budget: usize) -> usize {
    lengths.sort_unstable();
    let mut left = budget;
    for (done, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - done);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}
