//! The table is well-formed, and names find their rows.

use super::*;

#[test]
fn the_table_is_read_whole_and_sorted() {
    let file: KnownModelsFile = serde_json::from_str(TABLE).unwrap();
    assert_eq!(file.models.len(), all().len());
    assert!(all().len() > 300, "{}", all().len());
    assert_eq!(TABLE.lines().count(), all().len() + 2, "one line per model");
    let names: Vec<_> = all()
        .iter()
        .map(|known| (&known.provider, &known.model))
        .collect();
    assert!(names.is_sorted_by(|a, b| a < b), "sorted, and none twice");
    assert!(TABLE.starts_with(DATE_START));
    let parts: Vec<_> = DATE.split('-').map(str::len).collect();
    assert_eq!(parts, [4, 2, 2], "{DATE}");
    for known in all() {
        let price = known.price.iter();
        let mut amounts = price.flat_map(|price| {
            let special = price.special.as_deref().cloned().unwrap_or_default();
            let optional = [
                price.cache_read,
                price.cache_write,
                price.cache_write_1h,
                price.web_search,
                special.audio_input,
                special.audio_output,
                special.long.map(|long| long.input),
                special.long.map(|long| long.output),
                special.long.and_then(|long| long.cache_read),
                special.long.and_then(|long| long.cache_write),
                special.searching_requests,
            ];
            let optional = optional.into_iter().flatten();
            optional.chain([price.input, price.output])
        });
        assert!(
            amounts.all(|amount| (0.0..=10_000.0).contains(&amount)),
            "{known:?}"
        );
        let special = known
            .price
            .iter()
            .filter_map(|price| price.special.as_ref());
        let mut factors = special.flat_map(|special| {
            let all = [special.batch, special.flex, special.priority, special.fast];
            all.into_iter().flatten()
        });
        assert!(
            factors.all(|factor| (0.1..=10.0).contains(&factor)),
            "{known:?}"
        );
        assert!(
            known.takes.is_sorted() && known.supports.is_sorted(),
            "{known:?}"
        );
    }
}

#[test]
fn every_spelling_of_a_name_has_a_price() {
    for (provider, model) in [
        ("anthropic", "claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5-20250929"),
        ("anthropic", "claude-opus-4-7-20991231"),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("bedrock", "ca.anthropic.claude-opus-4-7"),
        ("vertex", "claude-sonnet-4-5@20250929"),
        ("vertex_ai", "gemini-2.5-pro"),
        ("vertex_ai", "google/gemini-2.5-pro"),
        ("vertex", "anthropic/claude-opus-4-5@20251101"),
        ("vertex", "ai21/jamba-1.5-large"),
        ("vertex", "mistralai/mistral-small-2503@001"),
        ("gemini", "models/gemini-2.5-pro"),
        ("azure", "gpt-5-2025-08-07"),
        ("openai", "gpt-5"),
        ("openrouter", "anthropic/claude-opus-4.7"),
        ("groq", "llama-3.3-70b-versatile"),
    ] {
        let price = price(provider, model);
        assert!(
            price.is_some_and(|price| price.input > 0.0),
            "{provider}/{model}"
        );
    }
}

#[test]
fn a_model_that_is_named_with_its_vendor_has_the_price_of_the_platform() {
    for model in ["google/gemini-2.5-pro", "anthropic/claude-opus-4-5"] {
        let known = find("vertex", model);
        let provider = known.map(|known| known.provider.as_str());
        assert_eq!(provider, Some("vertex"), "{model}");
    }
}

#[test]
fn long_inputs_sound_and_tiers_have_a_price_where_their_vendors_have_one() {
    let special = |provider, model| {
        let price = price(provider, model);
        price
            .unwrap()
            .special
            .map_or_else(Default::default, |special| *special)
    };
    let above = |provider, model| special(provider, model).long.map(|long| long.above);
    assert_eq!(above("gemini", "gemini-2.5-pro"), Some(200_000));
    assert_eq!(above("openai", "gpt-5.4"), Some(272_000));
    assert_eq!(above("openai", "gpt-5"), None);
    let priority = |provider, model| special(provider, model).priority;
    assert_eq!(priority("openai", "gpt-5"), Some(2.0));
    assert_eq!(priority("azure", "gpt-5"), Some(2.0));
    assert_eq!(priority("gemini", "gemini-2.5-pro"), Some(1.8));
    assert_eq!(priority("anthropic", "claude-sonnet-4-5"), None);
    let sound = special("openai", "gpt-audio-mini");
    assert_eq!(sound.audio_output, Some(20.0));
    let claude = price("bedrock", "us.anthropic.claude-sonnet-4-6").unwrap();
    assert_eq!(
        (claude.cache_write_1h, claude.web_search),
        (None, Some(10.0))
    );
}

#[test]
fn what_is_not_sold_by_tokens_or_not_known_has_no_price() {
    for (provider, model) in [
        ("openai", "tts-1"),
        ("openai", "my-own"),
        ("my-server", "gpt-5"),
        ("openai", ""),
        ("openrouter", "anthropic/claude-opus-4.7:free"),
    ] {
        assert_eq!(price(provider, model), None, "{provider}/{model}");
    }
}
