//! `prowess skill note SKILL VERSION TEXT|--delete`

use serde_json::json;

use crate::client::{self, RemoteArgs};
use crate::{Exit, output};

/// Set or delete the note of a version of a skill on a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's id or name
    skill: String,
    /// The version: latest, default, an integer, an id or a label
    version: String,
    /// The note; it replaces the present one
    #[arg(value_name = "TEXT", required_unless_present = "delete")]
    text: Option<String>,
    /// Delete the note
    #[arg(long, conflicts_with = "text")]
    delete: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

impl Args {
    /// The note that the version gets; none if it is deleted.
    fn new_note(&self) -> Option<&str> {
        match self.delete {
            true => None,
            false => self.text.as_deref(),
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let (skill, state) = client::block_on(async {
        let skill = client.find(&args.skill).await?;
        let noted = client.set_notes(&skill.id, &args.version, args.new_note());
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
