//! Pass-through counts what the readers of whole responses count.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::neutral::ServiceTier;
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
            // No reader counts more thoughts than output.
            thinking_tokens: thinking.min(output_tokens),
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
        // Gemini reports no cache writes.
        let usage = TokenUsage {
            input_tokens: input_tokens + written,
            cache_creation_input_tokens: 0,
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

const COUNTS: [&str; 13] = [
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
    "IN_details.audio_tokens",
    "OUT_details.audio_tokens",
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
fn what_decides_about_the_cost_besides_is_read_the_same_from_bytes_and_from_whole_counts() {
    let text = r#"{"input_tokens":100,"output_tokens":10,"cache_creation_input_tokens":30,
        "cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},
        "server_tool_use":{"web_search_requests":3,"web_fetch_requests":9},
        "service_tier":"priority","speed":"fast","inference_geo":"us","iterations":[
            {"type":"message","input_tokens":100,"output_tokens":10},
            {"type":"advisor_message","model":"big","input_tokens":70,"output_tokens":7,
                "cache_creation_input_tokens":5,
                "cache_creation":{"ephemeral_1h_input_tokens":5}},
            {"type":"advisor_message","model":"big","input_tokens":30,"output_tokens":3},
            {"type":"compaction","input_tokens":1,"cache_creation_input_tokens":4,
                "cache_creation":{"ephemeral_1h_input_tokens":4}}]}"#;
    let usage = read_token_counts(ClientDialect::Messages, text.as_bytes()).unwrap();
    let counts = (usage.input_tokens, usage.output_tokens);
    assert_eq!(counts, (101, 10), "an advisor's tokens are not the model's");
    assert_eq!(usage.cache_creation_input_tokens, 34);
    let details = usage.details.clone().unwrap();
    assert_eq!(details.cache_creation_1h_tokens, 24);
    assert_eq!(details.web_searches, 3);
    assert_eq!(details.tier, Some(ServiceTier::Fast));
    assert!(details.in_us_only);
    let [advisor] = details.other_models.as_slice() else {
        panic!("{details:?}");
    };
    assert_eq!(advisor.model, "big");
    assert_eq!(advisor.usage.total_input(), 105);
    assert_eq!(advisor.usage.output_tokens, 10);
    let of_advisor = advisor.usage.details.clone().unwrap();
    assert_eq!(of_advisor.cache_creation_1h_tokens, 5);

    let value = serde_json::from_str(text).unwrap();
    let whole = anthropic::usage::read_usage(value, &crate::json_path::JsonPath::Root);
    let whole = anthropic::usage::with_compactions(&whole.unwrap());
    assert_eq!(whole.details, usage.details);

    let text = r#"{"promptTokenCount":100,"candidatesTokenCount":10,
        "promptTokensDetails":[{"modality":"AUDIO","tokenCount":80}],
        "serviceTier":"flex"}"#;
    let usage = read_token_counts(ClientDialect::Gemini, text.as_bytes()).unwrap();
    let details = usage.details.unwrap();
    assert_eq!(details.audio_input_tokens, 80);
    assert_eq!(details.tier, Some(ServiceTier::Flex));
}

#[test]
fn what_is_standard_has_no_details() {
    let text = r#"{"input_tokens":1,"service_tier":"standard","speed":"standard",
        "inference_geo":"not_available","cache_creation":{"ephemeral_5m_input_tokens":1},
        "server_tool_use":null,"iterations":[{"type":"advisor_message","model":null}]}"#;
    let usage = read_token_counts(ClientDialect::Messages, text.as_bytes()).unwrap();
    assert_eq!(usage.details, None);
    // Capacity that was paid for before has no price per token.
    let text = r#"{"input_tokens":1,"service_tier":"priority"}"#;
    let usage = read_token_counts(ClientDialect::Messages, text.as_bytes()).unwrap();
    assert_eq!(usage.tier(), None);
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

#[test]
fn a_total_alone_is_input() {
    let counts = |client, text: &str| {
        let usage = read_counts_or_total(client, text.as_bytes()).unwrap();
        (usage.input_tokens, usage.output_tokens)
    };
    for client in [ClientDialect::Chat, ClientDialect::Responses] {
        assert_eq!(counts(client, r#"{"total_tokens":56}"#), (56, 0));
        assert_eq!(counts(client, r#"{"type":"duration","seconds":9}"#), (0, 0));
    }
    let chat = r#"{"prompt_tokens":50,"completion_tokens":6,"total_tokens":56}"#;
    assert_eq!(counts(ClientDialect::Chat, chat), (50, 6));
    let responses = r#"{"input_tokens":50,"output_tokens":6,"total_tokens":56}"#;
    assert_eq!(counts(ClientDialect::Responses, responses), (50, 6));
}
