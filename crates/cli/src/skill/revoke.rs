//! `prowess skill revoke SKILL VERSION --reason TEXT`

use super::revocation_json::revocation_json;
use crate::client::{self, RemoteArgs};
use crate::{Exit, output};

/// Revoke a version of a skill on a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's id or name
    skill: String,
    /// The version: latest, default, an integer, an id or a label
    version: String,
    /// Why; shown to everybody who requests the version
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The version to which the default and the labels that point to it are moved
    #[arg(long, value_name = "VERSION")]
    move_to: Option<String>,
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
        let (version, move_to) = (&args.version, args.move_to.as_deref());
        let revoked = client.revoke_version(&skill.id, version, &args.reason, move_to);
        let state = revoked.await?;
        anyhow::Ok((skill, state))
    })?;
    let version = &state.version.version;
    if args.json {
        output::print_json(&revocation_json(&skill, &state))?;
    } else {
        output::print_text(&format!(
            "revoked {} version {version}; to undo it: prowess skill restore {} {version}\n",
            skill.name, skill.name
        ))?;
    }
    Ok(Exit::Ok)
}
