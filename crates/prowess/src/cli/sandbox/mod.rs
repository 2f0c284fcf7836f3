//! `prowess sandbox`: run commands the way a model's code runs, without a server.

mod exec;
mod list;
mod rm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use prowess_sandbox::{Sandbox, Settings, SkillFile, SkillFiles};
use prowess_skill::Skill;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run a command exactly as a model's code would run
    Exec(exec::Args),
    /// List the sessions that are kept
    List(list::Args),
    /// Remove sessions and their files
    Rm(rm::Args),
}

pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Exec(args) => exec::run(args),
        Command::List(args) => list::run(&args).map(ExitCode::from),
        Command::Rm(args) => rm::run(&args).map(ExitCode::from),
    }
}

/// Settings for one command: nothing is made ahead for a next one.
pub(super) fn settings(data_dir: Option<&Path>) -> anyhow::Result<Settings> {
    let data_dir = data_dir.map_or_else(default_data_dir, |path| Ok(path.to_owned()))?;
    let mut settings = Settings::new(data_dir.join("sandbox"));
    settings.warm = 0;
    Ok(settings)
}

fn default_data_dir() -> anyhow::Result<PathBuf> {
    let given = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let shared = given("XDG_DATA_HOME").or_else(|| Some(given("HOME")?.join(".local/share")));
    let shared = shared.ok_or_else(|| anyhow::anyhow!("no HOME; name a folder with --data-dir"))?;
    Ok(shared.join("prowess"))
}

/// A skill as the sandbox takes it: whole, under its digest.
pub(super) fn skill_files(skill: &Skill) -> SkillFiles {
    let files = skill.bundle.files().map(|(path, file)| SkillFile {
        path: path.to_string(),
        bytes: file.data.to_vec(),
        executable: file.executable,
    });
    SkillFiles {
        name: skill.name.clone(),
        digest: skill.manifest.digest().hex(),
        files: files.collect(),
    }
}

/// Runs a future to its end on this thread.
pub(super) fn block_on<F: Future>(future: F) -> anyhow::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(future))
}

async fn open(data_dir: Option<&Path>, reduced: bool) -> anyhow::Result<Sandbox> {
    let mut settings = settings(data_dir)?;
    settings.allow_reduced = reduced;
    Ok(Sandbox::open(settings).await?)
}
