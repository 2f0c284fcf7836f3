//! `prowess config check`

use std::path::{Path, PathBuf};

use prowess::config::{self, Config, ConfigError, ConfigOverrides, ConfigProblems};
use prowess_provider::config::ProvidersConfig as Gateway;
use prowess_provider::{Env, KeyError, Providers, RouteError};
use serde::Serialize;

use super::explain::{self, ExplainedModel};
use crate::{Exit, output, paths};

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// The prowess.toml
    #[arg(default_value = config::CONFIG_FILE, value_parser = paths::path_parser())]
    file: PathBuf,
    /// The same, as other commands take it
    #[arg(long, hide = true, value_name = "FILE", conflicts_with = "file")]
    #[arg(value_parser = paths::path_parser())]
    config: Option<PathBuf>,
    /// Explain what a request to this model would do
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result of a check.
#[derive(Debug, Default, Serialize)]
struct CheckReport {
    errors: Vec<ReportedError>,
    /// What may be as it should: a key that is not set here may be in the server's environment.
    remarks: Vec<String>,
    /// Names in `[[models]]`, with aliases.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_names: Option<usize>,
    /// What a request to the given model would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ExplainedModel>,
}

#[derive(Debug, Serialize)]
struct ReportedError {
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

impl CheckArgs {
    fn file(&self) -> &Path {
        self.config.as_deref().unwrap_or(&self.file)
    }
}

impl CheckReport {
    fn add_error(&mut self, code: &'static str, message: String) {
        let line = None;
        self.errors.push(ReportedError {
            code,
            message,
            line,
        });
    }
}

pub(super) fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let report = match Config::load_all(Some(args.file()), &ConfigOverrides::default()) {
        Ok(config) => check(config, args.model.as_deref()),
        Err(problems) => report_problems(&problems)?,
    };
    let failed = !report.errors.is_empty();
    if args.json {
        output::print_json(&report)?;
    } else {
        print(args, &report)?;
    }
    Ok(if failed { Exit::Problems } else { Exit::Ok })
}

fn print(args: &CheckArgs, report: &CheckReport) -> anyhow::Result<()> {
    for error in &report.errors {
        output::print_error(&error.message);
    }
    for remark in &report.remarks {
        output::print_remark(remark);
    }
    if let Some(model) = &report.model {
        output::print_text(&model.to_string())?;
    }
    if let (true, Some(names)) = (report.errors.is_empty(), report.model_names) {
        let names = output::format_count(names, "model name");
        let shown = args.file().display();
        output::print_remark(&format!("{shown}: no errors found; {names}"));
    }
    Ok(())
}

fn check(config: Config, model: Option<&str>) -> CheckReport {
    let mut report = CheckReport::default();
    let missing = missing_keys(&config.gateway);
    let gateway = config.gateway.clone();
    let providers = match Providers::new_with_all_errors(config.gateway) {
        Ok(providers) => providers,
        Err(errors) => {
            for error in errors.into_iter().map(ConfigError::from) {
                report.add_error(error.code(), error.to_string());
            }
            return report;
        }
    };
    let embedding = config.runs.embedding;
    match embedding.map(|embedding| providers.route(&embedding.model)) {
        Some(Err(error @ RouteError::Unknown { .. })) => {
            let message = format!("skills.embedding_model: {error}");
            report.add_error("config-invalid", message);
        }
        Some(Err(error)) => {
            let remark = format!("skills.embedding_model: {error}");
            report.remarks.push(remark);
        }
        Some(Ok(_)) | None => {}
    }
    let missing = missing
        .iter()
        .map(|(setting, why)| format!("{setting}: {why}"));
    report.remarks.extend(missing);
    report.model_names = Some(providers.models().len());
    if let Some(name) = model {
        match explain::explain(&providers, &gateway, name) {
            Ok(model) => report.model = Some(model),
            Err(error) => report.add_error(error.code(), error.to_string()),
        }
    }
    report
}

/// A file that cannot be read is not a problem of the configuration.
fn report_problems(problems: &ConfigProblems) -> anyhow::Result<CheckReport> {
    let mut report = CheckReport::default();
    for problem in problems.iter() {
        if let ConfigError::Unreadable { .. } = problem {
            anyhow::bail!("{problem}");
        }
        report.errors.push(ReportedError {
            code: problem.code(),
            message: problem.to_string(),
            line: problem.line(),
        });
    }
    Ok(report)
}

/// Settings whose key is not set, or cannot be read, in this environment.
pub(crate) fn missing_keys(gateway: &Gateway) -> Vec<(String, KeyError)> {
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
