//! The token counts of a response that is passed through: read from their text, without the
//! rest of the response.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::ClientDialect;
use crate::anthropic::usage::compactions;
use crate::fields::as_whole_number;
use crate::neutral::TokenUsage;
use crate::openai::{all_output, first_count};

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
            let mut usage = compactions(counts.iterations.as_ref());
            usage.add(&TokenUsage {
                input_tokens: counts.input_tokens.0,
                output_tokens: counts.output_tokens.0,
                cache_read_input_tokens: counts.cache_read_input_tokens.0,
                cache_creation_input_tokens: counts.cache_creation_input_tokens.0,
                thinking_tokens: counts.output_tokens_details.thinking_tokens.0,
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
        ..TokenUsage::default()
    }
}

impl UsageJson {
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
        let cache = cached.saturating_add(written);
        let total = self.total_tokens.0;
        let (output_tokens, thinking_tokens) = all_output(input, output, thoughts, cache, total);
        TokenUsage {
            input_tokens: input.saturating_sub(cached).saturating_sub(written),
            output_tokens,
            cache_read_input_tokens: cached,
            cache_creation_input_tokens: written,
            thinking_tokens,
            ..TokenUsage::default()
        }
    }
}

/// The counts of all dialects; some servers use the field names of several.
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
    iterations: Option<Value>,
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
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::{anthropic, chat, gemini, openai, responses};

    proptest! {
        /// The same counts as from the readers of whole responses.
        #[test]
        fn what_each_dialect_writes_is_read_back(
            [input_tokens, output_tokens, read, written, thinking] in proptest::array::uniform5(0..1_u64 << 40),
        ) {
            let usage = TokenUsage {
                input_tokens,
                output_tokens,
                cache_read_input_tokens: read,
                cache_creation_input_tokens: written,
                thinking_tokens: thinking,
                ..TokenUsage::default()
            };
            for (client, text) in [
                (ClientDialect::Messages, anthropic::usage::write_usage(&usage)),
                (ClientDialect::Chat, openai::write_usage(&usage, &chat::USAGE_FIELDS)),
                (ClientDialect::Responses, openai::write_usage(&usage, &responses::USAGE_FIELDS)),
            ] {
                let counts = read_token_counts(client, text.to_string().as_bytes());
                prop_assert_eq!(counts.as_ref(), Some(&usage), "{}", text);
            }
            // Gemini reports neither cache writes nor more thoughts than output.
            let usage = TokenUsage {
                input_tokens: input_tokens + written,
                cache_creation_input_tokens: 0,
                thinking_tokens: thinking.min(output_tokens),
                ..usage
            };
            let text = gemini::write_usage(&usage);
            let counts = read_token_counts(ClientDialect::Gemini, text.to_string().as_bytes());
            prop_assert_eq!(counts.as_ref(), Some(&usage), "{}", text);
        }

        /// For any combination of all vendors' counts: pass-through and whole reading count the
        /// same, and no thought is counted that is not output.
        #[test]
        fn counts_that_pass_are_those_of_answers_that_are_read(
            given in proptest::collection::vec((0..COUNTS.len(), 0..5_u64), 0..8),
            apart in any::<bool>(),
        ) {
            for (client, [input, output]) in [
                (ClientDialect::Chat, ["prompt_tokens", "completion_tokens"]),
                (ClientDialect::Responses, ["input_tokens", "output_tokens"]),
            ] {
                let mut usage = json!({});
                for (which, count) in &given {
                    let name = COUNTS[*which].replace("IN", input).replace("OUT", output);
                    match name.split_once('.') {
                        Some((details, name)) => usage[details][name] = json!(count),
                        None => usage[name] = json!(count),
                    }
                }
                let count = |value: &Value| value.as_u64().unwrap_or(0);
                if apart {
                    let details = &usage[format!("{output}_details")]["reasoning_tokens"];
                    let total = count(&usage[input]) + count(&usage[output]) + count(details);
                    usage["total_tokens"] = json!(total);
                }
                let text = usage.to_string();
                let passed = read_token_counts(client, text.as_bytes()).unwrap();
                prop_assert_eq!(&by_reader(client, &text), &passed, "{}", text);
                if apart {
                    prop_assert!(passed.thinking_tokens <= passed.output_tokens, "{}", text);
                }
            }
        }
    }

    const COUNTS: [&str; 11] = [
        "IN",
        "OUT",
        "total_tokens",
        "cached_tokens",
        "num_cached_tokens",
        "prompt_cache_hit_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "IN_details.cached_tokens",
        "IN_details.cache_write_tokens",
        "OUT_details.reasoning_tokens",
    ];

    /// The counts of a response that is read whole.
    fn by_reader(client: ClientDialect, text: &str) -> TokenUsage {
        let value = serde_json::from_str(text).unwrap();
        let names = match client {
            ClientDialect::Chat => &chat::USAGE_FIELDS,
            _ => &responses::USAGE_FIELDS,
        };
        let usage = openai::read_usage(value, &crate::json_path::JsonPath::Root, names).unwrap();
        TokenUsage {
            rest: crate::neutral::Map::new(),
            ..usage
        }
    }

    #[test]
    fn thoughts_that_are_counted_apart_from_the_output_are_output() {
        for (text, output) in [
            // xAI counts them apart, which the total shows.
            (
                r#"{"prompt_tokens":12,"completion_tokens":2,"total_tokens":354,
                    "completion_tokens_details":{"reasoning_tokens":340}}"#,
                342,
            ),
            (
                r#"{"prompt_tokens":12,"completion_tokens":400,"total_tokens":752,
                    "prompt_tokens_details":{"cached_tokens":4},
                    "completion_tokens_details":{"reasoning_tokens":340}}"#,
                740,
            ),
            // OpenAI does not.
            (
                r#"{"prompt_tokens":12,"completion_tokens":400,"total_tokens":412,
                    "completion_tokens_details":{"reasoning_tokens":340}}"#,
                400,
            ),
            // Without a total, more thoughts than output cannot be part of it.
            (
                r#"{"prompt_tokens":12,"completion_tokens":2,
                    "completion_tokens_details":{"reasoning_tokens":340}}"#,
                342,
            ),
            (
                r#"{"prompt_tokens":12,"completion_tokens":340,
                    "completion_tokens_details":{"reasoning_tokens":340}}"#,
                340,
            ),
        ] {
            let usage = read_token_counts(ClientDialect::Chat, text.as_bytes()).unwrap();
            assert_eq!(usage.output_tokens, output, "{text}");
            assert_eq!(usage.thinking_tokens, 340, "{text}");
            assert_eq!(by_reader(ClientDialect::Chat, text), usage, "{text}");
        }
        let text = r#"{"input_tokens":12,"output_tokens":2,"total_tokens":354,
            "output_tokens_details":{"reasoning_tokens":340}}"#;
        let usage = read_token_counts(ClientDialect::Responses, text.as_bytes()).unwrap();
        assert_eq!(usage.output_tokens, 342);
        assert_eq!(by_reader(ClientDialect::Responses, text), usage);
    }

    #[test]
    fn thoughts_that_only_the_total_contains_are_output() {
        for (text, output, thoughts) in [
            // Gemini by Google's endpoint for OpenAI's clients.
            (
                r#"{"prompt_tokens":98,"completion_tokens":17,"total_tokens":155}"#,
                57,
                40,
            ),
            (
                r#"{"prompt_tokens":98,"completion_tokens":0,"total_tokens":155}"#,
                57,
                57,
            ),
            // A gateway that adds cached input to the total alone.
            (
                r#"{"prompt_tokens":98,"completion_tokens":17,"total_tokens":155,
                    "prompt_tokens_details":{"cached_tokens":40}}"#,
                17,
                0,
            ),
            // Only a total, of which nothing is known.
            (r#"{"total_tokens":155}"#, 0, 0),
        ] {
            let usage = read_token_counts(ClientDialect::Chat, text.as_bytes()).unwrap();
            let counts = (usage.output_tokens, usage.thinking_tokens);
            assert_eq!(counts, (output, thoughts), "{text}");
            assert_eq!(by_reader(ClientDialect::Chat, text), usage, "{text}");
        }
    }

    #[test]
    fn cached_input_is_found_where_each_vendor_counts_it() {
        for cached in [
            r#""prompt_tokens_details":{"cached_tokens":6}"#,
            r#""prompt_tokens_details":null,"cached_tokens":6"#,
            r#""prompt_tokens_details":{"cached_tokens":0},"num_cached_tokens":6"#,
            r#""prompt_cache_hit_tokens":6,"prompt_cache_miss_tokens":4"#,
            r#""cache_read_input_tokens":6"#,
            r#""cached_tokens":6.0,"num_cached_tokens":null"#,
        ] {
            let text = format!(r#"{{"prompt_tokens":10,"completion_tokens":3,{cached}}}"#);
            let usage = read_token_counts(ClientDialect::Chat, text.as_bytes()).unwrap();
            let counts = (usage.input_tokens, usage.cache_read_input_tokens);
            assert_eq!(counts, (4, 6), "{text}");
            assert_eq!(by_reader(ClientDialect::Chat, &text), usage, "{text}");
        }
        let text = r#"{"prompt_tokens":10,"cache_creation_input_tokens":3,
            "cache_read_input_tokens":5}"#;
        let usage = read_token_counts(ClientDialect::Chat, text.as_bytes()).unwrap();
        let written = usage.cache_creation_input_tokens;
        assert_eq!((usage.input_tokens, written), (2, 3));
        assert_eq!(by_reader(ClientDialect::Chat, text), usage);
    }

    #[test]
    fn every_dialects_counts_are_read_the_same() {
        let texts = [
            (
                ClientDialect::Messages,
                r#"{"input_tokens":7,"output_tokens":9,"cache_read_input_tokens":2,
                    "cache_creation_input_tokens":1,"service_tier":"standard",
                    "cache_creation":{"ephemeral_5m_input_tokens":1},
                    "output_tokens_details":{"thinking_tokens":4}}"#,
            ),
            (
                ClientDialect::Chat,
                r#"{"prompt_tokens":10,"completion_tokens":9,"total_tokens":19,"cost":null,
                    "prompt_tokens_details":{"cached_tokens":2,"cache_write_tokens":1,"audio":0.0},
                    "completion_tokens_details":{"reasoning_tokens":4},"input_tokens":1}"#,
            ),
            (
                ClientDialect::Responses,
                r#"{"input_tokens":10,"output_tokens":9,
                    "input_tokens_details":{"cached_tokens":2,"cache_write_tokens":1},
                    "output_tokens_details":{"reasoning_tokens":4}}"#,
            ),
        ];
        for (client, text) in texts {
            let usage = TokenUsage {
                input_tokens: 7,
                output_tokens: 9,
                cache_read_input_tokens: 2,
                cache_creation_input_tokens: 1,
                thinking_tokens: 4,
                ..TokenUsage::default()
            };
            assert_eq!(
                read_token_counts(client, text.as_bytes()),
                Some(usage),
                "{text}"
            );
        }
    }

    #[test]
    fn compactions_count_although_anthropic_counts_them_apart() {
        let text = r#"{"input_tokens":100,"cache_read_input_tokens":900,"output_tokens":10,
            "iterations":[
                {"type":"compaction","input_tokens":50,"cache_read_input_tokens":100,
                    "cache_creation_input_tokens":7,"output_tokens":5},
                {"type":"message","input_tokens":100,"cache_read_input_tokens":900,
                    "output_tokens":10}]}"#;
        let usage = read_token_counts(ClientDialect::Messages, text.as_bytes()).unwrap();
        let expected = TokenUsage {
            input_tokens: 150,
            output_tokens: 15,
            cache_read_input_tokens: 1_000,
            cache_creation_input_tokens: 7,
            ..TokenUsage::default()
        };
        assert_eq!(usage, expected);
        let none = r#"{"input_tokens":1,"iterations":{"type":"compaction","input_tokens":5}}"#;
        let usage = read_token_counts(ClientDialect::Messages, none.as_bytes()).unwrap();
        assert_eq!(usage.input_tokens, 1);
    }

    #[test]
    fn what_is_no_count_counts_for_nothing() {
        let text = br#"{"prompt_tokens":3,"completion_tokens":null,"prompt_tokens_details":null,
            "completion_tokens_details":{"reasoning_tokens":{"a":[1]}}}"#;
        let usage = read_token_counts(ClientDialect::Chat, text).unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens), (3, 0));
        for none in [&b"null"[..], b"3", b"{", b"\xff"] {
            assert_eq!(read_token_counts(ClientDialect::Chat, none), None);
        }
    }
}
