//! `prowess keys create|list|revoke`: works on the store directly, without a server.

use std::time::Duration;

use anyhow::Context;
use comfy_table::{Table, presets};
use prowess_store::{
    BudgetPeriod, KeyBudget, KeyLimits, KeyRecord, KeyScope, NewKey, Store, TenantId, Timestamp,
};
use serde_json::{Value, json};

use super::serve::ConfigArgs;
use super::{Exit, format_date, output};

/// Nano-units per currency unit.
const NANOS_PER_UNIT: f64 = 1e9;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Create a key; it is printed only once
    Create(CreateArgs),
    /// List a tenant's keys
    List(ListArgs),
    /// Revoke a key
    Revoke(RevokeArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct CreateArgs {
    /// What the key is for
    name: String,
    /// Permissions of the key
    #[arg(long = "scope", value_name = "SCOPE", default_values = ["read", "use", "publish"])]
    #[arg(value_parser = ["read", "use", "publish", "admin"], value_delimiter = ',')]
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
    /// Budget: 5, 5/day or 100/month, in the currency of the prices under [[models]]
    #[arg(long, value_name = "AMOUNT[/day|month]", value_parser = parse_budget)]
    budget: Option<KeyBudget>,
    /// Days until the key expires; default: never
    #[arg(long, value_name = "DAYS")]
    expires: Option<u32>,
    #[command(flatten)]
    common: CommonKeyArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    common: CommonKeyArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct RevokeArgs {
    /// The key's id (key_…) or prefix (sk-pw-…)
    key: String,
    #[command(flatten)]
    common: CommonKeyArgs,
}

#[derive(Debug, clap::Args)]
struct CommonKeyArgs {
    /// The tenant
    #[arg(long, default_value = "default")]
    tenant: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: ConfigArgs,
}

impl CommonKeyArgs {
    async fn open(&self) -> anyhow::Result<(Store, TenantId)> {
        let tenant = TenantId::new(self.tenant.as_str())?;
        let config = self.place.load(None)?;
        let store = Store::open(&config.store)
            .await
            .context("cannot open the store")?;
        Ok((store, tenant))
    }
}

pub(super) fn run(command: &Command) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match command {
            Command::Create(args) => create(args).await,
            Command::List(args) => list(args).await,
            Command::Revoke(args) => revoke(args).await,
        }
    })?;
    Ok(Exit::Ok)
}

async fn create(args: &CreateArgs) -> anyhow::Result<()> {
    let (store, tenant) = args.common.open().await?;
    store.ensure_tenant(&tenant, tenant.as_str()).await?;
    let scopes = args.scopes.iter().map(|scope| KeyScope::parse(scope));
    let scopes = scopes.collect::<Result<Vec<_>, _>>()?;
    let days = |days| Duration::from_secs(u64::from(days) * 24 * 3_600);
    let new = NewKey {
        name: &args.name,
        scopes: &scopes,
        expires_in: args.expires.map(days),
    };
    let limits = KeyLimits {
        models: args.models.clone(),
        requests_per_minute: args.rpm,
        tokens_per_minute: args.tpm,
        budget: args.budget,
    };
    let made = store.create_limited_key(&tenant, &new, &limits).await;
    let (key, secret) = made?;
    store.close().await;
    if args.common.json {
        let mut shown = key_json(&key);
        if let Some(shown) = shown.as_object_mut() {
            shown.insert("key".to_owned(), secret.reveal().into());
        }
        return output::print_json(&shown);
    }
    output::print_text(&format!("{}\n", secret.reveal()))?;
    output::print_remark(&format!(
        "{} for tenant `{tenant}`: {}; {}. Save the key now: it is not shown again",
        key.id,
        scope_names(&key.scopes).join(", "),
        describe_limits(&key.limits).unwrap_or_else(|| "no limits".to_owned())
    ));
    Ok(())
}

async fn list(args: &ListArgs) -> anyhow::Result<()> {
    let (store, tenant) = args.common.open().await?;
    let keys = store.list_keys(&tenant).await?;
    store.close().await;
    if args.common.json {
        return output::print_json(&keys.iter().map(key_json).collect::<Vec<_>>());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let header = [
        "ID",
        "PREFIX",
        "NAME",
        "SCOPES",
        "LIMITS",
        "LAST USED",
        "STATE",
    ];
    table.set_header(header);
    for key in &keys {
        let used = key.last_used_at.map_or("-".to_owned(), format_time);
        let scopes = scope_names(&key.scopes).join(",");
        let limits = describe_limits(&key.limits).unwrap_or_else(|| "-".to_owned());
        let (id, prefix, name) = (&key.id, &key.prefix, &key.name);
        table.add_row([id, prefix, name, &scopes, &limits, &used, key_state(key)]);
    }
    if !keys.is_empty() {
        output::print_text(&format!("{}\n", table.trim_fmt()))?;
    }
    output::print_remark(&output::format_count(keys.len(), "key"));
    Ok(())
}

async fn revoke(args: &RevokeArgs) -> anyhow::Result<()> {
    let (store, tenant) = args.common.open().await?;
    store.revoke_key(&tenant, &args.key).await?;
    store.close().await;
    if args.common.json {
        return output::print_json(&json!({ "key": args.key, "revoked": true }));
    }
    output::print_remark(&format!(
        "revoked {}; servers refuse it within seconds",
        args.key
    ));
    Ok(())
}

fn key_json(key: &KeyRecord) -> Value {
    json!({
        "id": key.id,
        "tenant": key.tenant.as_str(),
        "name": key.name,
        "prefix": key.prefix,
        "scopes": scope_names(&key.scopes),
        "models": key.limits.models,
        "requests_per_minute": key.limits.requests_per_minute,
        "tokens_per_minute": key.limits.tokens_per_minute,
        "budget": key.limits.budget.map(|budget| json!({
            "amount": budget_amount(budget),
            "period": budget.period.as_str(),
        })),
        "created_at": format_time(key.created_at),
        "last_used_at": key.last_used_at.map(format_time),
        "expires_at": key.expires_at.map(format_time),
        "revoked_at": key.revoked_at.map(format_time),
    })
}

/// `5`, `5/day`, `0.25/month`.
fn parse_budget(text: &str) -> Result<KeyBudget, String> {
    let (amount, period) = match text.split_once('/') {
        Some((amount, period)) => (
            amount,
            BudgetPeriod::parse(period).map_err(|e| e.to_string())?,
        ),
        None => (text, BudgetPeriod::Ever),
    };
    let amount: f64 = amount
        .trim_start_matches('$')
        .parse()
        .map_err(|_| format!("`{amount}` is not an amount, for instance 5 or 0.25"))?;
    let nanos = amount * NANOS_PER_UNIT;
    // Reject amounts that overflow a budget.
    if !(nanos.is_finite() && (0.0..9e18).contains(&nanos)) {
        return Err(format!("`{amount}` is not an amount of 0 or more"));
    }
    Ok(KeyBudget {
        nanos: nanos.round() as u64,
        period,
    })
}

fn budget_amount(budget: KeyBudget) -> f64 {
    budget.nanos as f64 / NANOS_PER_UNIT
}

/// A key's limits in one line; `None` when it has none.
fn describe_limits(limits: &KeyLimits) -> Option<String> {
    let mut all = Vec::new();
    if !limits.models.is_empty() {
        all.push(limits.models.join(","));
    }
    all.extend(limits.requests_per_minute.map(|n| format!("{n} rpm")));
    all.extend(limits.tokens_per_minute.map(|n| format!("{n} tpm")));
    all.extend(limits.budget.map(|budget| match budget.period {
        BudgetPeriod::Ever => format!("{} in total", budget_amount(budget)),
        period => format!("{}/{}", budget_amount(budget), period.as_str()),
    }));
    (!all.is_empty()).then(|| all.join(", "))
}

fn scope_names(scopes: &[KeyScope]) -> Vec<&'static str> {
    scopes.iter().map(|scope| scope.as_str()).collect()
}

fn key_state(key: &KeyRecord) -> &'static str {
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|at| at <= Timestamp::now()) {
        "expired"
    } else {
        "valid"
    }
}

fn format_time(time: Timestamp) -> String {
    format_date(time.as_seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_an_amount_and_perhaps_a_period() {
        let read = |text| parse_budget(text).map(|budget| (budget.nanos, budget.period.as_str()));
        assert_eq!(read("5"), Ok((5_000_000_000, "ever")));
        assert_eq!(read("$0.25/day"), Ok((250_000_000, "day")));
        assert_eq!(read("100/month"), Ok((100_000_000_000, "month")));
        for bad in ["", "-1", "5/week", "five", "inf", "1e30"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
