//! Making skills active: their own tools are registered and shown, and the container gets
//! their files. It must not know what a model reads of a skill.

use crate::catalogue;
use crate::declared;
use crate::functions::{self, PythonFunction};
use crate::model_text::{self, MAX_DESCRIPTION_BYTES};
use crate::names::tool_name;
use crate::registry::{NewTool, Registry, ToolRoute};
use crate::run::CommandRunner;
use crate::state::{ActiveSkill, SharedState};
use crate::text::cut_end;
use prowess_skill::Skill;
use std::sync::Arc;

/// The changes of a load.
#[derive(Debug, Default)]
pub(crate) struct Activation {
    /// Newly loaded skills.
    pub(crate) loaded: Vec<String>,
    /// Newly shown tools.
    pub(crate) tools: Vec<String>,
    /// Problems with some of their tools.
    pub(crate) problems: Vec<String>,
}

/// Loads skills, in this order.
pub(crate) async fn activate(
    state: &SharedState,
    runner: &CommandRunner,
    skills: &[Arc<Skill>],
) -> Activation {
    let mut done = Activation::default();
    for skill in skills {
        if state.is_active(&skill.name) {
            continue;
        }
        let functions = describe_functions(runner, skill, &mut done.problems).await;
        let left_out = match runner.workspace() {
            Some(_) => add_declared_tools(&mut state.lock().registry, skill),
            None => 0,
        };
        note_left_out(skill, left_out, &mut done.problems);
        activate_skill(state, skill, functions, &mut done);
    }
    done
}

/// Shows the own tools of all skills that a model may load, without loading them.
/// Returns the problems.
pub(crate) async fn show_skill_tools(state: &SharedState, runner: &CommandRunner) -> Vec<String> {
    let members = state.members();
    let mut problems = Vec::new();
    for member in catalogue::loadable(&members) {
        let skill = &member.skill;
        if skill.python_tools || !skill.tools.is_empty() {
            let functions = describe_functions(runner, skill, &mut problems).await;
            let mut state = state.lock();
            let mut left_out = add_functions(&mut state.registry, skill, functions);
            if runner.workspace().is_some() {
                left_out += add_declared_tools(&mut state.registry, skill);
            }
            state.registry.reveal(&skill.name);
            note_left_out(skill, left_out, &mut problems);
        }
    }
    problems
}

/// The functions of a skill; the container must show the skill for that.
async fn describe_functions(
    runner: &CommandRunner,
    skill: &Arc<Skill>,
    problems: &mut Vec<String>,
) -> Vec<PythonFunction> {
    let found = match runner.workspace() {
        Some(workspace) => {
            workspace.add_skill(skill);
            functions::describe(runner, skill).await
        }
        None if skill.python_tools || !skill.tools.is_empty() => Err(model_text::NO_SANDBOX.into()),
        None => Ok(Vec::new()),
    };
    found.unwrap_or_else(|problem| {
        problems.push(format!("`{}`: {problem}", skill.name));
        Vec::new()
    })
}

fn activate_skill(
    state: &SharedState,
    skill: &Arc<Skill>,
    functions: Vec<PythonFunction>,
    done: &mut Activation,
) {
    let mut state = state.lock();
    // Another call may have loaded it while its functions were described.
    if state.is_active(&skill.name) {
        return;
    }
    let left_out = add_functions(&mut state.registry, skill, functions);
    note_left_out(skill, left_out, &mut done.problems);
    done.tools.extend(state.registry.reveal(&skill.name));
    done.loaded.push(skill.name.clone());
    state.active.push(ActiveSkill {
        skill: Arc::clone(skill),
        was_reminded: false,
    });
}

/// Reports that there was no room for some of a skill's tools.
fn note_left_out(skill: &Skill, left_out: usize, problems: &mut Vec<String>) {
    if left_out > 0 {
        let why = model_text::tools_left_out(left_out);
        problems.push(format!("`{}`: {why}", skill.name));
    }
}

/// Adds declared tools that are not registered yet. Returns for how many there is no room.
pub(crate) fn add_declared_tools(registry: &mut Registry, skill: &Skill) -> usize {
    let mut left_out = 0;
    for tool in &skill.tools {
        let route = ToolRoute::Declared {
            skill: skill.name.clone(),
            tool: tool.name.clone(),
        };
        if registry.name_for(&route).is_some() {
            continue;
        }
        if registry.is_full() {
            left_out += 1;
            continue;
        }
        let name = tool_name(&skill.name, &tool.name);
        let is_added = registry.add_own(NewTool {
            name: &name,
            fallback_name: &name,
            description: cut_end(&tool.description, MAX_DESCRIPTION_BYTES),
            input_schema: declared::input_schema(tool),
            route,
        });
        left_out += usize::from(!is_added);
    }
    left_out
}

/// Adds functions that are not registered yet. Returns for how many there is no room.
fn add_functions(registry: &mut Registry, skill: &Skill, functions: Vec<PythonFunction>) -> usize {
    let mut left_out = 0;
    for function in functions {
        let name = tool_name(&skill.name, &function.name);
        let route = ToolRoute::Function {
            skill: skill.name.clone(),
            function: function.name,
        };
        if registry.name_for(&route).is_some() {
            continue;
        }
        let is_added = registry.add_own(NewTool {
            name: &name,
            fallback_name: &name,
            description: function.description,
            input_schema: function.input_schema,
            route,
        });
        left_out += usize::from(!is_added);
    }
    left_out
}
