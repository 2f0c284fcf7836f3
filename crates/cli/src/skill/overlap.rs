//! `prowess skill overlap`: which skills are found for each other's queries

use std::path::PathBuf;

use comfy_table::{ContentArrangement, Table, presets};
use prowess_client::{OverlapPair, OverlapReport};
use prowess_ranking::OverlapRanks;

use super::overlap_local::{self, MAX_EXAMINED};
use crate::client::{self, RemoteArgs};
use crate::fetch::FetchArgs;
use crate::output::{self, format_count};
use crate::{Exit, paths};

/// Words that are shown per pair.
const SHOWN_WORDS: usize = 6;

/// List skills that are found for each other's queries.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folders of skills, archives or URLs
    #[arg(value_name = "SOURCE", default_value = ".", value_parser = paths::path_parser())]
    paths: Vec<PathBuf>,
    /// Examine the skills of a server instead; the URL defaults to PROWESS_URL
    #[arg(long, value_name = "URL", num_args = 0..=1)]
    server: Option<Option<String>>,
    /// With --server: the API key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
    /// Examine only this skill: its name, or its id on a server
    #[arg(long, value_name = "SKILL")]
    skill: Option<String>,
    /// Maximum number of pairs to show
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=5000))]
    limit: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let skill = args.skill.as_deref();
    let mut report = match &args.server {
        Some(url) => {
            let url = url.clone().or_else(|| std::env::var("PROWESS_URL").ok());
            let client = RemoteArgs::new(url, args.api_key.clone()).connect()?;
            client::block_on(async {
                match skill {
                    Some(skill) => {
                        let skill = client.find(skill).await?;
                        Ok(client.skill_overlap(&skill.id).await?)
                    }
                    None => Ok(client.overlap(MAX_EXAMINED).await?),
                }
            })?
        }
        None => overlap_local::examine_sources(&args.paths, skill, &args.fetch)?,
    };
    report
        .pairs
        .sort_by(|a, b| ranks(a).compare_severity(&ranks(b)));
    let found = report.pairs.len();
    report.pairs.truncate(usize::from(args.limit));
    if args.json {
        output::print_json(&report)?;
        return Ok(Exit::Ok);
    }
    if !report.pairs.is_empty() {
        output::print_text(&format!("{}\n", overlap_table(&report).trim_fmt()))?;
    }
    output::print_remark(&summary(&report, found));
    Ok(Exit::Ok)
}

fn ranks(pair: &OverlapPair) -> OverlapRanks {
    OverlapRanks {
        own: pair.rank,
        rival: pair.rival_rank,
        score_ratio: pair.score_ratio,
    }
}

fn overlap_table(report: &OverlapReport) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header([
        "SKILL",
        "RANK",
        "RIVAL",
        "ITS RANK",
        "RATIO",
        "SHARED WORDS",
    ]);
    for pair in &report.pairs {
        let rank = pair.rank.map_or("-".to_owned(), |rank| rank.to_string());
        let ratio = pair.score_ratio.map(|ratio| format!("{ratio:.2}"));
        let words = pair.shared.iter().take(SHOWN_WORDS);
        let words: Vec<_> = words.map(|word| word.word.as_str()).collect();
        table.add_row([
            pair.name.clone(),
            rank,
            pair.rival_name.clone(),
            pair.rival_rank.to_string(),
            ratio.unwrap_or_else(|| "-".to_owned()),
            words.join(", "),
        ]);
    }
    table
}

fn summary(report: &OverlapReport, found: usize) -> String {
    let mut text = format!(
        "{} in {}",
        format_count(found, "pair"),
        format_count(report.examined, "examined skill")
    );
    if report.pairs.len() < found {
        text.push_str(&format!("; {} are shown", report.pairs.len()));
    }
    if report.has_more {
        text.push_str("; there are more skills: examine others with --skill");
    }
    text
}
