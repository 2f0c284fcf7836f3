//! What a request cost, counted as Anthropic counts: cached input apart from input.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Map;

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
    }

    /// Adds the usage of another turn of the same run. Of the counts no codec
    /// understands, numbers are added up, lists grow and the rest is the later turn's.
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
        add_counts(&mut self.rest, &other.rest);
    }
}

fn add_counts(mine: &mut Map, theirs: &Map) {
    for (key, value) in theirs {
        match (mine.get_mut(key), value) {
            (Some(Value::Object(a)), Value::Object(b)) => add_counts(a, b),
            (Some(Value::Array(a)), Value::Array(b)) => a.extend(b.iter().cloned()),
            (Some(slot), value) => {
                *slot = sum(slot, value).unwrap_or_else(|| value.clone());
            }
            (None, value) => {
                mine.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Two counts, or two costs, as one.
fn sum(a: &Value, b: &Value) -> Option<Value> {
    if let (Some(a), Some(b)) = (a.as_u64(), b.as_u64()) {
        return Some(a.saturating_add(b).into());
    }
    Some((a.as_f64()? + b.as_f64()?).into())
}
