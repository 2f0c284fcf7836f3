//! `prowess config import`

use std::path::PathBuf;

use anyhow::Context;
use prowess::config::import;

use crate::{Exit, output, paths};

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The LiteLLM config.yaml
    #[arg(value_parser = paths::path_parser())]
    file: PathBuf,
}

pub(super) fn run(args: &ImportArgs) -> anyhow::Result<Exit> {
    let shown = args.file.display();
    let text = std::fs::read_to_string(&args.file).with_context(|| format!("{shown}"))?;
    let imported = match import::import_litellm(&text) {
        Ok(imported) => imported,
        Err(error) => {
            output::print_error(&format!("{shown}: {error}"));
            return Ok(Exit::Problems);
        }
    };
    output::print_text(&imported.toml)?;
    for left_out in &imported.ignored {
        output::print_remark(&format!(
            "not imported: {}: {}",
            left_out.path, left_out.why
        ));
    }
    Ok(if imported.ignored.is_empty() {
        Exit::Ok
    } else {
        Exit::Problems
    })
}
