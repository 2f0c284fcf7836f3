//! The toolbox: what is in it, what is loaded, and where a call goes.

use crate::error::ToolboxError;
use crate::outcome::{ErrorCode, Native, Outcome};
use crate::registry::{Registry, Route};
use crate::spec::{Member, Options, ToolSpec};
use crate::text::{command_line, listed};
use crate::workspace::{Workspace, lock};
use crate::{bash, declared, editor, functions, litellm, load, offer, script, search};
use prowess_sandbox::Chunk;
use prowess_skill::Skill;
use prowess_skill::control_tokens::neutralised;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::UnboundedSender;

/// Where output goes as it comes.
pub(crate) type Progress = Option<UnboundedSender<Chunk>>;

/// Skills as tools, for one run or one agent's session.
#[derive(Debug)]
pub struct Toolbox {
    options: Options,
    workspace: Option<Workspace>,
    state: Mutex<State>,
    /// Held while a file is changed, for that is reading and writing.
    pub(crate) editing: tokio::sync::Mutex<()>,
}

/// What changes while it is used.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) members: Vec<Member>,
    pub(crate) registry: Registry,
    /// Loaded skills, in the order of loading.
    pub(crate) active: Vec<Active>,
    /// Whether skills' own tools are shown before the skills are loaded.
    revealed: bool,
}

/// A loaded skill.
#[derive(Debug)]
pub(crate) struct Active {
    pub(crate) skill: Arc<Skill>,
    /// Whether the last request to load it was answered "loaded already".
    pub(crate) reminded: bool,
}

impl Toolbox {
    /// A toolbox of these skills, none of them loaded.
    ///
    /// # Errors
    /// When two skills have one name, or code is to be run and there is nowhere to.
    pub fn new(
        skills: Vec<Member>,
        workspace: Option<Workspace>,
        options: Options,
    ) -> Result<Self, ToolboxError> {
        if (options.code || options.litellm) && workspace.is_none() {
            return Err(ToolboxError::NoWorkspace);
        }
        check_names(&skills)?;
        let state = State {
            registry: offer::tools(&skills, workspace.is_some(), &options),
            members: skills,
            active: Vec::new(),
            revealed: false,
        };
        Ok(Self {
            options,
            workspace,
            state: Mutex::new(state),
            editing: tokio::sync::Mutex::default(),
        })
    }

    /// The tools that a model may call now. Loading a skill adds its own at the end.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolSpec> {
        self.lock().registry.specs()
    }

    /// The skills that a model may load, a line each, within the catalogue's cap: for a
    /// system prompt, where the description of `load_skill` is not to list them.
    #[must_use]
    pub fn catalogue(&self) -> String {
        search::catalogue(self, self.options.caps.catalogue)
    }

    /// Whether a call of this name is for this toolbox.
    #[must_use]
    pub fn owns(&self, name: &str) -> bool {
        self.lock().registry.find(name).is_some()
    }

    /// Whether a tool only shows skills: no file of the workspace changes by it.
    #[must_use]
    pub fn reads(&self, name: &str) -> bool {
        let state = self.lock();
        state
            .registry
            .find(name)
            .is_some_and(|(_, route)| route.reads())
    }

    /// Calls a tool. Failures are outcomes.
    pub async fn call(&self, name: &str, input: &Value, progress: Progress) -> Outcome {
        let Some((spec, route)) = self.find(name) else {
            return self.unknown(name);
        };
        if let Some(skill) = route.own_skill()
            && !self.is_active(skill)
            && let Err(refused) = self.load_for(name, skill).await
        {
            return refused;
        }
        match route {
            Route::Load => load::call(self, input).await,
            Route::LoadOne(skill) => load::one(self, &skill, input).await,
            Route::List => search::list(self),
            Route::Search => search::call(self, input),
            Route::Resource => load::resource(self, input),
            Route::Script => script::call(self, input, progress).await,
            Route::Bash => bash::call(self, &spec, input, progress).await,
            Route::Editor => editor::call(self, input).await,
            Route::Code => litellm::code(self, &spec, input, progress).await,
            Route::Entry(skill) => litellm::entry(self, &spec, &skill, input, progress).await,
            Route::Declared { skill, tool } => {
                declared::call(self, &spec, &skill, &tool, input, progress).await
            }
            Route::Function { skill, function } => {
                functions::call(self, &spec, &skill, &function, input, progress).await
            }
        }
    }

    /// Loads skills without showing them again: for a conversation that goes on. Returns
    /// what stands in the way of any of them, or of their tools; the others are loaded.
    pub async fn resume(&self, loaded: &[String]) -> Vec<String> {
        let mut problems = Vec::new();
        for name in loaded {
            match load::wanted(self, name) {
                Ok(skills) => problems.extend(load::activate(self, &skills).await.problems),
                Err(why) => problems.push(why),
            }
        }
        problems
    }

    /// Shows all skills' own tools before the skills are loaded, for a client whose list
    /// of tools cannot grow; a call of one then loads its skill. Returns what stands in
    /// the way of any of them.
    pub async fn reveal(&self) -> Vec<String> {
        self.lock().revealed = true;
        load::reveal(self).await
    }

    /// The skills that are loaded, in the order of loading.
    #[must_use]
    pub fn loaded(&self) -> Vec<String> {
        let state = self.lock();
        let names = state.active.iter().map(|active| active.skill.name.clone());
        names.collect()
    }

    /// The skill whose own tool has this name, loaded or not. A tool of a `tools.py`
    /// that was not loaded is known by the beginning of its name.
    #[must_use]
    pub fn skill_of(&self, tool: &str) -> Option<String> {
        let state = self.lock();
        if let Some((_, route)) = state.registry.find(tool) {
            return route.own_skill().map(str::to_owned);
        }
        let begins = |member: &&Member| {
            let skill = &member.skill;
            skill.python_tools && tool.starts_with(&crate::names::of_tool(&skill.name, ""))
        };
        let member = state.members.iter().find(begins)?;
        Some(member.skill.name.clone())
    }

    /// Takes other skills, or other versions of them, in place of what was there. Those
    /// that were loaded and are still here stay loaded; what stands in the way of their
    /// tools is returned.
    ///
    /// # Errors
    /// When two skills have one name; then nothing changes.
    pub async fn replace(&self, skills: Vec<Member>) -> Result<Vec<String>, ToolboxError> {
        check_names(&skills)?;
        let loaded = self.loaded();
        {
            let mut state = self.lock();
            state.registry = offer::tools(&skills, self.workspace.is_some(), &self.options);
            state.members = skills;
            state.active.clear();
        }
        let still_here = |name: &String| self.skill(name).is_some();
        let loaded: Vec<String> = loaded.into_iter().filter(still_here).collect();
        let mut problems = self.resume(&loaded).await;
        if self.lock().revealed {
            problems.extend(load::reveal(self).await);
        }
        Ok(problems)
    }

    /// The workspace, if there is one.
    #[must_use]
    pub fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The skill of this name.
    pub(crate) fn skill(&self, name: &str) -> Option<Arc<Skill>> {
        let state = self.lock();
        let called = |m: &&Member| m.skill.name == name || neutralised(&m.skill.name) == name;
        let found = state.members.iter().find(called)?;
        Some(Arc::clone(&found.skill))
    }

    pub(crate) fn is_active(&self, skill: &str) -> bool {
        let state = self.lock();
        state.active.iter().any(|active| active.skill.name == skill)
    }

    fn find(&self, name: &str) -> Option<(ToolSpec, Route)> {
        let state = self.lock();
        let (spec, route) = state.registry.find(name)?;
        Some((spec.clone(), route.clone()))
    }

    /// Loads the skill of a tool that was called before it, where that is allowed.
    async fn load_for(&self, tool: &str, skill: &str) -> Result<(), Outcome> {
        if !self.lock().revealed {
            return Err(not_loaded(tool, skill));
        }
        let problems = self.resume(&[skill.to_owned()]).await;
        match self.is_active(skill) {
            true => Ok(()),
            false => Err(not_usable(tool, skill, &problems)),
        }
    }

    fn unknown(&self, name: &str) -> Outcome {
        let (shown, hint) = {
            let state = self.lock();
            let near = state.registry.nearest(name);
            let same = state.registry.of_same_skill(name);
            let hint = match (near, same.is_empty()) {
                (Some(near), _) => format!(" Did you mean `{near}`?"),
                (None, true) => String::new(),
                (None, false) => format!(" Its skill has {}.", listed(same, 30)),
            };
            (state.registry.shown_names(), hint)
        };
        let shown = listed(shown.iter().map(String::as_str), 30);
        let text = format!("Error: there is no tool `{name}`.{hint} There are: {shown}");
        let native = Native::failed_bash(command_line([name]), ErrorCode::InvalidToolInput);
        Outcome::error(text, native)
    }
}

fn not_loaded(name: &str, skill: &str) -> Outcome {
    let text = format!("Error: `{name}` belongs to the skill `{skill}`; load that first");
    let native = Native::failed_bash(command_line([name]), ErrorCode::InvalidToolInput);
    Outcome::error(text, native).of(skill)
}

fn not_usable(name: &str, skill: &str, problems: &[String]) -> Outcome {
    let why = problems.join("; ");
    let text = format!("Error: the skill `{skill}` of `{name}` cannot be loaded: {why}");
    let native = Native::failed_bash(command_line([name]), ErrorCode::InvalidToolInput);
    Outcome::error(text, native).of(skill)
}

fn check_names(members: &[Member]) -> Result<(), ToolboxError> {
    let mut seen: BTreeMap<&str, &Member> = BTreeMap::new();
    for member in members {
        if let Some(first) = seen.insert(&member.skill.name, member) {
            return Err(ToolboxError::SameName {
                name: member.skill.name.clone(),
                first: described(first),
                second: described(member),
            });
        }
    }
    Ok(())
}

/// What tells a skill from another of the same name.
fn described(member: &Member) -> String {
    let digest = || format!("sha256:{}", member.skill.manifest.digest().hex());
    member.id.clone().unwrap_or_else(digest)
}
