//! Settings of a toolbox, and its sandbox.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prowess_sandbox::{DomainRule, Network, Policy, Sandbox, SandboxSettings};
use prowess_skill::Skill as Checked;
use prowess_toolbox::{LoadToolStyle, Member, ToolboxOptions, Workspace};
use pyo3::FromPyObject;
use tempfile::TempDir;

use crate::failure::PyFailure;
use crate::sources::FetchSettings;

/// The owner of containers that Python creates.
const OWNER: &str = "python";

/// Skills that a container mounts at once: as many as a request may name.
const MAX_PREMOUNTED_SKILLS: usize = 20;

/// Settings of a toolbox: the attributes of `prowess._toolbox._Settings`.
#[derive(Debug, Clone, FromPyObject)]
pub(super) struct ToolboxSettings {
    form: String,
    code: bool,
    own_tools: String,
    all_names: bool,
    reserved: Vec<String>,
    sandbox: Option<bool>,
    reduced: bool,
    network: Vec<String>,
    timeout: Option<f64>,
    /// The value of `ctx.metadata` in a `tools.py`, as JSON.
    context: String,
    pub(super) fetch: FetchSettings,
    launcher: PathBuf,
    data_dir: Option<PathBuf>,
}

/// A workspace, and its temporary folder.
pub(super) type CodeWorkspace = (Workspace, Option<TempDir>);

impl ToolboxSettings {
    pub(super) fn options(&self) -> Result<ToolboxOptions, PyFailure> {
        let timeout = self.timeout.map(Duration::try_from_secs_f64);
        let no_time = |error| PyFailure::usage(format!("timeout: {error}"));
        let no_object = |error| PyFailure::usage(format!("context: {error}"));
        Ok(ToolboxOptions {
            load_style: match self.form.as_str() {
                "compact" => LoadToolStyle::Compact,
                "per-skill" => LoadToolStyle::PerSkill,
                other => {
                    let why = format!("form: `{other}` is not compact or per-skill");
                    return Err(PyFailure::usage(why));
                }
            },
            code_execution: self.code,
            show_compat_tools: self.all_names,
            reserved_names: self.reserved.clone(),
            timeout: timeout.transpose().map_err(no_time)?,
            context: serde_json::from_str(&self.context).map_err(no_object)?,
            ..ToolboxOptions::default()
        })
    }

    pub(super) fn policy(&self) -> Result<Policy, PyFailure> {
        let domains = self.network.iter().map(|text| text.parse::<DomainRule>());
        let domains: Result<Vec<_>, _> = domains.collect();
        let domains = domains.map_err(|error| PyFailure::usage(format!("network: {error}")))?;
        Ok(Policy {
            network: if domains.is_empty() {
                Network::Off
            } else {
                Network::Allow(domains)
            },
            ..Policy::default()
        })
    }

    /// Whether the tools of skills are listed before they are loaded.
    pub(super) fn lists_own_tools(&self) -> Result<bool, PyFailure> {
        match self.own_tools.as_str() {
            "on-load" => Ok(false),
            "at-once" => Ok(true),
            other => {
                let why = format!("own_tools: `{other}` is not on-load or at-once");
                Err(PyFailure::usage(why))
            }
        }
    }

    /// Opens the workspace, if there is to be one.
    pub(super) async fn open_workspace(
        &self,
        members: &[Member],
    ) -> Result<Option<CodeWorkspace>, PyFailure> {
        let any = || members.iter().any(|member| has_scripts(&member.skill));
        if !self.sandbox.unwrap_or_else(|| self.code || any()) {
            return Ok(None);
        }
        self.open(members).await.map(Some)
    }

    /// Whether a sandbox is required.
    pub(super) fn requires_sandbox(&self) -> bool {
        self.code || self.sandbox == Some(true)
    }

    async fn open(&self, members: &[Member]) -> Result<CodeWorkspace, PyFailure> {
        let temporary = match &self.data_dir {
            Some(_) => None,
            None => Some(TempDir::with_prefix("prowess-").map_err(PyFailure::internal)?),
        };
        let folder = match (&temporary, &self.data_dir) {
            (Some(folder), _) => folder.path().to_owned(),
            (None, folder) => folder.clone().unwrap_or_default(),
        };
        let mut settings = SandboxSettings::new(folder.join("sandbox"));
        settings.launcher = self.launcher.clone();
        settings.allow_reduced = self.reduced;
        // One agent's toolbox needs no prepared sandboxes.
        settings.warm = 0;
        let sandbox = Sandbox::open(settings).await?;
        let few = members.len() <= MAX_PREMOUNTED_SKILLS;
        let skills = members.iter().filter(|_| few);
        let skills = skills.map(|member| Arc::clone(&member.skill)).collect();
        let workspace = Workspace::for_skills(sandbox, OWNER, skills, self.policy()?);
        Ok((workspace, temporary))
    }
}

/// Whether a skill has anything to run.
fn has_scripts(skill: &Checked) -> bool {
    has_own_tools(skill) || skill.bundle.len() > 1
}

/// Whether a skill has its own tools.
pub(super) fn has_own_tools(skill: &Checked) -> bool {
    skill.python_tools || !skill.tools.is_empty()
}
