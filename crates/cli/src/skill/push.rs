//! `prowess skill push SOURCE`

mod several;

use std::path::PathBuf;
use std::sync::Arc;

use prowess_client::{Client, Error, ProgressCallback, PushOptions, PushResult, PushTarget};
use prowess_skill::{BundleLimits, Profile, Skill};
use prowess_source::Origin;
use serde_json::{Value, json};

use super::inputs;
use super::stored_line::{UNCHANGED, stored_line};
use crate::client::{self, RemoteArgs};
use crate::fetch::FetchArgs;
use crate::output::{self, format_size};
use crate::{Exit, paths, progress, snippet};

/// Upload skills to a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A folder, archive or URL with a skill or with several, or a SKILL.md
    #[arg(value_name = "SOURCE", value_parser = paths::path_parser())]
    path: PathBuf,
    /// Create a version of this skill, by id or name; default: the skill with the same name
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
    let inputs = inputs::open_some(&args.path, &args.fetch)?;
    match (inputs.origins.as_slice(), inputs.unreadable.as_slice()) {
        ([origin], []) => push_one(args, origin),
        _ => several::run(args, &inputs),
    }
}

fn push_one(args: &Args, origin: &Origin) -> anyhow::Result<Exit> {
    let loaded = origin.load(&BundleLimits::default(), Profile::Upload)?;
    snippet::print_problems(&loaded, origin.path());
    let Some(skill) = loaded.skill.as_ref().filter(|_| loaded.is_valid()) else {
        output::print_error("nothing was uploaded: fix the errors above first");
        return Ok(Exit::Problems);
    };
    let client = args.remote.connect()?;
    let pushed = client::block_on(async { anyhow::Ok(upload(args, &client, skill).await?) })?;
    if args.json {
        output::print_json(&pushed_json(skill, &pushed))?;
    } else {
        output::print_text(&format!("{}\n", describe(skill, &pushed)))?;
    }
    Ok(Exit::Ok)
}

async fn upload(args: &Args, client: &Client, skill: &Skill) -> Result<PushResult, Error> {
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
    pushed
}

fn is_unchanged(pushed: &PushResult) -> bool {
    pushed.outcome == "unchanged"
}

fn pushed_json(skill: &Skill, pushed: &PushResult) -> Value {
    let version = &pushed.version;
    json!({
        "name": skill.name,
        "skill": pushed.skill,
        "version": version.version,
        "version_id": version.id,
        "outcome": pushed.outcome,
        "digest": skill.manifest.digest(),
    })
}

fn describe(skill: &Skill, pushed: &PushResult) -> String {
    let version = &pushed.version;
    let what = if is_unchanged(pushed) {
        UNCHANGED.to_owned()
    } else {
        format!("pushed {}", format_size(skill.bundle.total_bytes()))
    };
    stored_line(
        &skill.name,
        &what,
        &version.version,
        &pushed.skill,
        &version.id,
    )
}
