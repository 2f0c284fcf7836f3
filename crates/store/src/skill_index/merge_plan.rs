//! Which blocks to merge: so few remain that a query reads few pages, and so seldom that a
//! document is copied a few times in its life. While skills are uploaded one after the other, most
//! blocks wait for others of their size. Once an index is not changing, they are merged anyway: a
//! query reads the pages of its terms in each of them.
//!
//! Blocks are merged with their neighbours only, so that the numbers of a block's documents
//! never overlap those of another.

use std::ops::Range;

use super::limits::{MAX_BLOCK_DOCUMENTS, MAX_RECENT_DOCUMENTS, MERGED_BLOCKS, QUIET_MERGE_RATIO};

/// Neighbouring blocks below a size that are not merged, whatever they have.
const MAX_SMALL_BLOCKS: usize = 3 * MERGED_BLOCKS;

/// How many documents a block has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockSize {
    pub(super) live: u64,
    pub(super) dead: u64,
}

/// The neighbouring blocks to merge next, of those in order of their numbers.
///
/// A merge gives a block of the next larger size, so each document is copied once per size.
/// Where blocks are small for another reason, as their documents are large or were deleted,
/// many of them are merged too.
pub(super) fn plan_merge(blocks: &[BlockSize]) -> Option<Range<usize>> {
    let rewrite = blocks.iter().position(|block| block.dead > block.live);
    if let Some(at) = rewrite {
        return Some(at..at + 1);
    }
    let mut limit = u64::try_from(MAX_RECENT_DOCUMENTS).unwrap_or(1);
    while limit < MAX_BLOCK_DOCUMENTS {
        limit = limit
            .saturating_mul(MERGED_BLOCKS as u64)
            .min(MAX_BLOCK_DOCUMENTS);
        let run = runs(blocks, limit).find(|run| {
            let live = blocks.get(run.clone()).unwrap_or_default();
            let live: u64 = live.iter().map(|block| block.live).sum();
            run.len() > 1 && (live >= limit || run.len() > MAX_SMALL_BLOCKS)
        });
        if run.is_some() {
            return run;
        }
    }
    None
}

/// The blocks to merge next of an index that is not changing: the last ones, beginning with the
/// first that is not much larger than all after it together.
///
/// Of those that remain, each is more than [`QUIET_MERGE_RATIO`] times as large as all later ones,
/// unless together they were too large for a block.
pub(super) fn plan_quiet_merge(blocks: &[BlockSize]) -> Option<Range<usize>> {
    let mut plan = None;
    let mut later = 0u64;
    for (at, block) in blocks.iter().enumerate().rev() {
        if later + block.live > MAX_BLOCK_DOCUMENTS {
            break;
        }
        if at + 1 < blocks.len() && block.live <= QUIET_MERGE_RATIO.saturating_mul(later) {
            plan = Some(at..blocks.len());
        }
        later += block.live;
    }
    plan
}

/// The neighbouring blocks that are each below a limit.
fn runs(blocks: &[BlockSize], limit: u64) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let is_small = |block: &BlockSize| block.live < limit;
        let start = at + blocks.get(at..)?.iter().position(is_small)?;
        let rest = blocks.get(start..)?.iter();
        at = start + rest.take_while(|block| is_small(block)).count();
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn live(sizes: &[u64]) -> Vec<BlockSize> {
        sizes
            .iter()
            .map(|live| BlockSize {
                live: *live,
                dead: 0,
            })
            .collect()
    }

    #[test]
    fn neighbours_of_one_size_are_merged() {
        assert_eq!(plan_merge(&live(&[4, 4])), None);
        assert_eq!(plan_merge(&live(&[4, 4, 4])), Some(0..3));
        assert_eq!(plan_merge(&live(&[12, 12, 4, 4])), None);
        assert_eq!(plan_merge(&live(&[12, 12, 4, 4, 4])), Some(2..5));
        assert_eq!(plan_merge(&live(&[12, 12, 12])), Some(0..3));
        assert_eq!(plan_merge(&live(&[40, 40, 40, 40])), None);
    }

    #[test]
    fn a_block_is_rewritten_when_most_of_it_is_dead() {
        let mut blocks = live(&[40, 20, 4]);
        blocks[1].dead = 20;
        assert_eq!(plan_merge(&blocks), None);
        blocks[1].dead = 21;
        assert_eq!(plan_merge(&blocks), Some(1..2));
    }

    #[test]
    fn the_last_blocks_are_merged_once_an_index_is_not_changing() {
        let plan = |sizes: &[u64]| plan_quiet_merge(&live(sizes));
        assert_eq!(plan(&[]), None);
        assert_eq!(plan(&[4]), None);
        assert_eq!(plan(&[4, 4]), Some(0..2));
        assert_eq!(plan(&[12, 4]), Some(0..2));
        assert_eq!(plan(&[13, 4]), None);
        assert_eq!(plan(&[24, 4, 4]), Some(0..3));
        assert_eq!(plan(&[25, 4, 4]), Some(1..3));
        // Together they would be too large.
        assert_eq!(plan(&[30, 12]), None);
        assert_eq!(plan(&[30, 8, 4]), Some(1..3));
        assert_eq!(plan(&[40, 40]), None);
    }

    proptest! {
        #[test]
        fn an_index_that_is_not_changing_has_a_few_blocks(
            mut sizes in prop::collection::vec(0..30u64, 0..40),
        ) {
            let mut rounds = 0;
            while let Some(run) = plan_quiet_merge(&live(&sizes)) {
                prop_assert!(run.len() > 1 && run.end == sizes.len());
                let merged: u64 = sizes[run.clone()].iter().sum();
                prop_assert!(merged <= MAX_BLOCK_DOCUMENTS);
                sizes.splice(run, (merged > 0).then_some(merged));
                rounds += 1;
                prop_assert!(rounds <= 40, "merging does not end: {:?}", sizes);
            }
            // All but those that are too large together.
            let mut last = 0;
            for (at, size) in sizes.iter().enumerate().rev() {
                if last + size > MAX_BLOCK_DOCUMENTS {
                    break;
                }
                prop_assert!(at + 1 == sizes.len() || *size > QUIET_MERGE_RATIO * last);
                last += size;
            }
        }

        /// However documents die, few blocks remain and merging ends.
        #[test]
        fn few_blocks_remain(deaths in prop::collection::vec((0..1_000usize, any::<bool>()), 200)) {
            let mut blocks: Vec<BlockSize> = Vec::new();
            for (at, dies) in deaths {
                blocks.push(BlockSize { live: 4, dead: 0 });
                let count = blocks.len();
                if dies && let Some(block) = blocks.get_mut(at % count) && block.live > 0 {
                    block.live -= 1;
                    block.dead += 1;
                }
                for round in 0.. {
                    let Some(run) = plan_merge(&blocks) else { break };
                    prop_assert!(round < 20, "merging does not end: {:?}", blocks);
                    let live = blocks[run.clone()].iter().map(|block| block.live).sum();
                    let merged = (live > 0).then_some(BlockSize { live, dead: 0 });
                    blocks.splice(run, merged);
                }
            }
            let documents: u64 = blocks.iter().map(|block| block.live).sum();
            prop_assert!(blocks.len() as u64 <= documents / 12 + 16, "{:?}", blocks);
        }
    }
}
