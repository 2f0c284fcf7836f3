//! The toolbox: its skills, which are loaded, and the dispatch of calls.

use crate::error::ToolboxError;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::registry::{Registry, ToolRoute};
use crate::spec::{Member, ToolSpec, ToolboxOptions};
use crate::text::{command_line, list_names};
use crate::workspace::{Workspace, lock};
use crate::{
    bash, declared, editor, functions, initial_tools, litellm, load, model_text, script, search,
};
use prowess_sandbox::OutputChunk;
use prowess_skill::Skill;
use prowess_skill::control_tokens::neutralise;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::UnboundedSender;

/// Receives output while a command runs.
pub(crate) type ProgressSender = Option<UnboundedSender<OutputChunk>>;

/// Skills as tools, for one run or one MCP session.
#[derive(Debug)]
pub struct Toolbox {
    options: ToolboxOptions,
    workspace: Option<Workspace>,
    state: Mutex<ToolboxState>,
    /// Held while a file is edited, because that is a read and a write.
    pub(crate) edit_lock: tokio::sync::Mutex<()>,
}

/// The part that changes during use.
#[derive(Debug)]
pub(crate) struct ToolboxState {
    pub(crate) members: Vec<Member>,
    pub(crate) registry: Registry,
    /// Loaded skills, in the order of loading.
    pub(crate) active: Vec<ActiveSkill>,
    /// Whether skills' own tools are shown before the skills are loaded.
    shows_skill_tools: bool,
}

/// A loaded skill.
#[derive(Debug)]
pub(crate) struct ActiveSkill {
    pub(crate) skill: Arc<Skill>,
    /// Whether the last request to load it was answered with a reminder.
    pub(crate) was_reminded: bool,
}

impl Toolbox {
    /// A toolbox of these skills, none of them loaded.
    ///
    /// # Errors
    /// When two skills have the same name, or code execution is enabled without a workspace.
    pub fn new(
        skills: Vec<Member>,
        workspace: Option<Workspace>,
        options: ToolboxOptions,
    ) -> Result<Self, ToolboxError> {
        if (options.code_execution || options.litellm) && workspace.is_none() {
            return Err(ToolboxError::NoWorkspace);
        }
        check_names(&skills)?;
        let state = ToolboxState {
            registry: initial_tools::register_tools(&skills, workspace.is_some(), &options),
            members: skills,
            active: Vec::new(),
            shows_skill_tools: false,
        };
        Ok(Self {
            options,
            workspace,
            state: Mutex::new(state),
            edit_lock: tokio::sync::Mutex::default(),
        })
    }

    /// The tools that a model may call now. Loading a skill appends its own.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolSpec> {
        self.lock().registry.specs()
    }

    /// The skills that a model may load, one line each, within the catalogue's limit: for a
    /// system prompt, if the description of `load_skill` does not list them.
    #[must_use]
    pub fn catalogue(&self) -> String {
        search::catalogue(self, self.options.limits.catalogue_bytes)
    }

    /// Whether the toolbox has a tool of this name.
    #[must_use]
    pub fn has_tool(&self, name: &str) -> bool {
        self.lock().registry.find(name).is_some()
    }

    /// Whether a tool only shows skills and changes no file of the workspace.
    #[must_use]
    pub fn is_read_only(&self, name: &str) -> bool {
        let state = self.lock();
        state
            .registry
            .find(name)
            .is_some_and(|(_, route)| route.is_read_only())
    }

    /// Calls a tool. Failures are outcomes.
    pub async fn call(&self, name: &str, input: &Value, progress: ProgressSender) -> ToolOutcome {
        let Some((spec, route)) = self.find(name) else {
            return self.unknown_tool(name);
        };
        if let Some(skill) = route.own_skill()
            && !self.is_active(skill)
            && let Err(refused) = self.load_skill_for(name, skill).await
        {
            return refused;
        }
        match route {
            ToolRoute::Load => load::load_skill(self, input).await,
            ToolRoute::LoadOne(skill) => load::load_named(self, &skill, input).await,
            ToolRoute::List => search::list_skills(self),
            ToolRoute::Search => search::search_skills(self, input),
            ToolRoute::Resource => load::read_resource(self, input),
            ToolRoute::Script => script::run_script(self, input, progress).await,
            ToolRoute::Bash => bash::call(self, &spec, input, progress).await,
            ToolRoute::Editor => editor::call(self, input).await,
            ToolRoute::Code => litellm::run_code(self, &spec, input, progress).await,
            ToolRoute::Entry(skill) => {
                litellm::call_entry(self, &spec, &skill, input, progress).await
            }
            ToolRoute::Declared { skill, tool } => {
                declared::call_declared(self, &spec, &skill, &tool, input, progress).await
            }
            ToolRoute::Function { skill, function } => {
                functions::call(self, &spec, &skill, &function, input, progress).await
            }
        }
    }

    /// Loads skills without returning their instructions, for a conversation that continues.
    /// Returns the problems with any of them or of their tools; the others are loaded.
    pub async fn restore_loaded(&self, loaded: &[String]) -> Vec<String> {
        let mut problems = Vec::new();
        for name in loaded {
            match load::skills_to_load(self, name) {
                Ok(skills) => problems.extend(load::activate(self, &skills).await.problems),
                Err(why) => problems.push(why),
            }
        }
        problems
    }

    /// Shows all skills' own tools before the skills are loaded, for a client whose tool list
    /// is fixed; a call of one then loads its skill. Returns the problems with any of them.
    pub async fn show_skill_tools(&self) -> Vec<String> {
        self.lock().shows_skill_tools = true;
        load::show_skill_tools(self).await
    }

    /// The skills that are loaded, in the order of loading.
    #[must_use]
    pub fn loaded_skills(&self) -> Vec<String> {
        let state = self.lock();
        let names = state.active.iter().map(|active| active.skill.name.clone());
        names.collect()
    }

    /// The skill whose own tool has this name, loaded or not. A tool of a `tools.py` that
    /// was not loaded is recognised by the prefix of its name.
    #[must_use]
    pub fn skill_for_tool(&self, tool: &str) -> Option<String> {
        let state = self.lock();
        if let Some((_, route)) = state.registry.find(tool) {
            return route.own_skill().map(str::to_owned);
        }
        let is_prefix_of_tool = |member: &&Member| {
            let skill = &member.skill;
            skill.python_tools && tool.starts_with(&crate::names::tool_name(&skill.name, ""))
        };
        let member = state.members.iter().find(is_prefix_of_tool)?;
        Some(member.skill.name.clone())
    }

    /// Replaces the skills. Those that were loaded and still exist stay loaded; problems with
    /// their tools are returned.
    ///
    /// # Errors
    /// When two skills have the same name; then nothing changes.
    pub async fn replace(&self, skills: Vec<Member>) -> Result<Vec<String>, ToolboxError> {
        check_names(&skills)?;
        let loaded = self.loaded_skills();
        {
            let mut state = self.lock();
            state.registry =
                initial_tools::register_tools(&skills, self.workspace.is_some(), &self.options);
            state.members = skills;
            state.active.clear();
        }
        let still_here = |name: &String| self.skill(name).is_some();
        let loaded: Vec<String> = loaded.into_iter().filter(still_here).collect();
        let mut problems = self.restore_loaded(&loaded).await;
        if self.lock().shows_skill_tools {
            problems.extend(load::show_skill_tools(self).await);
        }
        Ok(problems)
    }

    /// The workspace, if there is one.
    #[must_use]
    pub fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    pub(crate) fn options(&self) -> &ToolboxOptions {
        &self.options
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, ToolboxState> {
        lock(&self.state)
    }

    /// The skill of this name.
    pub(crate) fn skill(&self, name: &str) -> Option<Arc<Skill>> {
        let state = self.lock();
        let called = |m: &&Member| m.skill.name == name || neutralise(&m.skill.name) == name;
        let found = state.members.iter().find(called)?;
        Some(Arc::clone(&found.skill))
    }

    pub(crate) fn is_active(&self, skill: &str) -> bool {
        let state = self.lock();
        state.active.iter().any(|active| active.skill.name == skill)
    }

    fn find(&self, name: &str) -> Option<(ToolSpec, ToolRoute)> {
        let state = self.lock();
        let (spec, route) = state.registry.find(name)?;
        Some((spec.clone(), route.clone()))
    }

    /// Loads the skill of a tool that was called before its skill, if that is allowed.
    async fn load_skill_for(&self, tool: &str, skill: &str) -> Result<(), ToolOutcome> {
        if !self.lock().shows_skill_tools {
            return Err(not_loaded(tool, skill));
        }
        let problems = self.restore_loaded(&[skill.to_owned()]).await;
        if self.is_active(skill) {
            Ok(())
        } else {
            Err(not_usable(tool, skill, &problems))
        }
    }

    fn unknown_tool(&self, name: &str) -> ToolOutcome {
        let (shown, hint) = {
            let state = self.lock();
            let near = state.registry.nearest(name);
            let same = state.registry.tools_of_same_skill(name);
            let hint = match (near, same.is_empty()) {
                (Some(near), _) => format!("Did you mean `{near}`?"),
                (None, true) => String::new(),
                (None, false) => format!("Its skill has {}.", list_names(same, 30)),
            };
            (state.registry.shown_names(), hint)
        };
        let text = model_text::unknown_tool(name, &hint, &shown);
        let native = NativeCall::failed_bash(command_line([name]), ErrorCode::InvalidToolInput);
        ToolOutcome::error(text, native)
    }
}

fn not_loaded(name: &str, skill: &str) -> ToolOutcome {
    let text = model_text::not_loaded(name, skill);
    let native = NativeCall::failed_bash(command_line([name]), ErrorCode::InvalidToolInput);
    ToolOutcome::error(text, native).for_skill(skill)
}

fn not_usable(name: &str, skill: &str, problems: &[String]) -> ToolOutcome {
    let text = model_text::not_loadable(name, skill, problems);
    let native = NativeCall::failed_bash(command_line([name]), ErrorCode::InvalidToolInput);
    ToolOutcome::error(text, native).for_skill(skill)
}

fn check_names(members: &[Member]) -> Result<(), ToolboxError> {
    let mut seen: BTreeMap<&str, &Member> = BTreeMap::new();
    for member in members {
        if let Some(first) = seen.insert(&member.skill.name, member) {
            return Err(ToolboxError::SameName {
                name: member.skill.name.clone(),
                first: identity(first),
                second: identity(member),
            });
        }
    }
    Ok(())
}

/// Distinguishes a skill from another of the same name.
fn identity(member: &Member) -> String {
    let digest = || format!("sha256:{}", member.skill.manifest.digest().hex());
    member.id.clone().unwrap_or_else(digest)
}
