//! What a request cost, counted as Anthropic counts: cached input apart from input.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Map, PriceDetails, ServiceTier};

/// Tokens a request cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Input that was neither read from nor written to a cache.
    pub input_tokens: u64,
    /// Output, thinking included.
    pub output_tokens: u64,
    /// Input read from a cache.
    pub cache_read_input_tokens: u64,
    /// Input written to a cache.
    pub cache_creation_input_tokens: u64,
    /// The part of the output that was thinking.
    pub thinking_tokens: u64,
    /// What decides about the cost besides; most responses have nothing of it. Boxed, as it would
    /// double the size of every event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<PriceDetails>>,
    /// Counts of the provider that no codec understands.
    pub rest: Map,
}

impl TokenUsage {
    /// All input, cached or not.
    pub fn total_input(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_read_input_tokens)
            .saturating_add(self.cache_creation_input_tokens)
    }

    /// Takes the maximum of each count of the same message.
    pub fn merge_max(&mut self, other: &TokenUsage) {
        for (mine, theirs) in [
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (
                &mut self.cache_read_input_tokens,
                other.cache_read_input_tokens,
            ),
            (
                &mut self.cache_creation_input_tokens,
                other.cache_creation_input_tokens,
            ),
            (&mut self.thinking_tokens, other.thinking_tokens),
        ] {
            *mine = theirs.max(*mine);
        }
        if let Some(theirs) = &other.details {
            self.details.get_or_insert_default().merge_max(theirs);
        }
    }

    /// What was used after `earlier`, count by count.
    #[must_use]
    pub fn since(&self, earlier: &TokenUsage) -> TokenUsage {
        let details = match (&self.details, &earlier.details) {
            (Some(details), Some(earlier)) => Some(Box::new(details.since(earlier))),
            (details, _) => details.clone(),
        };
        TokenUsage {
            input_tokens: self.input_tokens.saturating_sub(earlier.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(earlier.output_tokens),
            cache_read_input_tokens: self
                .cache_read_input_tokens
                .saturating_sub(earlier.cache_read_input_tokens),
            cache_creation_input_tokens: self
                .cache_creation_input_tokens
                .saturating_sub(earlier.cache_creation_input_tokens),
            thinking_tokens: self.thinking_tokens.saturating_sub(earlier.thinking_tokens),
            details,
            rest: Map::new(),
        }
    }

    /// The service tier that served it, unless it is the usual one.
    pub fn tier(&self) -> Option<ServiceTier> {
        self.details.as_ref().and_then(|details| details.tier)
    }

    /// Sets the service tier, in place of any other.
    pub fn set_tier(&mut self, tier: Option<ServiceTier>) {
        if tier.is_some() || self.details.is_some() {
            self.details.get_or_insert_default().tier = tier;
        }
    }

    /// Sets how often the provider's servers searched the web, if they did.
    pub fn set_web_searches(&mut self, searches: u64) {
        if searches > 0 {
            self.details.get_or_insert_default().web_searches = searches;
        }
    }

    /// Adds the usage of another turn of the same run. Of the counts no codec
    /// understands, numbers are added up, also those of one modality in a list; other lists
    /// grow, and the rest is the later turn's.
    pub fn add(&mut self, other: &TokenUsage) {
        for (mine, theirs) in [
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (
                &mut self.cache_read_input_tokens,
                other.cache_read_input_tokens,
            ),
            (
                &mut self.cache_creation_input_tokens,
                other.cache_creation_input_tokens,
            ),
            (&mut self.thinking_tokens, other.thinking_tokens),
        ] {
            *mine = mine.saturating_add(theirs);
        }
        if let Some(theirs) = &other.details {
            self.details.get_or_insert_default().add(theirs);
        }
        add_counts(&mut self.rest, &other.rest);
    }
}

fn add_counts(mine: &mut Map, theirs: &Map) {
    for (key, value) in theirs {
        match (mine.get_mut(key), value) {
            (Some(Value::Object(a)), Value::Object(b)) => add_counts(a, b),
            (Some(Value::Array(a)), Value::Array(b)) => b.iter().for_each(|item| add_item(a, item)),
            (Some(slot), value) => {
                *slot = sum(slot, value).unwrap_or_else(|| value.clone());
            }
            (None, value) => {
                mine.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Adds an item to a list: Gemini counts the tokens of each modality in one.
fn add_item(list: &mut Vec<Value>, item: &Value) {
    let modality = item.get("modality").filter(|modality| modality.is_string());
    let same = list
        .iter_mut()
        .filter(|_| modality.is_some())
        .find(|known| known.get("modality") == modality);
    match (same, item) {
        (Some(Value::Object(known)), Value::Object(item)) => add_counts(known, item),
        _ => list.push(item.clone()),
    }
}

/// Two counts, or two costs, as one.
fn sum(a: &Value, b: &Value) -> Option<Value> {
    if let (Some(a), Some(b)) = (a.as_u64(), b.as_u64()) {
        return Some(a.saturating_add(b).into());
    }
    Some((a.as_f64()? + b.as_f64()?).into())
}
