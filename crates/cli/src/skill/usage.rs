//! `prowess skill usage`

use clap::ValueEnum;
use comfy_table::{ContentArrangement, Table, presets};
use prowess_client::{SkillUsage, SkillUsageReport};

use crate::Exit;
use crate::client::{self, RemoteArgs};
use crate::output::{self, format_count};

/// List how often the skills of a server were offered, loaded and used in runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of days, including today
    #[arg(long, value_name = "NUMBER", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=400))]
    days: u32,
    /// Show only skills that were not offered, loaded or used
    #[arg(long, value_name = "WHAT")]
    filter: Option<UsageFilter>,
    /// Maximum number of skills to show
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Which skills to list.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum UsageFilter {
    /// No run offered it
    NeverOffered,
    /// No run loaded it
    NeverLoaded,
    /// A run loaded it and did not use it
    LoadedInVain,
}

impl UsageFilter {
    /// The server's name of it.
    fn as_str(self) -> &'static str {
        match self {
            UsageFilter::NeverOffered => "never_offered",
            UsageFilter::NeverLoaded => "never_loaded",
            UsageFilter::LoadedInVain => "loaded_in_vain",
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let filter = args.filter.map(UsageFilter::as_str);
    let max = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let report = client::block_on(async { Ok(client.skill_usage(args.days, filter, max).await?) })?;
    if args.json {
        output::print_json(&report)?;
        return Ok(Exit::Ok);
    }
    if !report.skills.is_empty() {
        output::print_text(&format!("{}\n", usage_table(&report).trim_fmt()))?;
    }
    let more = if report.has_more {
        "; there are more"
    } else {
        ""
    };
    output::print_remark(&format!(
        "{} since {}{more}",
        format_count(report.skills.len(), "skill"),
        day(&report.since)
    ));
    Ok(Exit::Ok)
}

fn usage_table(report: &SkillUsageReport) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header([
        "SKILL", "ID", "OFFERED", "LOADED", "USED", "IN VAIN", "LAST USE",
    ]);
    for skill in &report.skills {
        table.add_row([
            name(skill),
            skill.skill_id.clone(),
            skill.runs_offered.to_string(),
            skill.runs_loaded.to_string(),
            skill.runs_used.to_string(),
            skill.runs_loaded_in_vain.to_string(),
            last_use(skill),
        ]);
    }
    table
}

fn name(skill: &SkillUsage) -> String {
    let deleted = if skill.deleted { " (deleted)" } else { "" };
    format!("{}{deleted}", skill.name)
}

/// The day on which it was last used, loaded or offered, whichever it was most.
fn last_use(skill: &SkillUsage) -> String {
    let last = skill.last_used_at.as_ref();
    let last = last.or(skill.last_loaded_at.as_ref());
    let last = last.or(skill.last_offered_at.as_ref());
    last.map_or_else(|| "-".to_owned(), |time| day(time).to_owned())
}

/// The day of a time in RFC 3339.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or_default()
}
