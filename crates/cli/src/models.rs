//! `prowess models`: models that are known without configuration, with their limits and prices.

use comfy_table::{Table, presets};
use prowess_provider::known_models::{self, KnownModel};
use serde_json::json;

use super::{Exit, output};

/// Show known models, their limits and prices.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A part of a provider's or model's name; all models by default
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let part = args.name.as_deref().unwrap_or_default().to_lowercase();
    let is_shown = |known: &&KnownModel| {
        let name = format!("{}/{}", known.provider, known.model);
        name.to_lowercase().contains(&part)
    };
    let shown: Vec<_> = known_models::all().iter().filter(is_shown).collect();
    if args.json {
        output::print_json(&json!({ "date": known_models::DATE, "models": shown }))?;
    } else if !shown.is_empty() {
        output::print_text(&format!("{}\n", model_table(&shown).trim_fmt()))?;
    }
    output::print_remark(&format!(
        "{} as of {}; prices in US dollars per million tokens",
        output::format_count(shown.len(), "model"),
        known_models::DATE
    ));
    Ok(match shown.is_empty() {
        true => Exit::Problems,
        false => Exit::Ok,
    })
}

fn model_table(shown: &[&KnownModel]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "MODEL",
        "CONTEXT",
        "MAX OUTPUT",
        "INPUT",
        "CACHE READ",
        "CACHE WRITE",
        "OUTPUT",
    ]);
    for known in shown {
        let count =
            |tokens: Option<u64>| tokens.map_or("-".to_owned(), |tokens| tokens.to_string());
        let price = known.price.as_ref();
        let amount = |price: Option<f64>| price.map_or("-".to_owned(), |price| price.to_string());
        table.add_row([
            format!("{}/{}", known.provider, known.model),
            count(known.context),
            count(known.output),
            amount(price.map(|price| price.input)),
            amount(price.and_then(|price| price.cache_read)),
            amount(price.and_then(|price| price.cache_write)),
            amount(price.map(|price| price.output)),
        ]);
    }
    table
}
