//! `prowess skill delete SKILL`

use prowess_client::{Client, RemoteSkill};
use serde_json::json;

use crate::client::{self, RemoteArgs};
use crate::{Exit, output};

/// Delete a skill from a server, with all its versions, or one version of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's id or name
    skill: String,
    /// Delete only this version. Deleting the last one deletes the skill
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let skill = client::block_on(delete(args, &client))?;
    if args.json {
        let deleted = json!({
            "skill": skill.id,
            "name": skill.name,
            "version": args.version,
            "deleted": true,
        });
        output::print_json(&deleted)?;
        return Ok(Exit::Ok);
    }
    let what = args
        .version
        .as_ref()
        .map_or(String::new(), |v| format!(" version {v}"));
    output::print_text(&format!("deleted {}{what} ({})\n", skill.name, skill.id))?;
    Ok(Exit::Ok)
}

async fn delete(args: &Args, client: &Client) -> anyhow::Result<RemoteSkill> {
    let skill = client.find(&args.skill).await?;
    client.delete(&skill.id, args.version.as_deref()).await?;
    Ok(skill)
}
