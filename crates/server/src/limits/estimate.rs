//! Upper estimate of what a request may use.

use std::fmt;

use prowess_provider::Route;
use prowess_wire::ClientDialect;
use prowess_wire::neutral::TokenUsage;
use prowess_wire::raw::RawObject;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Approximate bytes of text per token.
const BYTES_PER_TOKEN: usize = 4;
/// More than nearly every model accepts: beyond that the bytes are images, not text.
const MAX_INPUT_TOKENS: u64 = 200_000;
/// Output tokens of a request without a limit.
const DEFAULT_OUTPUT_TOKENS: u64 = 4_096;
/// No model generates more in one response, whatever the request says.
const MAX_OUTPUT_TOKENS: u64 = 1_000_000;
/// The limit on output tokens, by its names in the dialects.
const OUTPUT_FIELDS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
/// How many choices a Chat client requests.
const CHOICES_FIELD: &str = "n";
/// How many completions are generated, of which the best ones are returned.
const BEST_FIELD: &str = "best_of";
/// What completions begin with. Of several texts, each is completed.
const PROMPTS_FIELD: &str = "prompt";

/// Tokens that a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Estimate {
    input_tokens: u64,
    output_tokens: u64,
}

impl Estimate {
    /// Estimates a request to generate, in a client's dialect.
    pub(crate) fn for_client(client: ClientDialect, body: &[u8], raw: &RawObject<'_>) -> Estimate {
        match client {
            ClientDialect::Gemini => Estimate::from_gemini_request(body, raw),
            _ => Estimate::from_request(body, raw),
        }
    }

    /// Estimates a request to generate.
    pub(crate) fn from_request(body: &[u8], raw: &RawObject<'_>) -> Estimate {
        Estimate::from_request_or(body, raw, DEFAULT_OUTPUT_TOKENS)
    }

    /// The same, with the output tokens of an answer that the request does not limit.
    pub(crate) fn from_request_or(body: &[u8], raw: &RawObject<'_>, output: u64) -> Estimate {
        let number = |field: &str| parse_bound(raw.get(field)?);
        let bound = OUTPUT_FIELDS.iter().filter_map(|field| number(field)).max();
        let choices = number(CHOICES_FIELD).max(number(BEST_FIELD));
        let prompts = raw.get(PROMPTS_FIELD).map_or(1, count_prompts);
        Estimate::of_prompts(prompts, body.len(), bound.unwrap_or(output), choices)
    }

    /// Estimates a Gemini request, whose limits are in its generation config.
    pub(crate) fn from_gemini_request(body: &[u8], raw: &RawObject<'_>) -> Estimate {
        let settings = raw.settings().ok().flatten();
        let number = |field: &str| parse_bound(settings.as_ref()?.get_camel_or_snake(field)?);
        let output = number("maxOutputTokens").unwrap_or(DEFAULT_OUTPUT_TOKENS);
        Estimate::new(body, output, number("candidateCount"))
    }

    /// Estimates a request for embeddings, which generates nothing.
    pub(crate) fn from_embedding_request(body: &[u8]) -> Estimate {
        Estimate::new(body, 0, None)
    }

    /// Estimates a request whose input is no text, by its output.
    pub(crate) fn from_output(tokens: u64) -> Estimate {
        Estimate::of_prompts(1, 0, tokens, None)
    }

    fn new(body: &[u8], output: u64, answers: Option<u64>) -> Estimate {
        Estimate::of_prompts(1, body.len(), output, answers)
    }

    /// The limits of models are those of one prompt, of which there is one at least.
    fn of_prompts(prompts: u64, bytes: usize, output: u64, answers: Option<u64>) -> Estimate {
        let answers = answers.unwrap_or(1).max(1);
        let output = output.min(MAX_OUTPUT_TOKENS).saturating_mul(answers);
        let input = (bytes / BYTES_PER_TOKEN) as u64;
        Estimate {
            input_tokens: input.clamp(1, MAX_INPUT_TOKENS.saturating_mul(prompts)),
            output_tokens: output.min(MAX_OUTPUT_TOKENS).saturating_mul(prompts),
        }
    }

    pub(super) fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The input, which was certainly sent, without the output.
    pub(super) fn input_only(self) -> Estimate {
        Estimate {
            output_tokens: 0,
            ..self
        }
    }

    /// The maximum cost in billionths, at the most expensive model of the route.
    pub(super) fn nanos(self, route: &Route) -> u64 {
        let usage = TokenUsage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            ..TokenUsage::default()
        };
        let prices = route.targets().iter().filter_map(|target| target.price());
        let costs = prices.map(|price| price.cost_nanos(&usage));
        costs.max().unwrap_or_default()
    }
}

/// A limit on output, if there is one. Values that are not integers (`1e5`, `100000.0`,
/// `"100000"`), which some upstreams accept, count as unlimited.
fn parse_bound(value: &str) -> Option<u64> {
    match value {
        "null" => None,
        value => Some(value.parse().unwrap_or(u64::MAX)),
    }
}

/// How many prompts there are: a list may have texts or lists of tokens, or be one list of tokens.
fn count_prompts(value: &str) -> u64 {
    struct Prompts;
    impl<'de> Visitor<'de> for Prompts {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<u64, A::Error> {
            let mut prompts = 0;
            while let Some(item) = list.next_element::<&RawValue>()? {
                prompts += u64::from(item.get().starts_with(['"', '[']));
            }
            Ok(prompts)
        }
    }
    let counted = serde_json::Deserializer::from_str(value).deserialize_seq(Prompts);
    counted.unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(body: &str) -> (u64, u64) {
        let raw = RawObject::parse(body.as_bytes()).unwrap();
        let estimate = Estimate::from_request(body.as_bytes(), &raw);
        (estimate.input_tokens, estimate.output_tokens)
    }

    #[test]
    fn the_bound_of_a_request_counts_for_each_answer_it_wants() {
        assert_eq!(estimate(r#"{"max_tokens":100}"#), (4, 100));
        assert_eq!(estimate(r#"{"max_completion_tokens":7,"n":3}"#).1, 21);
        assert_eq!(estimate(r#"{"max_tokens":7,"best_of":5}"#).1, 35);
        for (prompt, prompts) in [
            (r#""a""#, 1),
            (r#"["a", "b",[3]]"#, 3),
            ("[1, 2, 3]", 1),
            ("[[1, 2], [3]]", 2),
            ("[]", 1),
            (r#"{"id":"p"}"#, 1),
            ("null", 1),
        ] {
            let body = format!(r#"{{"max_tokens":7,"n":2,"prompt":{prompt}}}"#);
            assert_eq!(estimate(&body).1, 14 * prompts, "{body}");
        }
        // A model call for each, with limits of its own.
        let prompts = [r#""a""#; 2_000].join(",");
        let body = format!(r#"{{"prompt":[{prompts}]}}"#);
        assert_eq!(estimate(&body).1, 2_000 * DEFAULT_OUTPUT_TOKENS);
        assert_eq!(estimate(r#"{"max_output_tokens":7,"max_tokens":5}"#).1, 7);
        assert_eq!(estimate("{}").1, DEFAULT_OUTPUT_TOKENS);
        assert_eq!(
            estimate(r#"{"max_tokens":null,"n":null}"#).1,
            DEFAULT_OUTPUT_TOKENS
        );
        let huge = format!(r#"{{"max_tokens":{},"n":{}}}"#, u64::MAX, u64::MAX);
        assert_eq!(estimate(&huge).1, MAX_OUTPUT_TOKENS);
    }

    #[test]
    fn the_bounds_of_a_gemini_request_stand_among_its_settings() {
        for (body, output) in [
            (r#"{"generationConfig":{"maxOutputTokens":100}}"#, 100),
            (
                r#"{"generation_config":{"max_output_tokens":7,"candidate_count":3}}"#,
                21,
            ),
            (
                r#"{"generationConfig":{"maxOutputTokens":"9"}}"#,
                MAX_OUTPUT_TOKENS,
            ),
            (
                r#"{"max_output_tokens":7,"generationConfig":null}"#,
                DEFAULT_OUTPUT_TOKENS,
            ),
            (r#"{"generationConfig":[]}"#, DEFAULT_OUTPUT_TOKENS),
        ] {
            let raw = RawObject::parse(body.as_bytes()).unwrap();
            let estimate = Estimate::from_gemini_request(body.as_bytes(), &raw);
            assert_eq!(estimate.output_tokens, output, "{body}");
        }
    }

    #[test]
    fn a_bound_that_is_no_whole_number_may_mean_any() {
        for value in ["1e5", "100000.0", r#""100000""#, "-1", "1E2", "[5]", "true"] {
            for field in OUTPUT_FIELDS.iter().chain([&CHOICES_FIELD]) {
                let body = format!(r#"{{"{field}":{value}}}"#);
                assert_eq!(estimate(&body).1, MAX_OUTPUT_TOKENS, "{body}");
            }
        }
        let body = r#"{"max_tokens": 10, "max_completion_tokens": "100000"}"#;
        assert_eq!(estimate(body).1, MAX_OUTPUT_TOKENS);
    }
}
