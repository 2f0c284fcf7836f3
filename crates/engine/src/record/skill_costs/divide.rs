//! Dividing the tokens of one turn by the pieces of its prompt and by its calls. Pure: every
//! total is divided without remainder.

use std::collections::BTreeMap;

use prowess_store::PartCost;
use prowess_wire::neutral::TokenUsage;

use super::segment::{Segment, SegmentOwner};

/// The tokens of a turn by owner, without costs. Owners that got nothing may be missing.
pub(super) type DividedTurn = BTreeMap<SegmentOwner, PartCost>;

/// One of the counts.
type CountField = fn(&mut PartCost) -> &mut u64;

/// Divides the tokens of a turn. Their sum over all owners is `usage`, kind by kind.
pub(super) fn divide_turn(
    prompt: &[Segment],
    calls: &[Segment],
    usage: &TokenUsage,
) -> DividedTurn {
    let mut divided = DividedTurn::new();
    // In the order in which they are in a prompt.
    let kinds: [(u64, CountField); 3] = [
        (usage.cache_read_input_tokens, |part| {
            &mut part.cache_read_tokens
        }),
        (usage.cache_creation_input_tokens, |part| {
            &mut part.cache_write_tokens
        }),
        (usage.input_tokens, |part| &mut part.input_tokens),
    ];
    let all: u128 = kinds.iter().map(|(tokens, _)| u128::from(*tokens)).sum();
    let bytes = count_bytes(prompt);
    let mut begin = 0;
    for (tokens, field) in kinds {
        let end = begin + u128::from(tokens);
        let weights = stretch_weights(prompt, all, begin * bytes, end * bytes);
        for (owner, count) in divide(tokens, &weights, bytes) {
            *field(divided.entry(owner).or_default()) += count;
        }
        begin = end;
    }
    for (owner, count) in divide_evenly(usage.output_tokens, calls) {
        divided.entry(owner).or_default().output_tokens += count;
    }
    divided
}

/// Divides a total by the bytes of pieces, wherever they are.
pub(super) fn divide_evenly(total: u64, pieces: &[Segment]) -> BTreeMap<SegmentOwner, u64> {
    let mut weights = BTreeMap::new();
    for piece in pieces {
        let weight: &mut u128 = weights.entry(piece.owner).or_default();
        *weight += u128::from(piece.bytes) * u128::from(total);
    }
    divide(total, &weights, count_bytes(pieces))
}

fn count_bytes(pieces: &[Segment]) -> u128 {
    pieces.iter().map(|piece| u128::from(piece.bytes)).sum()
}

/// How much each owner has of a stretch of the prompt. A prompt of B bytes and T tokens is
/// measured in units of which it has B × T, so that both a byte and a token are whole numbers of
/// them: a byte is T (`all`) units, and a token B.
fn stretch_weights(
    prompt: &[Segment],
    all: u128,
    begin: u128,
    end: u128,
) -> BTreeMap<SegmentOwner, u128> {
    let mut weights = BTreeMap::new();
    let mut at = 0;
    for piece in prompt {
        let piece_end = at + u128::from(piece.bytes) * all;
        let overlap = piece_end.min(end).saturating_sub(at.max(begin));
        if overlap > 0 {
            *weights.entry(piece.owner).or_default() += overlap;
        }
        at = piece_end;
        if at >= end {
            break;
        }
    }
    weights
}

/// Divides a total by weights, whose sum is `total * unit`. What is left by rounding goes to the
/// largest remainders, and of equal ones to the first. Without weights all of it is no skill's.
fn divide(
    total: u64,
    weights: &BTreeMap<SegmentOwner, u128>,
    unit: u128,
) -> BTreeMap<SegmentOwner, u64> {
    if unit == 0 {
        return BTreeMap::from([(None, total)]);
    }
    let mut parts = BTreeMap::new();
    let mut remainders = Vec::new();
    let mut left = total;
    for (owner, weight) in weights {
        let part = u64::try_from(weight / unit).unwrap_or(u64::MAX);
        left = left.saturating_sub(part);
        parts.insert(*owner, part);
        remainders.push((weight % unit, *owner));
    }
    remainders.sort_by(|(a, _), (b, _)| b.cmp(a));
    // Fewer are left than there are owners.
    for (_, owner) in remainders {
        if left == 0 {
            break;
        }
        left -= 1;
        *parts.entry(owner).or_default() += 1;
    }
    parts
}
