//! The cost of the parts, by the price of a model.

use prowess_provider::config::Price;
use prowess_store::{PartCost, SkillCost};

/// Billionths per token, for a price of 1 per million tokens.
const NANOS_PER_TOKEN: f64 = 1_000.0;

/// Sets what the parts of skills cost, of tokens that cost `total_nanos` together with those of
/// no skill. Each is rounded down, so that no skill gets what is left, and never more than all.
pub fn price_skill_costs(costs: &mut [SkillCost], price: Option<&Price>, total_nanos: u64) {
    let mut left = total_nanos;
    for cost in costs {
        for part in [&mut cost.offered, &mut cost.loaded, &mut cost.used] {
            let nanos = price.map_or(0, |price| part_nanos(price, part));
            part.cost_nanos = nanos.min(left);
            left -= part.cost_nanos;
        }
    }
}

/// The cost of tokens, rounded down.
pub(super) fn part_nanos(price: &Price, part: &PartCost) -> u64 {
    let nanos = |tokens: u64, price: f64| tokens as f64 * price * NANOS_PER_TOKEN;
    let cost = nanos(part.input_tokens, price.input)
        + nanos(part.output_tokens, price.output)
        + nanos(
            part.cache_read_tokens,
            price.cache_read.unwrap_or(price.input),
        )
        + nanos(
            part.cache_write_tokens,
            price.cache_write.unwrap_or(price.input),
        );
    // Prices are validated to be finite and not negative.
    cost.floor() as u64
}
