//! `prowess skill note SKILL VERSION [TEXT]`

use serde_json::json;

use crate::client::{self, RemoteArgs};
use crate::{Exit, output};

/// Set or remove the note of a version of a skill on a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's id or name
    skill: String,
    /// The version: latest, default, an integer, an id or a label
    version: String,
    /// The note; without it, the present note is removed
    #[arg(value_name = "TEXT")]
    text: Option<String>,
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
        let noted = client.set_notes(&skill.id, &args.version, args.text.as_deref());
        let state = noted.await?;
        anyhow::Ok((skill, state))
    })?;
    let version = &state.version.version;
    if args.json {
        output::print_json(&json!({
            "skill": skill.id,
            "name": skill.name,
            "version": version,
            "notes": state.notes,
        }))?;
    } else {
        let done = match state.notes {
            Some(_) => "noted",
            None => "notes removed",
        };
        output::print_text(&format!("{} version {version}: {done}\n", skill.name))?;
    }
    Ok(Exit::Ok)
}
