//! `prowess usage`: model usage and cost, of the store itself or with `--server` of a server.

use anyhow::Context;
use comfy_table::{Table, presets};
use prowess_client::Client;
use prowess_store::{
    SkillCostSums, Store, TenantId, Timestamp, UsageGrouping, UsageQuery, UsageSum,
};
use serde_json::{Value, json};

use super::client::{ServerOrStoreArgs, block_on};
use super::config_args::ConfigArgs;
use super::{Exit, format_date, output, remote_usage, store_args, usage_by_skill};

/// Show model usage and cost.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Start of the period: 7d, 24h, 2026-11-01 or 2026-11-01T12:00:00Z
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = store_args::parse_time)]
    since: String,
    /// Group by
    #[arg(long, value_name = "WHAT", default_value = "model")]
    #[arg(value_parser = ["model", "key", "provider", "tenant", "day", "skill"])]
    by: String,
    /// Only this tenant
    #[arg(long, value_parser = store_args::parse_tenant)]
    tenant: Option<TenantId>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerOrStoreArgs,
    #[command(flatten)]
    place: ConfigArgs,
}

impl Args {
    /// What sums are of; usage by skill has sums of its own.
    fn grouping(&self) -> UsageGrouping {
        UsageGrouping::parse(&self.by).unwrap_or(UsageGrouping::Model)
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    block_on(async {
        match args.server.connect()? {
            Some(client) => print_remote(args, &client).await,
            None => print_local(args).await,
        }
    })?;
    Ok(Exit::Ok)
}

async fn print_remote(args: &Args, client: &Client) -> anyhow::Result<()> {
    let tenant = args.tenant.as_ref().map(TenantId::to_string);
    let mut query = vec![("since", args.since.as_str()), ("by", args.by.as_str())];
    query.extend(tenant.as_deref().map(|tenant| ("tenant", tenant)));
    let report = client.usage(&query).await?;
    if args.by == SkillCostSums::GROUPING {
        return usage_by_skill::print(&remote_usage::skill_sums(&report)?, args.json);
    }
    let by = args.grouping();
    let sums = remote_usage::sums(by, &report)?;
    print_sums(by, &sums, remote_usage::since(&report), args.json)
}

async fn print_local(args: &Args) -> anyhow::Result<()> {
    let query = UsageQuery {
        tenant: args.tenant.as_ref(),
        since: UsageQuery::parse_since(&args.since, Timestamp::now())?,
        by: args.grouping(),
    };
    let config = args.place.load(None)?;
    let store = Store::open(&config.store)
        .await
        .context("cannot open the store")?;
    if args.by == SkillCostSums::GROUPING {
        let all = SkillCostSums::MAX_SKILLS;
        let sums = store.skill_costs(query.tenant, query.since, all).await;
        store.close().await;
        return usage_by_skill::print(&sums?, args.json);
    }
    let sums = store.usage(&query).await?;
    store.close().await;
    print_sums(query.by, &sums, query.since, args.json)
}

fn print_sums(
    by: UsageGrouping,
    sums: &[UsageSum],
    since: Timestamp,
    as_json: bool,
) -> anyhow::Result<()> {
    if as_json {
        let shown: Vec<_> = sums.iter().map(|sum| sum_json(by, sum)).collect();
        return output::print_json(&shown);
    }
    if !sums.is_empty() {
        output::print_text(&format!("{}\n", usage_table(by, sums).trim_fmt()))?;
    }
    print_remarks(sums, since);
    Ok(())
}

fn usage_table(by: UsageGrouping, sums: &[UsageSum]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        by.as_str().to_uppercase().as_str(),
        "REQUESTS",
        "ERRORS",
        "INPUT",
        "CACHED",
        "OUTPUT",
        "COST",
        "AVERAGE",
    ]);
    for sum in sums {
        let group = match sum.group.as_str() {
            "" => "-",
            group => group,
        };
        table.add_row([
            output::strip_controls(group, true),
            sum.requests.to_string(),
            sum.errors.to_string(),
            sum.input_tokens.to_string(),
            (sum.cache_read_tokens + sum.cache_write_tokens).to_string(),
            sum.output_tokens.to_string(),
            format!("{:.4}", total_cost(sum)),
            format!("{} ms", average_millis(sum)),
        ]);
    }
    table
}

/// Prints the period and what the sums leave out.
fn print_remarks(sums: &[UsageSum], since: Timestamp) {
    let total = |of: fn(&UsageSum) -> u64| sums.iter().map(of).sum::<u64>();
    let mut text = format!(
        "{} since {}",
        output::format_count(total(|sum| sum.requests) as usize, "request"),
        format_date(since.as_seconds())
    );
    let unpriced = total(|sum| sum.unpriced);
    if unpriced > 0 {
        text.push_str(&format!("; {unpriced} without a price"));
    }
    let estimated = total(|sum| sum.estimated);
    if estimated > 0 {
        text.push_str(&format!("; {estimated} with estimated tokens"));
    }
    output::print_remark(&text);
}

fn sum_json(by: UsageGrouping, sum: &UsageSum) -> Value {
    json!({
        by.as_str(): sum.group,
        "requests": sum.requests,
        "errors": sum.errors,
        "input_tokens": sum.input_tokens,
        "output_tokens": sum.output_tokens,
        "cache_read_tokens": sum.cache_read_tokens,
        "cache_write_tokens": sum.cache_write_tokens,
        "cost": total_cost(sum),
        "requests_without_price": sum.unpriced,
        "requests_estimated": sum.estimated,
        "average_ms": average_millis(sum),
        "sandbox_ms": sum.sandbox_millis,
    })
}

fn total_cost(sum: &UsageSum) -> f64 {
    sum.cost_nanos as f64 / 1e9
}

fn average_millis(sum: &UsageSum) -> u64 {
    sum.millis.checked_div(sum.requests).unwrap_or_default()
}
