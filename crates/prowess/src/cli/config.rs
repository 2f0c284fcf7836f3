//! `prowess config check|schema|import`

use std::path::PathBuf;

use anyhow::Context;
use prowess_provider::Providers;

use super::{Exit, output};
use crate::config::{self, Config, Overrides, import};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Check a configuration without serving it
    Check(Check),
    /// Print the JSON schema of prowess.toml, for editors
    Schema,
    /// Print a LiteLLM config.yaml as a prowess.toml
    Import(Import),
}

#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// The file
    #[arg(default_value = config::FILE)]
    file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(super) struct Import {
    /// The config.yaml
    file: PathBuf,
}

pub(super) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check(args) => check(args),
        Command::Schema => output::json(&config::schema()).map(|()| Exit::Ok),
        Command::Import(args) => import(args),
    }
}

/// Keys are not looked for: they may well be elsewhere.
fn check(args: &Check) -> anyhow::Result<Exit> {
    let checked = Config::load(Some(&args.file), &Overrides::default())
        .and_then(|config| Ok(Providers::new(config.gateway)?));
    match checked {
        Ok(providers) => {
            let models = output::count(providers.models().len(), "name");
            let shown = args.file.display();
            output::remark(&format!("{shown}: all is well: {models} of models"));
            Ok(Exit::Ok)
        }
        Err(error @ config::ConfigError::Unreadable { .. }) => Err(error.into()),
        Err(error) => {
            output::error(&error.to_string());
            Ok(Exit::Problems)
        }
    }
}

fn import(args: &Import) -> anyhow::Result<Exit> {
    let shown = args.file.display();
    let text = std::fs::read_to_string(&args.file).with_context(|| format!("{shown}"))?;
    let imported = match import::litellm(&text) {
        Ok(imported) => imported,
        Err(error) => {
            output::error(&format!("{shown}: {error}"));
            return Ok(Exit::Problems);
        }
    };
    output::out(&imported.toml)?;
    for left_out in &imported.left_out {
        output::remark(&format!(
            "not taken over: {}: {}",
            left_out.path, left_out.why
        ));
    }
    Ok(match imported.left_out.is_empty() {
        true => Exit::Ok,
        false => Exit::Problems,
    })
}
