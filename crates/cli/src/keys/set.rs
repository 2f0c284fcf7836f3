//! `prowess keys set`: changes a key.

use prowess_store::KeyBudget;

use super::limits::parse_budget;
use super::place::{KeyFields, PlaceArgs};
use crate::{output, usage_error};

/// In place of a value, to take it away.
const NONE: &str = "none";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key's id (key_…) or prefix (sk-pw-…)
    key: String,
    /// What the key is for
    #[arg(long)]
    name: Option<String>,
    /// Permissions of the key, separated by commas, instead of those it has
    #[arg(long = "scope", value_name = "SCOPE")]
    #[arg(value_parser = ["read", "use", "publish", "release", "providers", "metrics", "admin"], value_delimiter = ',')]
    scopes: Option<Vec<String>>,
    /// A model name that the key may use, instead of those it has; * matches anything. Can be
    /// repeated
    #[arg(long = "model", value_name = "GLOB")]
    models: Option<Vec<String>>,
    /// Requests per minute, or none
    #[arg(long, value_name = "N", value_parser = parse_rate::<u32>)]
    rpm: Option<Setting<u32>>,
    /// Tokens per minute, or none
    #[arg(long, value_name = "N", value_parser = parse_rate::<u64>)]
    tpm: Option<Setting<u64>>,
    /// Budget: 5, 5/day, 100/month or none
    #[arg(long, value_name = "AMOUNT[/day|month]", value_parser = parse_budget_or_none)]
    budget: Option<Setting<KeyBudget>>,
    /// Days from now until the key expires, or none
    #[arg(long, value_name = "DAYS", value_parser = parse_days)]
    expires: Option<Setting<u32>>,
    /// Whether all stored skills are open to the runs of the key: true, false, or none to leave
    /// it to `auto` under [skills]
    #[arg(long, value_name = "BOOL", value_parser = parse_bool)]
    auto: Option<Setting<bool>>,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Days until a key expires, at most: as for new keys, and over HTTP.
const MAX_DAYS: u32 = 36_500;

/// A value, or that there shall be none.
#[derive(Debug, Clone, Copy)]
struct Setting<T>(Option<T>);

pub(super) async fn set(args: &Args) -> anyhow::Result<()> {
    let fields = KeyFields {
        name: args.name.clone(),
        scopes: args.scopes.clone(),
        models: args.models.clone(),
        requests_per_minute: args.rpm.map(|rate| rate.0),
        tokens_per_minute: args.tpm.map(|rate| rate.0),
        budget: args.budget.map(|budget| budget.0),
        expires_in_days: args.expires.map(|days| days.0),
        auto: args.auto.map(|auto| auto.0),
    };
    if fields.is_empty() {
        return Err(usage_error(
            "nothing to change: name what to set, for instance --rpm 60",
        ));
    }
    let place = args.place.open().await?;
    let key = place.update(&args.key, &fields).await?;
    place.close().await;
    if args.place.json {
        return output::print_json(&key.to_json());
    }
    output::print_remark(&key.describe());
    Ok(())
}

fn parse_rate<T: std::str::FromStr + PartialEq + From<u8>>(
    text: &str,
) -> Result<Setting<T>, String> {
    if text == NONE {
        return Ok(Setting(None));
    }
    let number = text.parse::<T>().ok();
    let number = number.filter(|number| *number != T::from(0));
    let number = number.ok_or_else(|| format!("`{text}` is not a number of 1 or more, or none"))?;
    Ok(Setting(Some(number)))
}

fn parse_days(text: &str) -> Result<Setting<u32>, String> {
    let days = parse_rate::<u32>(text)?;
    match days.0 {
        Some(number) if number > MAX_DAYS => Err(format!("`{text}` is more than {MAX_DAYS} days")),
        _ => Ok(days),
    }
}

fn parse_budget_or_none(text: &str) -> Result<Setting<KeyBudget>, String> {
    match text {
        NONE => Ok(Setting(None)),
        text => Ok(Setting(Some(parse_budget(text)?))),
    }
}

fn parse_bool(text: &str) -> Result<Setting<bool>, String> {
    match text {
        NONE => Ok(Setting(None)),
        "true" => Ok(Setting(Some(true))),
        "false" => Ok(Setting(Some(false))),
        _ => Err(format!("`{text}` is not true, false or none")),
    }
}
