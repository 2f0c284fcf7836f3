//! `cargo xtask known-models`: rewrites the table of known models from a price list.
//!
//! The price list is a JSON object of the widespread form: a model's name leads to its
//! `litellm_provider`, `mode`, costs per token, limits and `supports_*`. Only facts of providers
//! that Prowess knows are taken; a value that cannot be right stops the command, with its line.
//! What the list no longer has keeps the row that it has now: without one, requests to such a model
//! have no price, and budgets do not count them.
//!
//! | module | owns |
//! |---|---|
//! | `price_list` | reading and checking a list's entries |
//! | `listed_price` | the prices of an entry |
//! | `listed_provider` | the kind of an entry's provider |
//! | `previous_table` | the rows of the present table |
//! | `table_row` | the line that an entry becomes |

mod listed_price;
mod listed_provider;
mod previous_table;
mod price_list;
mod table_row;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use self::previous_table::previous_rows;
use self::price_list::PriceList;
use self::table_row::{TableRow, model_key};

/// The table, below the workspace.
const TABLE: &str = "crates/provider/src/known_models/table.json";

/// Rewrite the table of known models from a price list
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The price list: a JSON file
    file: PathBuf,
    /// The date as of which its facts hold: YYYY-MM-DD
    #[arg(long)]
    date: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(&args.file)
        .with_context(|| format!("cannot read {}", args.file.display()))?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(TABLE);
    let previous = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let table = convert(&text, &previous, &args.date)
        .with_context(|| format!("{} is not a price list", args.file.display()))?;
    std::fs::write(&path, &table).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!(
        "{TABLE}: {} models as of {}",
        table.lines().count().saturating_sub(2),
        args.date
    );
    Ok(())
}

/// The table of a price list, and of what only the previous table has.
fn convert(text: &str, previous: &str, date: &str) -> anyhow::Result<String> {
    let shape: Vec<_> = date.split('-').map(str::len).collect();
    let digits = date.bytes().filter(u8::is_ascii_digit).count();
    ensure!(
        shape == [4, 2, 2] && digits == 8,
        "--date: {date:?} is not a date; write YYYY-MM-DD"
    );
    let list = PriceList::parse(text)?;
    let mut rows = BTreeMap::new();
    let mut listed = BTreeSet::new();
    for entry in list.entries() {
        let Some((provider, model)) = model_key(&entry) else {
            continue;
        };
        let key = (provider.to_owned(), model.to_owned());
        if let Some(row) = TableRow::from_entry(&entry, date)? {
            rows.entry(key.clone()).or_insert_with(|| row.to_json());
        }
        listed.insert(key);
    }
    ensure!(!rows.is_empty(), "it has no model of a known provider");
    for (key, line) in previous_rows(previous)? {
        if !listed.contains(&key) {
            rows.insert(key, line);
        }
    }
    let lines: Vec<String> = rows.into_values().collect();
    Ok(format!(
        "{{\"date\":\"{date}\",\"models\":[\n{}\n]}}\n",
        lines.join(",\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{
    "sample_spec": { "max_input_tokens": "a text" },
    "openai/other": { "litellm_provider": "someone", "mode": "chat" },
    "gpt-x": {
        "cache_read_input_token_cost": 1.25e-07,
        "input_cost_per_token": 1.25e-06,
        "litellm_provider": "openai",
        "max_input_tokens": 272000,
        "max_output_tokens": 128000,
        "mode": "chat",
        "output_cost_per_token": 1e-05,
        "supports_function_calling": true,
        "supports_vision": true
    },
    "azure/eu/gpt-x": { "litellm_provider": "azure", "mode": "chat", "max_input_tokens": 1 },
    "rerank-y": { "litellm_provider": "cohere", "mode": "rerank", "max_input_tokens": 4096,
        "input_cost_per_query": 0.002, "input_cost_per_token": 0.0, "output_cost_per_token": 0.0 },
    "old": { "litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1,
        "deprecation_date": "2025-01-01" },
    "short": { "litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 1e-07,
        "output_cost_per_token": 5e-07, "input_cost_per_token_above_100k_tokens": 2e-07,
        "input_cost_per_token_above_100k_tokens_batches": 1e-07,
        "input_cost_per_token_above_500k_tokens": 4e-07,
        "output_cost_per_token_above_100k_tokens": 1e-06 },
    "azure/still-there": { "litellm_provider": "azure", "mode": "chat", "max_input_tokens": 1,
        "deprecation_date": "2025-09-01" },
    "groq/fast": { "litellm_provider": "groq", "mode": "chat", "input_cost_per_token": 5e-08,
        "output_cost_per_token": 8e-08 },
    "xai/special": { "litellm_provider": "xai", "mode": "chat", "input_cost_per_token": 3e-06,
        "output_cost_per_token": 1.5e-05, "cache_creation_input_token_cost_above_1hr": 6e-06,
        "input_cost_per_token_above_200k_tokens": 6e-06,
        "output_cost_per_token_above_200k_tokens": 2.25e-05,
        "cache_read_input_token_cost_above_200k_tokens": 6e-07,
        "input_cost_per_audio_token": 4e-05, "output_cost_per_audio_token": 1.5e-05,
        "input_cost_per_token_batches": 1.5e-06, "input_cost_per_token_flex": 2e-06,
        "input_cost_per_token_priority": 5.4e-06 }
}"#;

    /// Its first two rows are of models that the list still has, and one of them is retired.
    const PREVIOUS: &str = r#"{"date":"2026-01-01","models":[
{"provider":"groq","model":"fast","task":"chat","price":{"input":9.0,"output":9.0},"takes":["text"],"gives":["text"],"supports":[]},
{"provider":"openai","model":"old","task":"chat","context":1,"takes":["text"],"gives":["text"],"supports":[]},
{"provider":"openrouter","model":"a/b","task":"chat","context":7,"takes":["text"],"gives":["text"],"supports":[]}
]}
"#;
    const EMPTY: &str = r#"{"date":"2026-01-01","models":[]}"#;

    #[test]
    fn a_price_list_becomes_a_sorted_table_and_what_it_no_longer_has_stays() {
        let expected = r#"{"date":"2026-08-06","models":[
{"provider":"anthropic","model":"short","task":"chat","price":{"input":0.1,"output":0.5,"special":{"long":{"above":100000,"input":0.2,"output":1.0}}},"takes":["text"],"gives":["text"],"supports":[]},
{"provider":"azure","model":"still-there","task":"chat","context":1,"takes":["text"],"gives":["text"],"supports":[]},
{"provider":"cohere","model":"rerank-y","task":"rerank","context":4096,"takes":["text"],"gives":["text"],"supports":[]},
{"provider":"groq","model":"fast","task":"chat","price":{"input":0.05,"output":0.08},"takes":["text"],"gives":["text"],"supports":[]},
{"provider":"openai","model":"gpt-x","task":"chat","context":272000,"output":128000,"price":{"input":1.25,"output":10.0,"cache_read":0.125},"takes":["image","text"],"gives":["text"],"supports":["tools"]},
{"provider":"openrouter","model":"a/b","task":"chat","context":7,"takes":["text"],"gives":["text"],"supports":[]},
{"provider":"xai","model":"special","task":"chat","price":{"input":3.0,"output":15.0,"special":{"audio_input":40.0,"long":{"above":200000,"input":6.0,"output":22.5,"cache_read":0.6},"flex":0.666667,"priority":1.8}},"takes":["text"],"gives":["text"],"supports":[]}
]}
"#;
        assert_eq!(convert(LIST, PREVIOUS, "2026-08-06").unwrap(), expected);
    }

    #[test]
    fn a_value_that_cannot_be_right_is_refused_with_its_line() {
        for (right, wrong, message) in [
            (
                "1.25e-06",
                "-1.25e-06",
                "line 6: gpt-x: input_cost_per_token: -0.00000125 is not a price per token; \
                 it must be from 0 to 0.01",
            ),
            (
                "1e-05",
                "10",
                "line 11: gpt-x: output_cost_per_token: 10 is not a price per token; it must be \
                 from 0 to 0.01",
            ),
            (
                "272000",
                "\"many\"",
                "line 8: gpt-x: max_input_tokens: \"many\" is not a number of tokens",
            ),
            (
                "\"supports_vision\": true",
                "\"supports_vision\": 1",
                "line 13: gpt-x: supports_vision: 1 is not true or false",
            ),
        ] {
            let error = convert(&LIST.replacen(right, wrong, 1), EMPTY, "2026-08-06").unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        assert!(convert("[1]", EMPTY, "2026-08-06").is_err());
        assert!(convert("{}", EMPTY, "2026-08-06").is_err());
        assert!(convert(LIST, "", "2026-08-06").is_err());
        assert!(convert(LIST, EMPTY, "yesterday").is_err());
    }
}
