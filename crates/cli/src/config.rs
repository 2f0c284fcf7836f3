//! `prowess config check|schema|import`

use std::path::PathBuf;

use anyhow::Context;
use prowess_provider::config::ProvidersConfig as Gateway;
use prowess_provider::{Env, KeyError, Providers, RouteError};

use super::{Exit, output, paths};
use prowess::config::{self, Config, ConfigOverrides, import};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Check a configuration without starting a server
    Check(CheckArgs),
    /// Print the JSON schema of prowess.toml, for editors
    Schema,
    /// Convert a LiteLLM config.yaml to a prowess.toml
    Import(ImportArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// The prowess.toml
    #[arg(default_value = config::CONFIG_FILE, value_parser = paths::path_parser())]
    file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(super) struct ImportArgs {
    /// The LiteLLM config.yaml
    #[arg(value_parser = paths::path_parser())]
    file: PathBuf,
}

pub(super) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check(args) => check(args),
        Command::Schema => output::print_json(&config::schema()).map(|()| Exit::Ok),
        Command::Import(args) => import(args),
    }
}

/// A key that is not set here is only a remark: the server's environment may have it.
fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    let shown = args.file.display();
    let config = match Config::load_all(Some(&args.file), &ConfigOverrides::default()) {
        Ok(config) => config,
        Err(problems) => return report_problems(problems),
    };
    let missing = missing_keys(&config.gateway);
    let embedding = config.runs.embedding.clone();
    match Providers::new(config.gateway) {
        Ok(providers) => {
            let model = embedding.map(|embedding| providers.route(&embedding.model));
            match model {
                Some(Err(error @ RouteError::Unknown { .. })) => {
                    output::print_error(&format!("skills.embedding_model: {error}"));
                    return Ok(Exit::Problems);
                }
                Some(Err(error)) => {
                    output::print_remark(&format!("skills.embedding_model: {error}"));
                }
                Some(Ok(_)) | None => {}
            }
            for (setting, why) in missing {
                output::print_remark(&format!("{setting}: {why}"));
            }
            let models = output::format_count(providers.models().len(), "model name");
            output::print_remark(&format!("{shown}: no errors found; {models}"));
            Ok(Exit::Ok)
        }
        Err(error) => report_problems(config::ConfigError::from(error).into()),
    }
}

fn report_problems(problems: config::ConfigProblems) -> anyhow::Result<Exit> {
    for problem in problems.iter() {
        if let config::ConfigError::Unreadable { .. } = problem {
            anyhow::bail!("{problem}");
        }
        output::print_error(&problem.to_string());
    }
    Ok(Exit::Problems)
}

/// Settings whose key is not set, or cannot be read, in this environment.
pub(super) fn missing_keys(gateway: &Gateway) -> Vec<(String, KeyError)> {
    let env = Env::from_process();
    let mut missing = Vec::new();
    for provider in &gateway.providers {
        let name = &provider.name;
        let key = provider
            .api_key
            .iter()
            .map(|key| ("api_key".to_owned(), key));
        let headers = provider.headers.iter();
        let headers = headers.map(|(header, value)| (format!("headers.{header}"), value));
        for (setting, source) in key.chain(headers) {
            if let Err(why) = source.look_up(&env) {
                missing.push((format!("providers.{name}.{setting}"), why));
            }
        }
    }
    missing
}

fn import(args: &ImportArgs) -> anyhow::Result<Exit> {
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
