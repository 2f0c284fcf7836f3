//! `prowess keys create`

use prowess_store::{KeyBudget, KeyLimits};

use super::limits::parse_budget;
use super::place::{KeyRequest, NewSecret, PlaceArgs};
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the key is for
    name: String,
    /// Permissions of the key, separated by commas
    #[arg(long = "scope", value_name = "SCOPE", default_values = ["read", "use", "publish"])]
    #[arg(value_parser = ["read", "use", "publish", "release", "providers", "metrics", "admin"], value_delimiter = ',')]
    scopes: Vec<String>,
    /// A model name that the key may use; * matches anything. Can be repeated; default:
    /// all models
    #[arg(long = "model", value_name = "GLOB")]
    models: Vec<String>,
    /// Requests per minute, to models and over MCP
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rpm: Option<u32>,
    /// Tokens per minute, in and out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tpm: Option<u64>,
    /// Budget: 5, 5/day or 100/month, in the currency of the prices (known models: US dollars)
    #[arg(long, value_name = "AMOUNT[/day|month]", value_parser = parse_budget)]
    budget: Option<KeyBudget>,
    /// Days until the key expires; default: never
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    expires: Option<u32>,
    /// Whether all stored skills are open to the runs of the key, as if their requests had
    /// `auto`; default: `auto` under [skills] decides
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    auto: Option<bool>,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) async fn create(args: &Args) -> anyhow::Result<()> {
    let place = args.place.open().await?;
    let requested = KeyRequest {
        name: &args.name,
        scopes: &args.scopes,
        limits: KeyLimits {
            models: args.models.clone(),
            requests_per_minute: args.rpm,
            tokens_per_minute: args.tpm,
            budget: args.budget,
        },
        expires_in_days: args.expires,
        auto: args.auto,
    };
    let created = place.create(&requested).await?;
    place.close().await;
    print_secret(&created, args.place.json)
}

/// Prints a key with its secret: the only time that it is shown.
pub(super) fn print_secret(new: &NewSecret, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return output::print_json(&new.key.to_json_with(&new.secret));
    }
    output::print_text(&format!("{}\n", new.secret))?;
    output::print_remark(&format!(
        "{}. Save the key now: it is not shown again",
        new.key.describe()
    ));
    Ok(())
}
