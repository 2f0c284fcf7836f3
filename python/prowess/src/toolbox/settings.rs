//! What a toolbox is to be, and the sandbox that comes of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prowess_sandbox::{DomainRule, Network, Policy, Sandbox, Settings as SandboxSettings};
use prowess_skill::Skill as Checked;
use prowess_toolbox::{Form, Member, Options, Workspace};
use pyo3::FromPyObject;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::sources::Fetch;

/// The owner of sessions made from Python.
const OWNER: &str = "python";

/// Skills that a session shows at once, as many as a request may name.
const FEW: usize = 20;

/// What a toolbox is to be: the attributes of `prowess._toolbox._Settings`.
#[derive(Debug, Clone, FromPyObject)]
pub(super) struct Settings {
    form: String,
    code: bool,
    own_tools: String,
    all_names: bool,
    reserved: Vec<String>,
    sandbox: Option<bool>,
    reduced: bool,
    network: Vec<String>,
    timeout: Option<f64>,
    /// What a `tools.py` finds in `ctx.metadata`, as JSON.
    context: String,
    pub(super) fetch: Fetch,
    launcher: PathBuf,
    data_dir: Option<PathBuf>,
}

/// A place for code, and a folder that goes with it.
pub(super) type Place = (Workspace, Option<TempDir>);

impl Settings {
    pub(super) fn options(&self) -> Result<Options, Failure> {
        let timeout = self.timeout.map(Duration::try_from_secs_f64);
        let no_time = |error| Failure::usage(format!("timeout: {error}"));
        let no_object = |error| Failure::usage(format!("context: {error}"));
        Ok(Options {
            form: match self.form.as_str() {
                "compact" => Form::Compact,
                "per-skill" => Form::PerSkill,
                other => {
                    let why = format!("form: `{other}` is not compact or per-skill");
                    return Err(Failure::usage(why));
                }
            },
            code: self.code,
            all_names: self.all_names,
            reserved: self.reserved.clone(),
            timeout: timeout.transpose().map_err(no_time)?,
            context: serde_json::from_str(&self.context).map_err(no_object)?,
            ..Options::default()
        })
    }

    pub(super) fn policy(&self) -> Result<Policy, Failure> {
        let domains = self.network.iter().map(|text| text.parse::<DomainRule>());
        let domains: Result<Vec<_>, _> = domains.collect();
        let domains = domains.map_err(|error| Failure::usage(format!("network: {error}")))?;
        Ok(Policy {
            network: match domains.is_empty() {
                true => Network::Off,
                false => Network::Allow(domains),
            },
            ..Policy::default()
        })
    }

    /// Whether own tools are shown before skills are loaded.
    pub(super) fn reveals(&self) -> Result<bool, Failure> {
        match self.own_tools.as_str() {
            "on-load" => Ok(false),
            "at-once" => Ok(true),
            other => {
                let why = format!("own_tools: `{other}` is not on-load or at-once");
                Err(Failure::usage(why))
            }
        }
    }

    /// A place for code, if there is to be one.
    pub(super) async fn place(&self, members: &[Member]) -> Result<Option<Place>, Failure> {
        let any = || members.iter().any(|member| runs(&member.skill));
        if !self.sandbox.unwrap_or_else(|| self.code || any()) {
            return Ok(None);
        }
        self.open(members).await.map(Some)
    }

    /// Whether there must be a place for code.
    pub(super) fn insists(&self) -> bool {
        self.code || self.sandbox == Some(true)
    }

    async fn open(&self, members: &[Member]) -> Result<Place, Failure> {
        let temporary = match &self.data_dir {
            Some(_) => None,
            None => Some(TempDir::with_prefix("prowess-").map_err(Failure::broken)?),
        };
        let folder = match (&temporary, &self.data_dir) {
            (Some(folder), _) => folder.path().to_owned(),
            (None, folder) => folder.clone().unwrap_or_default(),
        };
        let mut settings = SandboxSettings::new(folder.join("sandbox"));
        settings.launcher = self.launcher.clone();
        settings.allow_reduced = self.reduced;
        // One agent's toolbox: nothing is made ahead for others.
        settings.warm = 0;
        let sandbox = Sandbox::open(settings).await?;
        let few = members.len() <= FEW;
        let skills = members.iter().filter(|_| few);
        let skills = skills.map(|member| Arc::clone(&member.skill)).collect();
        let workspace = Workspace::fresh(sandbox, OWNER, skills, self.policy()?);
        Ok((workspace, temporary))
    }
}

/// Whether there is anything to run.
fn runs(skill: &Checked) -> bool {
    has_own(skill) || skill.bundle.len() > 1
}

/// Whether it has tools of its own.
pub(super) fn has_own(skill: &Checked) -> bool {
    skill.python_tools || !skill.tools.is_empty()
}
