//! `prowess skill push SOURCE`

use std::path::PathBuf;
use std::sync::Arc;

use prowess_client::{Client, ProgressCallback, PushOptions, PushResult, PushTarget};
use prowess_skill::{BundleLimits, Profile, Skill};
use serde_json::json;

use super::inputs;
use crate::client::{self, RemoteArgs};
use crate::fetch::FetchArgs;
use crate::output::{self, format_size};
use crate::{Exit, paths, progress, snippet};

/// Upload a skill to a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A skill's folder, archive, SKILL.md or URL
    #[arg(value_name = "SOURCE", value_parser = paths::path_parser())]
    path: PathBuf,
    /// Create a version of this skill; default: the skill with the same name
    #[arg(long, value_name = "ID")]
    skill: Option<String>,
    /// Display title of a new skill; that of an existing one cannot be changed
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Make the new version the default
    #[arg(long)]
    default: bool,
    /// Note for the new version
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Create a version even if nothing has changed
    #[arg(long)]
    always: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let origin = inputs::open_one(&args.path, &args.fetch)?;
    let loaded = origin.load(&BundleLimits::default(), Profile::Upload)?;
    snippet::print_problems(&loaded, origin.path());
    let Some(skill) = loaded.skill.as_ref().filter(|_| loaded.is_valid()) else {
        output::print_error("nothing was uploaded: fix the errors above first");
        return Ok(Exit::Problems);
    };
    let client = args.remote.connect()?;
    let pushed = client::block_on(push(args, &client, skill))?;
    print_report(args, skill, &pushed)?;
    Ok(Exit::Ok)
}

async fn push(args: &Args, client: &Client, skill: &Skill) -> anyhow::Result<PushResult> {
    let bar = progress::bytes_bar("uploading");
    let sent: ProgressCallback = Arc::new({
        let bar = bar.clone();
        move |bytes| bar.inc(bytes)
    });
    let push = PushOptions {
        target: match &args.skill {
            Some(id) => PushTarget::Skill(id.clone()),
            None => PushTarget::ByName,
        },
        title: args.title.clone(),
        default: args.default,
        notes: args.note.clone(),
        force: args.always,
        progress: Some(sent),
    };
    let pushed = client.push(skill, &push).await;
    bar.finish_and_clear();
    Ok(pushed?)
}

fn print_report(args: &Args, skill: &Skill, pushed: &PushResult) -> anyhow::Result<()> {
    let version = &pushed.version;
    if args.json {
        return output::print_json(&json!({
            "name": skill.name,
            "skill": pushed.skill,
            "version": version.version,
            "version_id": version.id,
            "outcome": pushed.outcome,
            "digest": skill.manifest.digest(),
        }));
    }
    let what = match pushed.outcome.as_str() {
        "unchanged" => "nothing changed".to_owned(),
        _ => format!("pushed {}", format_size(skill.bundle.total_bytes())),
    };
    output::print_text(&format!(
        "{}: {what}, version {} ({}, {})\n",
        skill.name, version.version, pushed.skill, version.id
    ))
}
