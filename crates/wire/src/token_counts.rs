//! The token counts of a response that is passed through: read from their text, without the
//! rest of the response.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::ClientDialect;
use crate::anthropic::usage::{compactions, price_details};
use crate::fields::as_whole_number;
use crate::gemini;
use crate::neutral::{PriceDetails, TokenUsage};
use crate::openai::{all_output, cached_input, first_count};

/// The field of a response that holds its token counts.
pub fn token_counts_key(client: ClientDialect) -> &'static str {
    match client {
        ClientDialect::Messages | ClientDialect::Chat | ClientDialect::Responses => "usage",
        ClientDialect::Gemini => "usageMetadata",
    }
}

/// Reads the token counts of a response in a client's dialect; `None` when they are not in
/// the dialect's form.
pub fn read_token_counts(client: ClientDialect, usage: &[u8]) -> Option<TokenUsage> {
    let counts: UsageJson = serde_json::from_slice(usage).ok()?;
    Some(match client {
        ClientDialect::Messages => {
            let mut usage = compactions(counts.iterations.as_deref());
            usage.add(&TokenUsage {
                input_tokens: counts.input_tokens.0,
                output_tokens: counts.output_tokens.0,
                cache_read_input_tokens: counts.cache_read_input_tokens.0,
                cache_creation_input_tokens: counts.cache_creation_input_tokens.0,
                thinking_tokens: counts.output_tokens_details.thinking_tokens.0,
                details: price_details(|key| counts.anthropic_field(key)).into_option(),
                ..TokenUsage::default()
            });
            usage
        }
        ClientDialect::Chat => counts.openai_usage(
            counts.prompt_tokens.0,
            &counts.prompt_tokens_details,
            counts.completion_tokens.0,
            &counts.completion_tokens_details,
        ),
        ClientDialect::Responses => counts.openai_usage(
            counts.input_tokens.0,
            &counts.input_tokens_details,
            counts.output_tokens.0,
            &counts.output_tokens_details,
        ),
        ClientDialect::Gemini => gemini_usage(&counts),
    })
}

/// The same of a response that may generate nothing. Servers that embed or rank texts (Jina,
/// Voyage) may send only the total, which is all input.
pub fn read_counts_or_total(client: ClientDialect, usage: &[u8]) -> Option<TokenUsage> {
    let mut counts = read_token_counts(client, usage)?;
    if counts.total_input() == 0 && counts.output_tokens == 0 {
        let json: UsageJson = serde_json::from_slice(usage).ok()?;
        counts.input_tokens = json.total_tokens.0;
    }
    Some(counts)
}

/// Cached input is part of the input there, and thoughts are not part of the output.
fn gemini_usage(counts: &UsageJson) -> TokenUsage {
    let cached = counts.cached_content_token_count.0;
    let input = counts.prompt_token_count.0;
    let input = input.saturating_add(counts.tool_use_prompt_token_count.0);
    let thoughts = counts.thoughts_token_count.0;
    TokenUsage {
        input_tokens: input.saturating_sub(cached),
        output_tokens: counts.candidates_token_count.0.saturating_add(thoughts),
        cache_read_input_tokens: cached,
        thinking_tokens: thoughts,
        details: gemini::price_details(|key| counts.gemini_field(key)).into_option(),
        ..TokenUsage::default()
    }
}

impl UsageJson {
    /// A field of Anthropic's besides the counts.
    fn anthropic_field(&self, key: &str) -> Option<&Value> {
        let field = match key {
            "cache_creation" => &self.cache_creation,
            "inference_geo" => &self.inference_geo,
            "iterations" => &self.iterations,
            "server_tool_use" => &self.server_tool_use,
            "service_tier" => &self.service_tier,
            "speed" => &self.speed,
            _ => return None,
        };
        field.as_deref()
    }

    /// A field of Gemini's besides the counts.
    fn gemini_field(&self, key: &str) -> Option<&Value> {
        let field = match key {
            "cacheTokensDetails" => &self.cache_tokens_by_modality,
            "candidatesTokensDetails" => &self.candidates_tokens_by_modality,
            "promptTokensDetails" => &self.prompt_tokens_by_modality,
            "serviceTier" => &self.gemini_tier,
            "trafficType" => &self.traffic_type,
            _ => return None,
        };
        field.as_deref()
    }

    /// Cached input is part of the input there, apart from it here.
    fn openai_usage(
        &self,
        input: u64,
        of_input: &UsageDetailsJson,
        output: u64,
        of_output: &UsageDetailsJson,
    ) -> TokenUsage {
        let cached = first_count([
            of_input.cached_tokens.0,
            self.cached_tokens.0,
            self.num_cached_tokens.0,
            self.prompt_cache_hit_tokens.0,
            self.cache_read_input_tokens.0,
        ]);
        let written = first_count([
            of_input.cache_write_tokens.0,
            self.cache_creation_input_tokens.0,
        ]);
        let thoughts = of_output.reasoning_tokens.0;
        let total = self.total_tokens.0;
        let cached = cached_input(cached, input, output.saturating_add(thoughts), total);
        let cache = cached.saturating_add(written);
        let (output_tokens, thinking_tokens) = all_output(input, output, thoughts, cache, total);
        let details = PriceDetails {
            audio_input_tokens: of_input.audio_tokens.0,
            audio_output_tokens: of_output.audio_tokens.0,
            ..PriceDetails::default()
        };
        TokenUsage {
            input_tokens: input.saturating_sub(cached).saturating_sub(written),
            output_tokens,
            cache_read_input_tokens: cached,
            cache_creation_input_tokens: written,
            thinking_tokens,
            details: details.into_option(),
            ..TokenUsage::default()
        }
    }
}

/// The counts of all dialects; some servers use the field names of several. Values besides counts
/// are boxed, as most of them are not there: all of it is moved several times for each response.
#[derive(Default, Deserialize)]
#[serde(default)]
struct UsageJson {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    cached_tokens: Count,
    num_cached_tokens: Count,
    prompt_cache_hit_tokens: Count,
    iterations: Option<Box<Value>>,
    cache_creation: Option<Box<Value>>,
    server_tool_use: Option<Box<Value>>,
    service_tier: Option<Box<Value>>,
    speed: Option<Box<Value>>,
    inference_geo: Option<Box<Value>>,
    #[serde(rename = "promptTokenCount")]
    prompt_token_count: Count,
    #[serde(rename = "toolUsePromptTokenCount")]
    tool_use_prompt_token_count: Count,
    #[serde(rename = "candidatesTokenCount")]
    candidates_token_count: Count,
    #[serde(rename = "thoughtsTokenCount")]
    thoughts_token_count: Count,
    #[serde(rename = "cachedContentTokenCount")]
    cached_content_token_count: Count,
    #[serde(rename = "cacheTokensDetails")]
    cache_tokens_by_modality: Option<Box<Value>>,
    #[serde(rename = "candidatesTokensDetails")]
    candidates_tokens_by_modality: Option<Box<Value>>,
    #[serde(rename = "promptTokensDetails")]
    prompt_tokens_by_modality: Option<Box<Value>>,
    #[serde(rename = "serviceTier")]
    gemini_tier: Option<Box<Value>>,
    #[serde(rename = "trafficType")]
    traffic_type: Option<Box<Value>>,
    #[serde(deserialize_with = "or_null")]
    input_tokens_details: UsageDetailsJson,
    #[serde(deserialize_with = "or_null")]
    output_tokens_details: UsageDetailsJson,
    #[serde(deserialize_with = "or_null")]
    prompt_tokens_details: UsageDetailsJson,
    #[serde(deserialize_with = "or_null")]
    completion_tokens_details: UsageDetailsJson,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UsageDetailsJson {
    cached_tokens: Count,
    cache_write_tokens: Count,
    reasoning_tokens: Count,
    thinking_tokens: Count,
    audio_tokens: Count,
}

fn or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UsageDetailsJson, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A number of tokens. Anything else counts as 0.
#[derive(Default)]
struct Count(u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Number)
    }
}

struct Number;

impl<'de> Visitor<'de> for Number {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of tokens")
    }

    fn visit_u64<E>(self, count: u64) -> Result<Count, E> {
        Ok(Count(count))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
        Ok(Count(0))
    }

    /// Some servers write counts as `1.0`; that is still a whole number.
    fn visit_f64<E>(self, count: f64) -> Result<Count, E> {
        Ok(Count(as_whole_number(&count.into()).unwrap_or(0)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_str<E>(self, _: &str) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Count, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Count(0))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Count(0))
    }
}

#[cfg(test)]
mod tests;
