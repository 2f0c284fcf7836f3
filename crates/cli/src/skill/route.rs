//! `prowess skill route TASK`: which skills fit a task, why, and which of them a catalogue has

use std::path::PathBuf;

use comfy_table::{ContentArrangement, Table, presets};
use prowess_client::{RankedSkill, SkillRanking, WordMatch};

use super::route_local;
use crate::client::{self, RemoteArgs};
use crate::fetch::FetchArgs;
use crate::output::{self, format_count};
use crate::{Exit, paths, usage_error};

/// Words that are shown per skill.
const SHOWN_WORDS: usize = 6;

/// Rank skills for a task, and show why.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, in words
    #[arg(value_name = "TASK")]
    task: String,
    /// Folders of skills, archives or URLs
    #[arg(value_name = "SOURCE", default_value = ".", value_parser = paths::path_parser())]
    paths: Vec<PathBuf>,
    /// Rank the skills of a server instead; the URL defaults to PROWESS_URL
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
    /// Maximum number of skills to show
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.task.trim().is_empty() {
        return Err(usage_error("the task is empty; describe it in some words"));
    }
    let limit = usize::from(args.limit);
    let ranking = match &args.server {
        Some(url) => {
            let url = url.clone().or_else(|| std::env::var("PROWESS_URL").ok());
            let client = RemoteArgs::new(url, args.api_key.clone()).connect()?;
            client::block_on(async { Ok(client.route(&args.task, limit).await?) })?
        }
        None => route_local::rank_sources(&args.task, limit, &args.paths, &args.fetch)?,
    };
    if args.json {
        output::print_json(&ranking)?;
        return Ok(Exit::Ok);
    }
    if !ranking.skills.is_empty() {
        output::print_text(&format!("{}\n", ranking_table(&ranking).trim_fmt()))?;
    }
    let catalogue = ranking.catalogue;
    output::print_remark(&format!(
        "{}; {} of them in a catalogue of {} bytes, with {} bytes",
        format_count(ranking.skills.len(), "skill"),
        catalogue.skills,
        catalogue.limit_bytes,
        catalogue.bytes
    ));
    Ok(Exit::Ok)
}

fn ranking_table(ranking: &SkillRanking) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["RANK", "NAME", "SCORE", "BYTES", "WORDS"]);
    let last = ranking.skills.iter().rposition(|skill| skill.in_catalogue);
    let end = last.map_or(0, |last| last + 1);
    for (at, skill) in ranking.skills.iter().enumerate() {
        if at == end {
            table.add_row(["-", "(the catalogue ends here)"]);
        }
        // Before its end, those are left out that models may not load.
        let bytes = match skill.in_catalogue || at >= end {
            true => skill.catalogue_bytes.to_string(),
            false => "-".to_owned(),
        };
        table.add_row([
            skill.rank.to_string(),
            skill.name.clone(),
            format!("{:.4}", skill.score),
            bytes,
            words(skill),
        ]);
    }
    table
}

/// `merge (name, body), pdf (name), vectors (0.712)`
fn words(skill: &RankedSkill) -> String {
    let word = |matched: &WordMatch| format!("{} ({})", matched.word, matched.fields.join(", "));
    let mut words: Vec<_> = skill.matched.iter().take(SHOWN_WORDS).map(word).collect();
    if let Some(more) = skill.matched.len().checked_sub(SHOWN_WORDS + 1) {
        words.push(format!("and {} more", more + 1));
    }
    if let Some(similarity) = skill.similarity {
        words.push(format!("vectors ({similarity:.3})"));
    }
    words.join(", ")
}
