//! `prowess skill push SOURCE`

use std::path::PathBuf;

use anyhow::Context;
use prowess_skill::{Layout, Limits, Profile, Severity, Skill};
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;
use serde_json::json;

use super::inputs;
use crate::cli::client::{self, Client, Remote, RemoteSkill, RemoteVersion};
use crate::cli::fetch::Fetch;
use crate::cli::output::{self, size};
use crate::cli::{Exit, progress, snippet};

/// Upload a skill: a new one, or a new version of the one that has its name. Nothing
/// is sent when the latest version has the same files.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A skill's folder, archive, SKILL.md or URL
    #[arg(value_name = "SOURCE")]
    path: PathBuf,
    /// Make a version of this skill; the one of the same name when left out
    #[arg(long, value_name = "ID")]
    skill: Option<String>,
    /// What to call a new skill
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Make the new version the default
    #[arg(long)]
    default: bool,
    /// Make a version even if nothing has changed
    #[arg(long)]
    always: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
    #[command(flatten)]
    fetch: Fetch,
}

/// A new skill, or a new version of one.
#[derive(Debug, Deserialize)]
struct Made {
    id: String,
    skill_id: Option<String>,
}

/// What came of it.
struct Pushed {
    skill: String,
    version: RemoteVersion,
    outcome: String,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let origin = inputs::open_one(&args.path, &args.fetch)?;
    let loaded = origin.load(&Limits::default(), Profile::Upload)?;
    let worth = loaded
        .diagnostics
        .iter()
        .filter(|d| d.severity > Severity::Note);
    for diagnostic in worth {
        output::remark(&snippet::render(
            diagnostic,
            origin.path(),
            loaded.source.as_ref(),
        ));
    }
    let Some(skill) = loaded.skill.as_ref().filter(|_| loaded.is_valid()) else {
        output::error("nothing was sent: mend the errors above first");
        return Ok(Exit::Problems);
    };
    let client = args.remote.connect()?;
    let pushed = client::block_on(push(args, &client, skill))?;
    report(args, skill, &pushed)?;
    Ok(Exit::Ok)
}

async fn push(args: &Args, client: &Client, skill: &Skill) -> anyhow::Result<Pushed> {
    let Some(target) = target(args, client, &skill.name).await? else {
        return send(args, client, skill, "/skills").await;
    };
    if !args.always
        && let Some(version) = same(client, &target, skill).await?
    {
        return Ok(Pushed {
            skill: target.id,
            version,
            outcome: "unchanged".to_owned(),
        });
    }
    send(
        args,
        client,
        skill,
        &format!("/skills/{}/versions", target.id),
    )
    .await
}

async fn target(args: &Args, client: &Client, name: &str) -> anyhow::Result<Option<RemoteSkill>> {
    if let Some(id) = &args.skill {
        return client.find(id).await.map(Some);
    }
    let mut named = client.named(name).await?;
    if named.len() > 1 {
        anyhow::bail!("{}", client::ambiguous(name, &named));
    }
    Ok(named.pop())
}

/// The latest version, if it has the same files.
async fn same(
    client: &Client,
    target: &RemoteSkill,
    skill: &Skill,
) -> anyhow::Result<Option<RemoteVersion>> {
    let path = format!("/skills/{}/versions/latest", target.id);
    let response = client.send(client.request(Method::GET, &path)).await?;
    let digest = response.headers().get("prowess-digest").cloned();
    let version = response
        .json()
        .await
        .context("the server's answer is no version")?;
    let ours = skill.manifest.digest().to_string();
    Ok(digest
        .is_some_and(|theirs| theirs == ours.as_str())
        .then_some(version))
}

async fn send(args: &Args, client: &Client, skill: &Skill, path: &str) -> anyhow::Result<Pushed> {
    let zip = skill.bundle.to_zip(&Layout::wrapped(&skill.name)?)?;
    let bar = progress::bytes(zip.len() as u64, "uploading");
    let part = Part::stream_with_length(progress::body(zip.clone(), &bar), zip.len() as u64);
    let part = part
        .file_name(format!("{}.zip", skill.name))
        .mime_str("application/zip")?;
    let mut form = Form::new().part("files", part);
    if let Some(title) = &args.title {
        form = form.text("display_name", title.clone());
    }
    if args.default {
        form = form.text("default", "true");
    }
    let mut request = client.request(Method::POST, path).multipart(form);
    if !args.always {
        request = request.header("prowess-unchanged", "keep");
    }
    let sent = client.send(request).await;
    bar.finish_and_clear();
    let response = sent?;
    let outcome = response.headers().get("prowess-outcome");
    let outcome = outcome
        .and_then(|value| value.to_str().ok())
        .unwrap_or("created")
        .to_owned();
    let made: Made = response
        .json()
        .await
        .context("the server's answer has no id")?;
    let id = made.skill_id.unwrap_or(made.id);
    let version = client.get(&format!("/skills/{id}/versions/latest")).await?;
    Ok(Pushed {
        skill: id,
        version,
        outcome,
    })
}

fn report(args: &Args, skill: &Skill, pushed: &Pushed) -> anyhow::Result<()> {
    let version = &pushed.version;
    if args.json {
        return output::json(&json!({
            "name": skill.name,
            "skill": pushed.skill,
            "version": version.version,
            "version_id": version.id,
            "outcome": pushed.outcome,
            "digest": skill.manifest.digest(),
        }));
    }
    let what = match pushed.outcome.as_str() {
        "unchanged" => "unchanged".to_owned(),
        _ => format!("pushed {}", size(skill.bundle.total_bytes())),
    };
    output::out(&format!(
        "{}: {what}, version {} ({}, {})\n",
        skill.name, version.version, pushed.skill, version.id
    ))
}
