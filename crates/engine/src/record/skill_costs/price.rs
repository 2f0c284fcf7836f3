//! The cost of the parts, by the prices of the turn that they are of.

use prowess_provider::config::TokenRates;
use prowess_store::PartCost;

/// The cost of a part of a turn's tokens, rounded down, so that no skill gets what is left.
pub(super) fn part_nanos(rates: &TokenRates, part: &PartCost) -> u64 {
    let cost = rates.nanos(
        part.input_tokens,
        part.output_tokens,
        part.cache_read_tokens,
        part.cache_write_tokens,
    );
    // Prices are validated to be finite and not negative.
    cost.floor() as u64
}
