//! `prowess skill pull SKILL`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use prowess_client::{Client, ProgressCallback, RemoteSkill};
use prowess_skill::{Bundle, Manifest};
use serde_json::json;

use crate::client::{self, RemoteArgs};
use crate::output::{self, format_count};
use crate::{Exit, display_path, paths, progress};

/// Download a skill into a folder of its name.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's id or name
    skill: String,
    /// The version: latest, default, an integer, an id or a label; default: the skill's default
    /// version
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The folder to put it in
    #[arg(short, long, value_name = "FOLDER", default_value = ".", value_parser = paths::path_parser())]
    output: PathBuf,
    /// Write into the skill's folder even if it exists
    #[arg(short, long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let (skill, bundle) = client::block_on(download(args, &client))?;
    if !prowess_skill::upload::is_portable_name(&skill.name) {
        bail!(
            "`{}` cannot be the name of a folder",
            skill.name.escape_debug()
        );
    }
    let folder = args.output.join(&skill.name);
    if folder.exists() && !args.force {
        bail!(
            "{} already exists; use --force to write into it",
            display_path(&folder)
        );
    }
    write_files(&bundle, &folder)?;
    print_report(args, &skill, &bundle, &folder)?;
    Ok(Exit::Ok)
}

async fn download(args: &Args, client: &Client) -> anyhow::Result<(RemoteSkill, Bundle)> {
    let skill = client.find(&args.skill).await?;
    let version = args.version.as_ref().unwrap_or(&skill.default_version);
    let bar = progress::bytes_bar("downloading");
    let moved: ProgressCallback = Arc::new({
        let bar = bar.clone();
        move |bytes| bar.inc(bytes)
    });
    let bundle = client.download(&skill.id, version, Some(moved)).await;
    bar.finish_and_clear();
    Ok((skill, bundle?))
}

fn write_files(bundle: &Bundle, folder: &Path) -> anyhow::Result<()> {
    for (path, file) in bundle.files() {
        let path = folder.join(path.as_str());
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .with_context(|| format!("cannot create folder {}", display_path(parent)))?;
        std::fs::write(&path, &file.data)
            .with_context(|| format!("cannot write {}", display_path(&path)))?;
        if file.executable {
            make_executable(&path)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn print_report(
    args: &Args,
    skill: &RemoteSkill,
    bundle: &Bundle,
    folder: &Path,
) -> anyhow::Result<()> {
    if args.json {
        return output::print_json(&json!({
            "name": skill.name,
            "skill": skill.id,
            "path": display_path(folder),
            "files": bundle.len(),
            "digest": Manifest::from_bundle(bundle).digest(),
        }));
    }
    output::print_text(&format!(
        "{}: {}\n",
        display_path(folder),
        format_count(bundle.len(), "file")
    ))
}
