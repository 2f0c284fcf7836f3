//! The price of a model's tokens.

use prowess_wire::neutral::TokenUsage;

/// Prices per million tokens, in any one currency.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Price {
    /// Of input.
    pub input: f64,
    /// Of output.
    pub output: f64,
    /// Of input read from a cache. Default: the price of input.
    pub cache_read: Option<f64>,
    /// Of input written to a cache. Default: the price of input.
    pub cache_write: Option<f64>,
}

/// Billionths per token, for a price of 1 per million tokens.
const NANOS_PER_TOKEN: f64 = 1_000.0;

impl Price {
    /// The cost of tokens, in billionths of the currency.
    pub fn cost_nanos(&self, usage: &TokenUsage) -> u64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price * NANOS_PER_TOKEN;
        let cost = part(usage.input_tokens, self.input)
            + part(usage.output_tokens, self.output)
            + part(
                usage.cache_read_input_tokens,
                self.cache_read.unwrap_or(self.input),
            )
            + part(
                usage.cache_creation_input_tokens,
                self.cache_write.unwrap_or(self.input),
            );
        // Prices are validated to be finite and not negative.
        cost.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cost_by_the_million_and_cached_ones_their_own_price() {
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: None,
        };
        let usage = TokenUsage {
            input_tokens: 1_000,
            output_tokens: 100,
            cache_read_input_tokens: 10_000,
            cache_creation_input_tokens: 10,
            ..TokenUsage::default()
        };
        // 0.003 + 0.0015 + 0.003 + 0.00003
        assert_eq!(price.cost_nanos(&usage), 7_530_000);
    }
}
