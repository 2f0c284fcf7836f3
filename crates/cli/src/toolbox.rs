//! Builds toolboxes from sources, for the commands that list and call tools.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_sandbox::{DomainRule, Policy, Sandbox};
use prowess_skill::BundleLimits;
use prowess_source::{LabelledSource, SearchBounds};
use prowess_toolbox::{
    LoadToolStyle, Member, SkillSnapshot, SkillSources, Toolbox, ToolboxOptions, Workspace,
};

use super::fetch::FetchArgs;
use super::{Exit, display_path, output, sandbox};

/// The owner of containers that the command line creates.
const OWNER: &str = "cli";

/// Skills that a container mounts at once: as many as a request may name.
const MAX_PREMOUNTED_SKILLS: usize = 20;

/// Sandbox options.
#[derive(Debug, clap::Args)]
pub(super) struct SandboxRunArgs {
    #[command(flatten)]
    place: sandbox::SandboxArgs,
    /// Run even if this host supports only a reduced sandbox
    #[arg(long)]
    reduced: bool,
    /// A domain that code may connect to, such as example.com or *.example.com. Can be repeated
    #[arg(long = "allow", value_name = "DOMAIN")]
    allowed: Vec<DomainRule>,
}

impl SandboxRunArgs {
    /// A container that is created when something runs. It mounts all skills if they are few,
    /// else those that are used.
    pub(super) async fn workspace(&self, members: &[Member]) -> anyhow::Result<Workspace> {
        let (mut settings, limits) = self.place.settings()?;
        settings.allow_reduced |= self.reduced;
        let sandbox = Sandbox::open(settings).await?;
        let few = members.len() <= MAX_PREMOUNTED_SKILLS;
        let skills = members.iter().filter(|_| few);
        let skills = skills.map(|member| Arc::clone(&member.skill)).collect();
        let policy = Policy {
            network: sandbox::network_policy(&self.allowed),
            limits,
        };
        Ok(Workspace::for_skills(sandbox, OWNER, skills, policy))
    }
}

/// Which tools load skills.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum ToolForm {
    /// One tool for all skills
    Compact,
    /// One tool per skill
    PerSkill,
}

impl From<ToolForm> for LoadToolStyle {
    fn from(loading: ToolForm) -> LoadToolStyle {
        match loading {
            ToolForm::Compact => LoadToolStyle::Compact,
            ToolForm::PerSkill => LoadToolStyle::PerSkill,
        }
    }
}

/// Reads all skills of some sources, and prints their problems.
pub(super) fn read_skills(sources: &[PathBuf], fetch: &FetchArgs) -> anyhow::Result<SkillSnapshot> {
    let opened = fetch.open(sources)?;
    let labelled = |path: &PathBuf| LabelledSource {
        path: path.clone(),
        label: None,
    };
    let sources = sources.iter().map(labelled).collect();
    let refreshed = SkillSources::new(sources, SearchBounds::default(), BundleLimits::default())
        .refresh_from(opened);
    print_problems(&refreshed);
    Ok(refreshed)
}

/// Prints the problems of skills and sources.
pub(super) fn print_problems(refreshed: &SkillSnapshot) {
    for problem in &refreshed.problems {
        output::print_error(&problem.message);
    }
    for shadowed in &refreshed.shadowed {
        let (name, hidden) = (&shadowed.name, display_path(&shadowed.hidden));
        output::print_remark(&format!(
            "{name}: {hidden} is overridden by {}",
            display_path(&shadowed.by)
        ));
    }
    if refreshed.cut_short {
        output::print_remark("the search ended early: there are too many folders");
    }
}

/// The exit code for the problems found.
pub(super) fn exit_code(refreshed: &SkillSnapshot) -> Exit {
    let unreadable = |code: &str| code.starts_with("source-");
    let mut problems = refreshed.problems.iter();
    match refreshed.problems.is_empty() {
        true => Exit::Ok,
        false if problems.any(|problem| unreadable(&problem.code)) => Exit::Unreadable,
        false => Exit::Problems,
    }
}

/// Whether any of the skills has tools of its own.
pub(super) fn has_own_tools(refreshed: &SkillSnapshot) -> bool {
    let has = |skill: &prowess_skill::Skill| skill.python_tools || !skill.tools.is_empty();
    refreshed.members.iter().any(|member| has(&member.skill))
}

/// A toolbox of the skills; without a workspace it has no tools that run code.
pub(super) fn build_toolbox(
    refreshed: &SkillSnapshot,
    workspace: Option<Workspace>,
    mut options: ToolboxOptions,
) -> anyhow::Result<Toolbox> {
    if workspace.is_none() {
        (options.code_execution, options.litellm) = (false, false);
    }
    Ok(Toolbox::new(refreshed.members.clone(), workspace, options)?)
}

/// Saves a file of the container below `folder`, under its own path. `None` if it was not
/// ([`create_output`]).
pub(super) async fn save_file(
    workspace: &Workspace,
    path: &str,
    folder: &Path,
) -> anyhow::Result<Option<PathBuf>> {
    let bytes = workspace.get(path).await?;
    let place = folder.join(path);
    let Some(mut file) = create_output(path, &place)? else {
        return Ok(None);
    };
    file.write_all(&bytes)?;
    Ok(Some(place))
}

/// Creates the file for an output, and its folders. Hidden files, which are settings of other
/// programs more often than results, are not replaced: then there is a remark and no file.
pub(super) fn create_output(path: &str, place: &Path) -> anyhow::Result<Option<File>> {
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent)?;
    }
    if !path.split('/').any(|part| part.starts_with('.')) {
        return Ok(Some(File::create(place)?));
    }
    match File::create_new(place) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let place = output::strip_controls(&display_path(place), true);
            output::print_remark(&format!("not saved: {place} exists, and is hidden"));
            Ok(None)
        }
        created => Ok(Some(created?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_other_programs_are_not_replaced_by_outputs() {
        let folder = tempfile::tempdir().unwrap();
        let place = |path: &str| folder.path().join(path);
        std::fs::create_dir(place(".git")).unwrap();
        std::fs::write(place(".git/config"), "mine").unwrap();
        std::fs::write(place("a.txt"), "old").unwrap();
        for (path, is_created) in [(".git/config", false), (".new/b", true), ("a.txt", true)] {
            let created = create_output(path, &place(path)).unwrap();
            assert_eq!(created.is_some(), is_created, "{path}");
        }
        let kept = std::fs::read_to_string(place(".git/config")).unwrap();
        assert_eq!(kept, "mine");
    }
}
