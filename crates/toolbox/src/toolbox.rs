//! The toolbox: its parts, and the dispatch of calls to the code behind each tool. That code
//! gets the parts it needs and must not know the toolbox.

use crate::called_tool::{CalledTool, ProgressSender};
use crate::editor::FileEditor;
use crate::error::ToolboxError;
use crate::names::tool_name;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::registry::ToolRoute;
use crate::run::CommandRunner;
use crate::skill_library::SkillLibrary;
use crate::spec::{Member, OwnToolNames, ToolSpec, ToolboxOptions};
use crate::state::SharedState;
use crate::text::{command_line, list_names};
use crate::workspace::Workspace;
use crate::{
    activation, bash, declared, fetch, functions, initial_tools, litellm, load, model_text, schema,
    script, search, search_library,
};
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Skills as tools, for one run or one MCP session.
#[derive(Debug)]
pub struct Toolbox {
    options: ToolboxOptions,
    runner: CommandRunner,
    pub(crate) state: SharedState,
    editor: FileEditor,
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
        Self::with_library(skills, workspace, options, None)
    }

    /// A toolbox of these skills, and of those that a library has: they are found by search,
    /// and loaded from it when they are first used.
    ///
    /// # Errors
    /// When two skills have the same name, or code execution is enabled without a workspace.
    pub fn with_library(
        skills: Vec<Member>,
        workspace: Option<Workspace>,
        options: ToolboxOptions,
        library: Option<Arc<dyn SkillLibrary>>,
    ) -> Result<Self, ToolboxError> {
        if (options.code_execution || options.litellm) && workspace.is_none() {
            return Err(ToolboxError::NoWorkspace);
        }
        check_names(&skills)?;
        let has_library = library.is_some();
        let registry =
            initial_tools::register_tools(&skills, workspace.is_some(), has_library, &options);
        Ok(Self {
            runner: CommandRunner::new(workspace, &options),
            state: SharedState::new(skills, registry, library, options.enforce_allowed_tools),
            options,
            editor: FileEditor::default(),
        })
    }

    /// The tools that a model may call now. Loading a skill appends its own.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolSpec> {
        self.state.lock().registry.specs()
    }

    /// How many tools a model may call now.
    #[must_use]
    pub fn tool_count(&self) -> usize {
        self.state.lock().registry.shown_count()
    }

    /// The skills that a model may load, one line each, within the catalogue's limit: for a
    /// system prompt, if the description of `load_skill` does not list them.
    #[must_use]
    pub fn catalogue(&self) -> String {
        search::catalogue(&self.state.members(), self.options.limits.catalogue_bytes)
    }

    /// Whether the toolbox has a tool of this name.
    #[must_use]
    pub fn has_tool(&self, name: &str) -> bool {
        self.state.lock().registry.find(name).is_some()
    }

    /// The names of its own tools.
    #[must_use]
    pub fn own_tool_names(&self) -> OwnToolNames {
        let state = self.state.lock();
        let name_for = |route| state.registry.name_for(&route).map(str::to_owned);
        OwnToolNames {
            load: name_for(ToolRoute::Load),
            search: name_for(ToolRoute::Search),
            bash: name_for(ToolRoute::Bash),
            editor: name_for(ToolRoute::Editor),
        }
    }

    /// Whether a tool only shows skills and changes no file of the workspace.
    #[must_use]
    pub fn is_read_only(&self, name: &str) -> bool {
        let state = self.state.lock();
        state
            .registry
            .find(name)
            .is_some_and(|(_, route)| route.is_read_only())
    }

    /// Whether a tool may run commands.
    #[must_use]
    pub fn runs_commands(&self, name: &str) -> bool {
        let state = self.state.lock();
        let found = state.registry.find(name);
        found.is_some_and(|(_, route)| !route.is_read_only())
    }

    /// Calls a tool. Failures are outcomes.
    pub fn call<'a>(
        &'a self,
        name: &'a str,
        input: &'a Value,
        progress: ProgressSender,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let Some((spec, route)) = self.find(name) else {
                return self.unknown_tool(name);
            };
            if let Some(skill) = route.own_skill()
                && !self.state.is_active(skill)
                && let Err(refused) = self.load_skill_for(name, skill).await
            {
                return refused;
            }
            let (state, runner, options) = (&self.state, &self.runner, &self.options);
            let input = schema::without_nulls(&spec.input_schema, input);
            let input = input.as_ref();
            let call = CalledTool {
                spec: &spec,
                input,
                progress,
            };
            match route {
                ToolRoute::Load => load::load_skill(state, runner, options, input).await,
                ToolRoute::LoadOne(skill) => {
                    load::load_named(state, runner, options, &skill, input).await
                }
                ToolRoute::List => {
                    search::list_skills(&state.members(), options.limits.result_bytes)
                }
                ToolRoute::Search => match state.library() {
                    Some(library) => search_library::search_skills(library, input).await,
                    None => search::search_skills(&state.members(), input),
                },
                ToolRoute::Resource => {
                    load::read_resource(state, runner, &options.limits, input).await
                }
                ToolRoute::Script => script::run_script(state, runner, call).await,
                ToolRoute::Bash => bash::call(state, runner, call).await,
                ToolRoute::Editor => {
                    let workspace = runner.workspace();
                    let limits = &options.limits;
                    self.editor.call(state, workspace, limits, input).await
                }
                ToolRoute::Code => litellm::run_code(state, runner, call).await,
                ToolRoute::Entry(skill) => {
                    litellm::call_entry(state, runner, options, &skill, call).await
                }
                ToolRoute::Declared { skill, tool } => {
                    declared::call_declared(state, runner, &skill, &tool, call).await
                }
                ToolRoute::Function { skill, function } => {
                    functions::call(state, runner, &skill, &function, call).await
                }
            }
        })
    }

    /// Loads skills without returning their instructions, for a conversation that continues.
    /// Returns the problems with any of them or of their tools; the others are loaded.
    pub async fn restore_loaded(&self, loaded: &[String]) -> Vec<String> {
        let mut problems = Vec::new();
        for name in loaded {
            if let Err(why) = fetch::fetch(&self.state, self.workspace(), name).await {
                problems.push(why);
                continue;
            }
            match self.state.load_order(name) {
                Ok(skills) => {
                    let activated = activation::activate(&self.state, &self.runner, &skills).await;
                    problems.extend(activated.problems);
                }
                Err(why) => problems.push(why),
            }
        }
        problems
    }

    /// Shows all skills' own tools before the skills are loaded, for a client whose tool list
    /// is fixed; a call of one then loads its skill. Returns the problems with any of them.
    pub async fn show_skill_tools(&self) -> Vec<String> {
        self.state.lock().shows_skill_tools = true;
        activation::show_skill_tools(&self.state, &self.runner).await
    }

    /// The skills that are loaded, in the order of loading.
    #[must_use]
    pub fn loaded_skills(&self) -> Vec<String> {
        let active = self.state.active_skills();
        active.iter().map(|skill| skill.name.clone()).collect()
    }

    /// The skill whose own tool has this name, loaded or not. A tool of a `tools.py` that
    /// was not loaded is recognised by the prefix of its name.
    #[must_use]
    pub fn skill_for_tool(&self, tool: &str) -> Option<String> {
        let state = self.state.lock();
        if let Some((_, route)) = state.registry.find(tool) {
            return route.own_skill().map(str::to_owned);
        }
        let is_prefix_of_tool = |member: &&Member| {
            let skill = &member.skill;
            skill.python_tools && tool.starts_with(&tool_name(&skill.name, ""))
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
            let runs_code = self.workspace().is_some();
            let has_library = self.state.library().is_some();
            let mut state = self.state.lock();
            state.registry =
                initial_tools::register_tools(&skills, runs_code, has_library, &self.options);
            state.members = skills.into();
            state.active.clear();
        }
        let still_here = |name: &String| self.state.skill(name).is_some();
        let loaded: Vec<String> = loaded.into_iter().filter(still_here).collect();
        let mut problems = self.restore_loaded(&loaded).await;
        if self.state.lock().shows_skill_tools {
            problems.extend(activation::show_skill_tools(&self.state, &self.runner).await);
        }
        Ok(problems)
    }

    /// The workspace, if there is one.
    #[must_use]
    pub fn workspace(&self) -> Option<&Workspace> {
        self.runner.workspace()
    }

    fn find(&self, name: &str) -> Option<(ToolSpec, ToolRoute)> {
        let state = self.state.lock();
        let (spec, route) = state.registry.find(name)?;
        Some((spec.clone(), route.clone()))
    }

    /// Loads the skill of a tool that was called before its skill, if that is allowed.
    async fn load_skill_for(&self, tool: &str, skill: &str) -> Result<(), ToolOutcome> {
        if !self.state.lock().shows_skill_tools {
            return Err(not_loaded(tool, skill));
        }
        let problems = self.restore_loaded(&[skill.to_owned()]).await;
        if self.state.is_active(skill) {
            Ok(())
        } else {
            Err(not_usable(tool, skill, &problems))
        }
    }

    fn unknown_tool(&self, name: &str) -> ToolOutcome {
        let (shown, hint) = {
            let state = self.state.lock();
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
