//! `prowess skill diff SKILL` and `prowess skill diff SOURCE SOURCE`

use std::path::{Path, PathBuf};

use anyhow::bail;
use prowess_skill::compare::compare;
use prowess_skill::{BundleLimits, Profile, Skill};
use serde_json::Value;

use super::{diff_text, inputs};
use crate::client::{self, RemoteArgs};
use crate::fetch::FetchArgs;
use crate::{Exit, display_path, output, paths};

/// Show what differs between two versions of a skill, or between two skills.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The id or name of a skill on a server; or a skill's folder, archive, SKILL.md or URL
    #[arg(value_name = "SKILL", value_parser = paths::path_parser())]
    skill: PathBuf,
    /// Compare with this skill: a folder, archive, SKILL.md or URL
    #[arg(value_name = "SOURCE", value_parser = paths::path_parser())]
    other: Option<PathBuf>,
    /// The first version; default: the default version
    #[arg(long, value_name = "VERSION", conflicts_with = "other")]
    from: Option<String>,
    /// The second version; default: the latest
    #[arg(long, value_name = "VERSION", conflicts_with = "other")]
    to: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let compared = match &args.other {
        Some(other) => compare_sources(args, other)?,
        None => compare_versions(args)?,
    };
    if args.json {
        output::print_json(&compared)?;
    } else {
        output::print_text(&diff_text::render(&compared))?;
    }
    Ok(match compared.get("identical") {
        Some(Value::Bool(true)) => Exit::Ok,
        _ => Exit::Problems,
    })
}

fn compare_versions(args: &Args) -> anyhow::Result<Value> {
    let Some(skill) = args.skill.to_str() else {
        bail!("{} is not the name of a skill", display_path(&args.skill));
    };
    let client = args.remote.connect()?;
    client::block_on(async {
        let skill = client.find(skill).await?;
        let (from, to) = (args.from.as_deref(), args.to.as_deref());
        Ok(client.compare_versions(&skill.id, from, to).await?)
    })
}

fn compare_sources(args: &Args, other: &Path) -> anyhow::Result<Value> {
    let from = load(&args.skill, &args.fetch)?;
    let to = load(other, &args.fetch)?;
    Ok(serde_json::to_value(compare(&from, &to))?)
}

fn load(path: &Path, fetch: &FetchArgs) -> anyhow::Result<Skill> {
    let origin = inputs::open_one(path, fetch)?;
    let loaded = origin.load(&BundleLimits::default(), Profile::Lenient)?;
    match loaded.skill {
        Some(skill) => Ok(skill),
        None => bail!(
            "{}: it cannot be read; `prowess skill validate` says why",
            display_path(path)
        ),
    }
}
