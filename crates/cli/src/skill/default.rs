//! `prowess skill default SKILL VERSION`

use serde_json::json;

use crate::client::{self, RemoteArgs};
use crate::{Exit, output};

/// Set the default version of a skill on a server: the one that downloads, MCP sessions and the
/// public index use.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's id or name
    skill: String,
    /// The version: latest, an integer, an id or a label
    version: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let skill = client::block_on(async {
        let skill = client.find(&args.skill).await?;
        anyhow::Ok(client.set_default(&skill.id, &args.version).await?)
    })?;
    if args.json {
        output::print_json(&json!({
            "skill": skill.id,
            "name": skill.name,
            "default_version": skill.default_version,
        }))?;
    } else {
        output::print_text(&format!(
            "{}: the default is version {} ({})\n",
            skill.name, skill.default_version, skill.id
        ))?;
    }
    Ok(Exit::Ok)
}
