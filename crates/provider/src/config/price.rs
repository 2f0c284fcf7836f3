//! What a model costs, and what a response of it has cost.

use prowess_wire::neutral::{PriceDetails, ServiceTier, TokenUsage};

use crate::known_models;

/// Prices per million tokens, in any one currency.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Price {
    /// Of input.
    pub input: f64,
    /// Of output.
    pub output: f64,
    /// Of input read from a cache. Default: the price of input.
    pub cache_read: Option<f64>,
    /// Of input written to a cache. Default: the price of input.
    pub cache_write: Option<f64>,
    /// Of input written to a cache that stays there for an hour. Default: twice the price of
    /// input, as with the only vendor that has such a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
    /// Of a thousand searches of the web by the provider's servers. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_search: Option<f64>,
    /// Where some requests have other prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub special: Option<Box<SpecialPrices>>,
}

/// Prices of some requests, and of some tokens.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SpecialPrices {
    /// Of a thousand requests that search the web, however often, instead of the searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searching_requests: Option<f64>,
    /// Of a million tokens of sound in the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_input: Option<f64>,
    /// Of a million tokens of sound in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_output: Option<f64>,
    /// Of requests with a long input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPrice>,
    /// By what all prices of tokens are multiplied in a vendor's batch. Default: a half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<f64>,
    /// The same for the tier `flex`. Default: a half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flex: Option<f64>,
    /// The same for the tier `priority`. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// The same for Anthropic's fast mode. Default: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast: Option<f64>,
}

/// Prices of requests whose input has more tokens than a limit, for all of their tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LongPrice {
    /// The limit: all input, cached or not.
    pub above: u64,
    /// Of a million tokens of input.
    pub input: f64,
    /// Of a million tokens of output.
    pub output: f64,
    /// Of a million tokens read from a cache. Default: the price of input here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Of a million tokens written to a cache. Default: the price of input here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// Billionths per token, for a price of 1 per million tokens.
const NANOS_PER_TOKEN: f64 = 1_000.0;
/// Billionths per piece, for a price of 1 per thousand.
const NANOS_PER_PIECE: f64 = 1_000_000.0;
/// The price of input that a cache holds for an hour, in prices of input.
const HOUR_FACTOR: f64 = 2.0;
/// What the vendors that have these tiers charge for them.
const BATCH_FACTOR: f64 = 0.5;
const FLEX_FACTOR: f64 = 0.5;
const FAST_FACTOR: f64 = 2.0;
/// What Anthropic charges for responses that do not leave the United States.
const US_ONLY_FACTOR: f64 = 1.1;

/// The prices per million tokens that hold for one response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenRates {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

impl TokenRates {
    /// The cost of tokens of the response, in billionths of the currency, not rounded: of input,
    /// output, input read from and written to a cache.
    pub fn nanos(&self, input: u64, output: u64, cache_read: u64, cache_write: u64) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price * NANOS_PER_TOKEN;
        part(input, self.input)
            + part(output, self.output)
            + part(cache_read, self.cache_read)
            + part(cache_write, self.cache_write)
    }

    fn scale(&mut self, factor: f64) {
        for rate in [
            &mut self.input,
            &mut self.output,
            &mut self.cache_read,
            &mut self.cache_write,
        ] {
            *rate *= factor;
        }
    }
}

impl Price {
    /// The cost of one response, in billionths of the currency. A sum of several has no price:
    /// what a token costs depends on its response.
    pub fn cost_nanos(&self, usage: &TokenUsage) -> u64 {
        let tokens = self.rates(usage).nanos(
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
        );
        let fees = usage.details.as_ref();
        let fees = fees.map_or(0.0, |details| self.fees(details));
        // Prices are validated to be finite and not negative.
        (tokens + fees).round() as u64
    }

    /// The prices of a response's tokens. Where a count has tokens of several prices, each costs
    /// their average, so that parts of the count can be priced alone.
    pub fn rates(&self, usage: &TokenUsage) -> TokenRates {
        let mut rates = self.rates_by_length(usage);
        let Some(details) = &usage.details else {
            return rates;
        };
        let special = self.special.as_deref();
        rates.cache_write = average(
            (usage.cache_creation_input_tokens, rates.cache_write),
            (details.cache_creation_1h_tokens, self.hour_rate(&rates)),
        );
        if let Some(price) = special.and_then(|special| special.audio_input) {
            let sound = (details.audio_input_tokens, price);
            rates.input = average((usage.input_tokens, rates.input), sound);
        }
        if let Some(price) = special.and_then(|special| special.audio_output) {
            let sound = (details.audio_output_tokens, price);
            rates.output = average((usage.output_tokens, rates.output), sound);
        }
        rates.scale(self.factor(details));
        rates
    }

    /// Whether everything is free. A price of searches that is set counts: nobody sets one for
    /// what costs nothing.
    pub fn is_free(&self) -> bool {
        self.input == 0.0 && self.output == 0.0 && self.web_search.unwrap_or_default() == 0.0
    }

    fn rates_by_length(&self, usage: &TokenUsage) -> TokenRates {
        let long = self.special.as_ref().and_then(|special| special.long);
        match long.filter(|long| usage.total_input() > long.above) {
            Some(long) => TokenRates {
                input: long.input,
                output: long.output,
                cache_read: long.cache_read.unwrap_or(long.input),
                cache_write: long.cache_write.unwrap_or(long.input),
            },
            None => TokenRates {
                input: self.input,
                output: self.output,
                cache_read: self.cache_read.unwrap_or(self.input),
                cache_write: self.cache_write.unwrap_or(self.input),
            },
        }
    }

    /// The price of input that a cache holds for an hour, where input costs this much.
    fn hour_rate(&self, rates: &TokenRates) -> f64 {
        match self.cache_write_1h {
            Some(price) if self.input > 0.0 => price * rates.input / self.input,
            Some(price) => price,
            None => HOUR_FACTOR * rates.input,
        }
    }

    /// By what the way in which a response was served multiplies its price.
    fn factor(&self, details: &PriceDetails) -> f64 {
        let special = self.special.as_deref();
        let factor = |get: fn(&SpecialPrices) -> Option<f64>| special.and_then(get);
        let tier = match details.tier {
            None => 1.0,
            Some(ServiceTier::Batch) => factor(|special| special.batch).unwrap_or(BATCH_FACTOR),
            Some(ServiceTier::Flex) => factor(|special| special.flex).unwrap_or(FLEX_FACTOR),
            Some(ServiceTier::Priority) => factor(|special| special.priority).unwrap_or(1.0),
            Some(ServiceTier::Fast) => factor(|special| special.fast).unwrap_or(FAST_FACTOR),
        };
        match details.in_us_only {
            true => tier * US_ONLY_FACTOR,
            false => tier,
        }
    }

    /// What is paid besides the tokens, in billionths.
    fn fees(&self, details: &PriceDetails) -> f64 {
        let per_request = self.special.as_ref();
        let per_request = per_request.and_then(|special| special.searching_requests);
        let searches = match per_request {
            Some(price) if details.web_searches > 0 => price,
            Some(_) => 0.0,
            None => details.web_searches as f64 * self.web_search.unwrap_or(0.0),
        };
        let others = details.other_models.iter().map(|other| {
            // What calls another model for nothing pays nothing for that one either.
            let known = || known_models::price("anthropic", &other.model);
            let price = (!self.is_free()).then(known).flatten();
            price.as_ref().unwrap_or(self).cost_nanos(&other.usage) as f64
        });
        searches * NANOS_PER_PIECE + others.sum::<f64>()
    }
}

/// The price of each token of a count, of which a part has another price.
fn average((all, price): (u64, f64), (part, of_part): (u64, f64)) -> f64 {
    let part = part.min(all);
    if part == 0 {
        return price;
    }
    let rest = (all - part) as f64 * price;
    (rest + part as f64 * of_part) / all as f64
}

#[cfg(test)]
mod tests;
