//! `prowess skill restore SKILL VERSION`

use super::revocation_json::revocation_json;
use crate::client::{self, RemoteArgs};
use crate::{Exit, output};

/// Restore a revoked version of a skill on a server, so that it can be used again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's id or name
    skill: String,
    /// The version: an integer or an id
    version: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let (skill, state) = client::block_on(async {
        let skill = client.find(&args.skill).await?;
        let state = client.restore_version(&skill.id, &args.version).await?;
        anyhow::Ok((skill, state))
    })?;
    let version = &state.version.version;
    if args.json {
        output::print_json(&revocation_json(&skill, &state))?;
    } else {
        output::print_text(&format!("restored {} version {version}\n", skill.name))?;
    }
    Ok(Exit::Ok)
}
