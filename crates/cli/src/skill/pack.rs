//! `prowess skill pack SOURCE`

use std::path::{Path, PathBuf};

use anyhow::Context;
use prowess_skill::{ArchiveLayout, BundleLimits, Digest, Profile, Skill};

use super::inputs;
use crate::fetch::FetchArgs;
use crate::output::{self, format_count, format_size};
use crate::{Exit, display_path, paths, snippet, usage_error};

/// Pack a skill into an archive. The same files give the same bytes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A skill's folder, or an archive or a URL to repack
    #[arg(value_name = "SOURCE", value_parser = paths::path_parser())]
    path: PathBuf,
    /// Output file; its extension selects the format (.zip, .skill, .tar.gz). Default:
    /// NAME.zip in the current folder
    #[arg(short, long, value_name = "FILE", value_parser = paths::path_parser())]
    output: Option<PathBuf>,
    /// Put SKILL.md at the archive's root instead of in a folder named like the skill
    #[arg(long)]
    flat: bool,
    /// Replace the file if it exists
    #[arg(short, long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let origin = inputs::open_one(&args.path, &args.fetch)?;
    let mut loaded = origin.load(&BundleLimits::default(), Profile::Lenient)?;
    prowess_source::refuse_left_out(&mut loaded.diagnostics);
    snippet::print_problems(&loaded, origin.path());
    let Some(skill) = loaded.skill.as_ref().filter(|_| loaded.is_valid()) else {
        output::print_error("nothing was packed: fix the errors above first");
        return Ok(Exit::Problems);
    };
    let file = match &args.output {
        Some(file) => file.clone(),
        None => PathBuf::from(format!("{}.zip", file_stem(skill))),
    };
    let archive = pack_skill(skill, &file, args.flat)?;
    write_archive(&file, &archive, args.force)?;
    print_report(args, skill, &file, &archive)?;
    Ok(Exit::Ok)
}

/// A skill's name is untrusted text: only a portable one becomes a file name.
fn file_stem(skill: &Skill) -> &str {
    if prowess_skill::upload::is_portable_name(&skill.name) {
        &skill.name
    } else {
        "skill"
    }
}

fn pack_skill(skill: &Skill, file: &Path, flat: bool) -> anyhow::Result<Vec<u8>> {
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let layout = if flat {
        ArchiveLayout::FLAT
    } else {
        ArchiveLayout::wrapped(file_stem(skill))?
    };
    let ends_in = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends_in(&[".zip", ".skill"]) {
        Ok(skill.bundle.to_zip(&layout)?)
    } else if ends_in(&[".tar.gz", ".tgz"]) {
        Ok(skill.bundle.to_tar_gz(&layout)?)
    } else {
        let message = format!(
            "{}: the extension must be .zip, .skill or .tar.gz",
            display_path(file)
        );
        Err(usage_error(message))
    }
}

fn write_archive(file: &Path, archive: &[u8], force: bool) -> anyhow::Result<()> {
    use std::io::Write;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).truncate(true).create(true);
    if !force {
        options.create_new(true);
    }
    let opened = options.open(file);
    let exists = opened
        .as_ref()
        .is_err_and(|e| e.kind() == std::io::ErrorKind::AlreadyExists);
    if exists {
        anyhow::bail!(
            "{} already exists; use --force to replace it",
            display_path(file)
        );
    }
    let result = opened.and_then(|mut opened| opened.write_all(archive));
    result.with_context(|| format!("{} cannot be written", display_path(file)))
}

fn print_report(args: &Args, skill: &Skill, file: &Path, archive: &[u8]) -> anyhow::Result<()> {
    let digest = Digest::from_content(archive);
    if args.json {
        return output::print_json(&serde_json::json!({
            "file": display_path(file),
            "name": skill.name,
            "files": skill.bundle.len(),
            "size": archive.len(),
            "digest": digest,
            "content_digest": skill.manifest.digest(),
        }));
    }
    output::print_text(&format!(
        "{}: {}, {} packed to {}\n{digest}\n",
        display_path(file),
        format_count(skill.bundle.len(), "file"),
        format_size(skill.bundle.total_bytes()),
        format_size(archive.len() as u64),
    ))
}
