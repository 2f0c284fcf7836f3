//! `prowess sandbox`: runs commands as a model's code runs, without a server.

mod exec;
mod list;
mod rm;
mod terminal_text;

use std::process::ExitCode;

use prowess_sandbox::{DomainRule, Network, Policy, SandboxLimits, SandboxSettings};

use super::config_args::ConfigArgs;
use prowess::config::{BackendSetting, Config};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run a command exactly as a model's code runs
    ///
    /// Standard output, standard error and the exit code are those of the command. Files that it
    /// writes to /mnt/data are listed, and saved with --out.
    Exec(exec::Args),
    /// List stored containers
    List(list::Args),
    /// Delete containers and their files
    Rm(rm::Args),
}

pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Exec(args) => exec::run(args),
        Command::List(args) => list::run(&args).map(ExitCode::from),
        Command::Rm(args) => rm::run(&args).map(ExitCode::from),
    }
}

/// Configuration and backend of the sandbox.
#[derive(Debug, clap::Args)]
pub(crate) struct SandboxArgs {
    #[command(flatten)]
    place: ConfigArgs,
    /// Sandbox backend; default: the configured one
    #[arg(long, value_enum)]
    backend: Option<BackendChoice>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum BackendChoice {
    /// Linux namespaces on this host
    Native,
    /// A Docker daemon
    Docker,
}

impl SandboxArgs {
    /// The whole configuration, and the backend to use.
    pub(crate) fn load(&self, listen: Option<String>) -> anyhow::Result<(Config, BackendSetting)> {
        let config = self.place.load(listen)?;
        let backend = match self.backend {
            Some(BackendChoice::Native) => BackendSetting::Native,
            Some(BackendChoice::Docker) => BackendSetting::Docker,
            None => config.sandbox.backend,
        };
        Ok((config, backend))
    }

    /// Settings for one command, without prepared sandboxes, and its limits.
    pub(crate) fn settings(&self) -> anyhow::Result<(SandboxSettings, SandboxLimits)> {
        let (config, backend) = self.load(None)?;
        let config = config.sandbox;
        let settings = config.settings(backend);
        let Some(mut settings) = settings else {
            anyhow::bail!("the sandbox is off (sandbox.backend); try --backend native");
        };
        settings.warm = 0;
        Ok((settings, config.limits))
    }
}

/// The network policy for these domains; the default policy when there are none.
pub(super) fn network_policy(allowed: &[DomainRule]) -> Network {
    if allowed.is_empty() {
        Policy::default().network
    } else {
        Network::Allow(allowed.to_vec())
    }
}

/// Runs a future on this thread.
pub(super) fn block_on<F: Future>(future: F) -> anyhow::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(future))
}
