//! The prices of an entry, by their names in the table, and as a part of its line.

use serde_json::{Map, Value, json};

use super::price_list::PriceEntry;
use super::table_row::field;

/// Tokens per price.
const MILLION: f64 = 1e6;
/// What encloses the thousands of tokens of input above which a model has other prices.
const LONG_INPUT: (&str, &str) = ("input_cost_per_token_above_", "k_tokens");
/// Tiers, their suffix in a price list, and by what they multiply prices if the table does not say
/// it.
const TIERS: [(&str, &str, f64); 3] = [
    ("batch", "batches", 0.5),
    ("flex", "flex", 0.5),
    ("priority", "priority", 1.0),
];
/// The price of input that a cache holds for an hour, if the table does not say it.
const HOUR_FACTOR: f64 = 2.0;

/// Prices per million tokens.
#[derive(Default)]
pub(super) struct ListedPrice {
    /// By its name in the table.
    amounts: Vec<(&'static str, f64)>,
    /// Those of some requests, and of some tokens.
    special: Vec<(&'static str, Value)>,
}

impl ListedPrice {
    /// Where tokens of images or sound have a price of their own, and are what a model is for, the
    /// highest one counts: a response's counts do not tell them apart.
    pub(super) fn from_entry(
        entry: &PriceEntry<'_>,
        task: &str,
        model: &str,
    ) -> anyhow::Result<ListedPrice> {
        let is_chat = task == "chat";
        let highest = |fields: [&str; 3]| -> anyhow::Result<Option<f64>> {
            let mut costs = Vec::new();
            for field in fields.iter().take(if is_chat { 1 } else { 3 }) {
                costs.extend(entry.cost(field)?);
            }
            Ok(costs.into_iter().reduce(f64::max))
        };
        let input = highest([
            "input_cost_per_token",
            "input_cost_per_image_token",
            "input_cost_per_audio_token",
        ])?;
        let output = highest([
            "output_cost_per_token",
            "output_cost_per_image_token",
            "output_cost_per_audio_token",
        ])?;
        let generates = !matches!(task, "embedding" | "rerank" | "moderation");
        let output = output.or((!generates).then_some(0.0));
        let (Some(input), Some(output)) = (input, output) else {
            return Ok(ListedPrice::default());
        };
        // Nothing is free unless it says so: it is sold by another measure, or the price is
        // unknown.
        if input == 0.0 && output == 0.0 && task != "moderation" && !model.ends_with("free") {
            return Ok(ListedPrice::default());
        }
        let mut amounts = vec![
            ("input", per_million(input)),
            ("output", per_million(output)),
        ];
        let read = entry.cost("cache_read_input_token_cost")?;
        amounts.extend(read.map(|cost| ("cache_read", per_million(cost))));
        let write = entry.cost("cache_creation_input_token_cost")?;
        amounts.extend(write.map(|cost| ("cache_write", per_million(cost))));
        let hour = entry.cost("cache_creation_input_token_cost_above_1hr")?;
        let hour = hour.map(per_million);
        let hour = hour.filter(|hour| *hour != per_million(HOUR_FACTOR * input));
        amounts.extend(hour.map(|cost| ("cache_write_1h", cost)));
        let special = match is_chat {
            true => special_prices(entry, input, output)?,
            false => Vec::new(),
        };
        Ok(ListedPrice { amounts, special })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.amounts.is_empty()
    }

    pub(super) fn to_json(&self) -> String {
        let amounts = self.amounts.iter();
        let mut fields: Vec<String> = amounts
            .map(|(name, amount)| field(&(*name, json!(amount))))
            .collect();
        if !self.special.is_empty() {
            let special: Vec<String> = self.special.iter().map(field).collect();
            fields.push(format!("\"special\":{{{}}}", special.join(",")));
        }
        format!("{{{}}}", fields.join(","))
    }
}

/// What is not standard: sound, long inputs, tiers.
fn special_prices(
    entry: &PriceEntry<'_>,
    input: f64,
    output: f64,
) -> anyhow::Result<Vec<(&'static str, Value)>> {
    let mut special = Vec::new();
    for (name, listed, standard) in [
        ("audio_input", "input_cost_per_audio_token", input),
        ("audio_output", "output_cost_per_audio_token", output),
    ] {
        let cost = entry.cost(listed)?.filter(|cost| *cost != standard);
        special.extend(cost.map(|cost| (name, json!(per_million(cost)))));
    }
    special.extend(long_price(entry, output)?.map(|long| ("long", long)));
    for (name, suffix, standard) in TIERS {
        let cost = entry.cost(&format!("input_cost_per_token_{suffix}"))?;
        let factor = cost
            .filter(|_| input > 0.0)
            .map(|cost| rounded(cost / input));
        let factor = factor.filter(|factor| *factor != standard);
        special.extend(factor.map(|factor| (name, json!(factor))));
    }
    Ok(special)
}

/// The prices of requests with a long input: above the lowest limit, if there are several.
fn long_price(entry: &PriceEntry<'_>, base_output: f64) -> anyhow::Result<Option<Value>> {
    let limits = entry.fields().filter_map(|field| {
        let rest = field.strip_prefix(LONG_INPUT.0)?;
        rest.strip_suffix(LONG_INPUT.1)?.parse::<u32>().ok()
    });
    let Some(thousands) = limits.min() else {
        return Ok(None);
    };
    let cost = |field: &str| entry.cost(&format!("{field}_above_{thousands}k_tokens"));
    let Some(input) = cost("input_cost_per_token")? else {
        return Ok(None);
    };
    let output = cost("output_cost_per_token")?.unwrap_or(base_output);
    let mut long = Map::new();
    long.insert("above".to_owned(), json!(u64::from(thousands) * 1_000));
    for (name, price) in [
        ("input", Some(input)),
        ("output", Some(output)),
        ("cache_read", cost("cache_read_input_token_cost")?),
        ("cache_write", cost("cache_creation_input_token_cost")?),
    ] {
        long.extend(price.map(|price| (name.to_owned(), json!(per_million(price)))));
    }
    Ok(Some(long.into()))
}

/// Costs per token are rounded in binary.
fn per_million(cost: f64) -> f64 {
    rounded(cost * MILLION)
}

fn rounded(number: f64) -> f64 {
    (number * MILLION).round() / MILLION
}
