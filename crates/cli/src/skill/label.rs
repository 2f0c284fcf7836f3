//! `prowess skill label SKILL [LABEL [VERSION]]`

use comfy_table::{ContentArrangement, Table, presets};
use prowess_client::{RemoteLabel, RemoteSkill};
use serde_json::json;

use crate::client::{self, RemoteArgs};
use crate::output::{self, format_count};
use crate::{Exit, usage_error};

/// List, set, move or delete the labels of a skill on a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's id or name
    skill: String,
    /// The label, such as production; without it, all labels are listed
    label: Option<String>,
    /// The version that it is to point to: latest, default, an integer, an id or another label
    version: Option<String>,
    /// Delete the label
    #[arg(long, requires = "label", conflicts_with = "version")]
    delete: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match (&args.label, &args.version) {
        (None, _) => list(args)?,
        (Some(label), _) if args.delete => delete(args, label)?,
        (Some(label), Some(version)) => set(args, label, version)?,
        (Some(label), None) => {
            return Err(usage_error(format!(
                "which version should `{label}` point to? Name it after the label, or delete the \
                 label with --delete"
            )));
        }
    }
    Ok(Exit::Ok)
}

fn list(args: &Args) -> anyhow::Result<()> {
    let client = args.remote.connect()?;
    let (skill, labels) = client::block_on(async {
        let skill = client.find(&args.skill).await?;
        let labels = client.labels(&skill.id).await?;
        anyhow::Ok((skill, labels))
    })?;
    if args.json {
        let labels: Vec<_> = labels
            .iter()
            .map(|label| label_json(&skill, label))
            .collect();
        return output::print_json(&labels);
    }
    if !labels.is_empty() {
        output::print_text(&format!("{}\n", labels_table(&labels).trim_fmt()))?;
    }
    let count = format_count(labels.len(), "label");
    output::print_remark(&format!("{} {}: {count}", skill.name, skill.id));
    Ok(())
}

fn set(args: &Args, label: &str, version: &str) -> anyhow::Result<()> {
    let client = args.remote.connect()?;
    let (skill, label) = client::block_on(async {
        let skill = client.find(&args.skill).await?;
        let label = client.set_label(&skill.id, label, version).await?;
        anyhow::Ok((skill, label))
    })?;
    if args.json {
        return output::print_json(&label_json(&skill, &label));
    }
    output::print_text(&format!(
        "{}: {} points to version {} ({})\n",
        skill.name, label.name, label.version, label.version_id
    ))
}

fn delete(args: &Args, label: &str) -> anyhow::Result<()> {
    let client = args.remote.connect()?;
    let skill = client::block_on(async {
        let skill = client.find(&args.skill).await?;
        client.delete_label(&skill.id, label).await?;
        anyhow::Ok(skill)
    })?;
    if args.json {
        let (id, name) = (&skill.id, &skill.name);
        let deleted = json!({ "skill": id, "name": name, "label": label, "deleted": true });
        return output::print_json(&deleted);
    }
    output::print_text(&format!("{}: deleted label {label}\n", skill.name))
}

fn labels_table(labels: &[RemoteLabel]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["LABEL", "VERSION", "ID", "MOVED", ""]);
    for label in labels {
        let day = label.updated_at.split('T').next().unwrap_or_default();
        table.add_row([
            label.name.as_str(),
            &label.version,
            &label.version_id,
            day,
            if label.protected { "protected" } else { "" },
        ]);
    }
    table
}

fn label_json(skill: &RemoteSkill, label: &RemoteLabel) -> serde_json::Value {
    json!({
        "skill": skill.id,
        "name": skill.name,
        "label": label.name,
        "version": label.version,
        "version_id": label.version_id,
        "protected": label.protected,
        "updated_at": label.updated_at,
    })
}
