//! The line of a model in the table: which provider it is of, and its facts in our own words.

use serde_json::{Value, json};

use super::listed_price::ListedPrice;
use super::listed_provider::find_kind;
use super::price_list::PriceEntry;

/// Providers whose models have no `/` in their names: what precedes one is a region or a size
/// of images.
const WITHOUT_PATHS: [&str; 6] = [
    "openai",
    "azure",
    "bedrock",
    "anthropic",
    "gemini",
    "cohere",
];
/// The modes of a price list, and what a model is for.
const TASKS: [(&str, &str); 10] = [
    ("chat", "chat"),
    ("responses", "chat"),
    ("completion", "completion"),
    ("embedding", "embedding"),
    ("image_generation", "image"),
    ("image_edit", "image"),
    ("audio_transcription", "transcription"),
    ("audio_speech", "speech"),
    ("rerank", "rerank"),
    ("moderation", "moderation"),
];
const INPUTS: [(&str, &str); 4] = [
    ("supports_audio_input", "audio"),
    ("supports_vision", "image"),
    ("supports_pdf_input", "pdf"),
    ("supports_video_input", "video"),
];
const FEATURES: [(&str, &str); 7] = [
    ("supports_prompt_caching", "caching"),
    ("supports_computer_use", "computer-use"),
    ("supports_parallel_function_calling", "parallel-tools"),
    ("supports_reasoning", "reasoning"),
    ("supports_response_schema", "schema"),
    ("supports_function_calling", "tools"),
    ("supports_web_search", "web-search"),
];

/// A line of the table.
pub(super) struct TableRow {
    provider: &'static str,
    model: String,
    task: &'static str,
    context: Option<u64>,
    output: Option<u64>,
    price: ListedPrice,
    takes: Vec<&'static str>,
    gives: Vec<&'static str>,
    supports: Vec<&'static str>,
}

impl TableRow {
    /// The line of an entry; none if it is of no known provider, for something else, retired for
    /// a year, or says nothing.
    pub(super) fn from_entry(
        entry: &PriceEntry<'_>,
        date: &str,
    ) -> anyhow::Result<Option<TableRow>> {
        let (Some((provider, model)), Some(task)) = (
            model_key(entry),
            translate(&TASKS, entry.text("mode").unwrap_or_default()),
        ) else {
            return Ok(None);
        };
        let is_retired = entry
            .text("deprecation_date")
            .is_some_and(|day| is_a_year_before(day, date));
        if is_retired || (WITHOUT_PATHS.contains(&provider) && model.contains('/')) {
            return Ok(None);
        }
        let row = TableRow {
            provider,
            task,
            context: entry.tokens("max_input_tokens")?,
            output: entry.tokens("max_output_tokens")?,
            price: ListedPrice::from_entry(entry, task, model)?,
            takes: takes(entry, task)?,
            gives: gives(entry, task)?,
            supports: supported(&FEATURES, entry)?,
            model: model.to_owned(),
        };
        Ok(Some(row).filter(|row| row.context.is_some() || !row.price.is_empty()))
    }

    /// In the order in which people read it.
    pub(super) fn to_json(&self) -> String {
        let mut fields = vec![
            ("provider", json!(self.provider)),
            ("model", json!(self.model)),
            ("task", json!(self.task)),
        ];
        fields.extend(self.context.map(|tokens| ("context", json!(tokens))));
        fields.extend(self.output.map(|tokens| ("output", json!(tokens))));
        let mut text: Vec<String> = fields.iter().map(field).collect();
        if !self.price.is_empty() {
            text.push(format!("\"price\":{}", self.price.to_json()));
        }
        let lists = [
            ("takes", json!(self.takes)),
            ("gives", json!(self.gives)),
            ("supports", json!(self.supports)),
        ];
        text.extend(lists.iter().map(field));
        format!("{{{}}}", text.join(","))
    }
}

/// Our provider of an entry, and what it calls the model; none if the provider is not known.
pub(super) fn model_key<'e>(entry: &'e PriceEntry<'_>) -> Option<(&'static str, &'e str)> {
    let listed = entry.text("litellm_provider")?;
    let (provider, prefix) = find_kind(listed)?;
    Some((provider, model_name(prefix, entry.name)))
}

pub(super) fn field((name, value): &(&str, Value)) -> String {
    format!("\"{name}\":{value}")
}

fn translate(words: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    let found = words.iter().find(|(known, _)| *known == word);
    found.map(|(_, ours)| *ours)
}

/// Whether a day, as `YYYY-MM-DD`, is more than a year before another. A model is often served for
/// months after the date of its retirement, in some regions or to some customers. A request to a
/// model without a row has no price, and is charged to no budget.
fn is_a_year_before(day: &str, date: &str) -> bool {
    let (Some((year, rest)), Some((now, rest_of_now))) =
        (day.split_once('-'), date.split_once('-'))
    else {
        return false;
    };
    let year = year
        .parse::<u32>()
        .map_or(u32::MAX, |year| year.saturating_add(1));
    let now = now.parse::<u32>().unwrap_or_default();
    (year, rest) < (now, rest_of_now)
}

/// A list's name for a model may begin with its provider.
fn model_name<'n>(prefix: &str, name: &'n str) -> &'n str {
    let rest = name.strip_prefix(prefix);
    rest.and_then(|rest| rest.strip_prefix('/')).unwrap_or(name)
}

fn takes(entry: &PriceEntry<'_>, task: &str) -> anyhow::Result<Vec<&'static str>> {
    let mut all = supported(&INPUTS, entry)?;
    all.push(if task == "transcription" {
        "audio"
    } else {
        "text"
    });
    Ok(sorted(all))
}

fn gives(entry: &PriceEntry<'_>, task: &str) -> anyhow::Result<Vec<&'static str>> {
    let mut all = vec![match task {
        "embedding" => "vector",
        "image" => "image",
        "speech" => "audio",
        _ => "text",
    }];
    if entry.flag("supports_audio_output")? {
        all.push("audio");
    }
    if entry.lists("supported_output_modalities", "image") {
        all.push("image");
    }
    Ok(sorted(all))
}

fn supported(
    words: &[(&str, &'static str)],
    entry: &PriceEntry<'_>,
) -> anyhow::Result<Vec<&'static str>> {
    let mut all = Vec::new();
    for (field, word) in words {
        if entry.flag(field)? {
            all.push(*word);
        }
    }
    Ok(all)
}

fn sorted(mut words: Vec<&'static str>) -> Vec<&'static str> {
    words.sort_unstable();
    words.dedup();
    words
}
