//! `load_skill`: the instructions of a skill, and its files.
//!
//! The first load returns the instructions and shows the skill's own tools. The second
//! returns a reminder; the third returns the instructions again, because the conversation
//! may have been shortened since.

use crate::arguments::{ArgumentNames, required_text};
use crate::folder::{SKILLS_FOLDER, skill_folder, skill_path};
use crate::names::tool_name;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::registry::{NewTool, Registry, ToolRoute};
use crate::requires;
use crate::toolbox::{ActiveSkill, Toolbox};
use crate::view::{self, ViewResult};
use crate::{allowed_tools, catalogue, functions, model_text};
use prowess_skill::Skill;
use prowess_skill::control_tokens::neutralise;
use prowess_skill::disclose::{self, FileContent};
use serde_json::Value;
use std::sync::Arc;

/// Bytes of the list of a skill's files.
const MAX_FILE_LIST_BYTES: usize = 4 << 10;

/// `load_skill(name, path?)`.
pub(crate) async fn load_skill(toolbox: &Toolbox, input: &Value) -> ToolOutcome {
    match required_text(input, ArgumentNames::SKILL) {
        Ok(name) => load_named(toolbox, &name, input).await,
        Err(why) => refusal("", "SKILL.md", &why),
    }
}

/// `load_skill_NAME(path?)`.
pub(crate) async fn load_named(toolbox: &Toolbox, name: &str, input: &Value) -> ToolOutcome {
    let path = match input.get("path").or_else(|| input.get("file_path")) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(path)) => path.clone(),
        Some(_) => return refusal(name, "SKILL.md", model_text::WRONG_PATH),
    };
    let Some(skill) = toolbox.skill(name) else {
        return unknown_skill(toolbox, name);
    };
    match relative_path(&skill, &path) {
        "" => load_instructions(toolbox, &skill).await,
        path if path.eq_ignore_ascii_case(skill.bundle.skill_file().as_str()) => {
            load_instructions(toolbox, &skill).await
        }
        path => view_file(toolbox, &skill, path),
    }
}

/// `read_skill_resource(name, path)`.
pub(crate) fn read_resource(toolbox: &Toolbox, input: &Value) -> ToolOutcome {
    let (name, path) = match (
        required_text(input, ArgumentNames::SKILL),
        required_text(input, ArgumentNames::PATH),
    ) {
        (Ok(name), Ok(path)) => (name, path),
        (Err(why), _) | (_, Err(why)) => return refusal("", "", &why),
    };
    match toolbox.skill(&name) {
        Some(skill) => view_file(toolbox, &skill, relative_path(&skill, &path)),
        None => unknown_skill(toolbox, &name),
    }
}

/// The path relative to the skill, whichever way it was written.
pub(crate) fn relative_path<'a>(skill: &Skill, path: &'a str) -> &'a str {
    let folder = format!("{SKILLS_FOLDER}/{}/", skill_folder(&skill.name));
    let path = path.strip_prefix(&folder).unwrap_or(path);
    path.strip_prefix("./").unwrap_or(path)
}

async fn load_instructions(toolbox: &Toolbox, skill: &Arc<Skill>) -> ToolOutcome {
    let name = &skill.name;
    if !skill.invocation.by_model {
        let why = model_text::only_for_people(name);
        return refusal(name, "SKILL.md", &why);
    }
    if toolbox.options().remind_if_loaded
        && let Some(reminder) = reminder(toolbox, skill)
    {
        return view_text(skill, reminder);
    }
    let skills = match skills_to_load(toolbox, name) {
        Ok(skills) => skills,
        Err(why) => return refusal(name, "SKILL.md", &why),
    };
    let activated = activate(toolbox, &skills).await;
    let text = instructions_text(toolbox, skill, &skills, &activated);
    let mut outcome = view_text(skill, text);
    outcome.loaded_skills = activated.loaded;
    outcome
}

/// The skill and those it requires, in the order of loading.
pub(crate) fn skills_to_load(toolbox: &Toolbox, name: &str) -> Result<Vec<Arc<Skill>>, String> {
    requires::load_order(&toolbox.lock().members, name)
}

/// The changes of a load.
#[derive(Debug, Default)]
pub(crate) struct Activation {
    /// Newly loaded skills.
    pub(crate) loaded: Vec<String>,
    /// Newly shown tools.
    tools: Vec<String>,
    /// Problems with some of their tools.
    pub(crate) problems: Vec<String>,
}

/// Loads skills, in this order.
pub(crate) async fn activate(toolbox: &Toolbox, skills: &[Arc<Skill>]) -> Activation {
    let mut done = Activation::default();
    for skill in skills {
        if toolbox.is_active(&skill.name) {
            continue;
        }
        let functions = describe_functions(toolbox, skill, &mut done.problems).await;
        activate_skill(toolbox, skill, functions, &mut done);
    }
    done
}

/// Shows the own tools of all skills that a model may load, without loading them.
/// Returns the problems.
pub(crate) async fn show_skill_tools(toolbox: &Toolbox) -> Vec<String> {
    let skills: Vec<Arc<Skill>> = {
        let state = toolbox.lock();
        let offered = catalogue::loadable(&state.members);
        offered.map(|member| Arc::clone(&member.skill)).collect()
    };
    let mut problems = Vec::new();
    for skill in skills {
        if skill.python_tools || !skill.tools.is_empty() {
            let functions = describe_functions(toolbox, &skill, &mut problems).await;
            let mut state = toolbox.lock();
            add_functions(&mut state.registry, &skill, functions);
            state.registry.reveal(&skill.name);
        }
    }
    problems
}

/// The functions of a skill; the container must show the skill for that.
async fn describe_functions(
    toolbox: &Toolbox,
    skill: &Arc<Skill>,
    problems: &mut Vec<String>,
) -> Vec<functions::PythonFunction> {
    let found = match toolbox.workspace() {
        Some(workspace) => {
            workspace.add_skill(skill);
            functions::describe(toolbox, skill).await
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
    toolbox: &Toolbox,
    skill: &Arc<Skill>,
    functions: Vec<functions::PythonFunction>,
    done: &mut Activation,
) {
    let mut state = toolbox.lock();
    // Another call may have loaded it while its functions were described.
    if state
        .active
        .iter()
        .any(|active| active.skill.name == skill.name)
    {
        return;
    }
    add_functions(&mut state.registry, skill, functions);
    done.tools.extend(state.registry.reveal(&skill.name));
    done.loaded.push(skill.name.clone());
    state.active.push(ActiveSkill {
        skill: Arc::clone(skill),
        was_reminded: false,
    });
}

/// Adds functions that are not registered yet.
fn add_functions(
    registry: &mut Registry,
    skill: &Skill,
    functions: Vec<functions::PythonFunction>,
) {
    for function in functions {
        let name = tool_name(&skill.name, &function.name);
        let route = ToolRoute::Function {
            skill: skill.name.clone(),
            function: function.name,
        };
        if registry.name_for(&route).is_some() {
            continue;
        }
        registry.add(NewTool {
            name: &name,
            fallback_name: &name,
            description: function.description,
            input_schema: function.input_schema,
            route,
        });
    }
}

/// The answer when a loaded skill is loaded again for the first time.
fn reminder(toolbox: &Toolbox, skill: &Skill) -> Option<String> {
    let mut state = toolbox.lock();
    let mut active = state.active.iter_mut();
    let active = active.find(|active| active.skill.name == skill.name)?;
    active.was_reminded = !active.was_reminded;
    active
        .was_reminded
        .then(|| model_text::reminder(&skill.name))
}

/// The instructions, after those of required skills, and notes.
fn instructions_text(
    toolbox: &Toolbox,
    skill: &Skill,
    all: &[Arc<Skill>],
    done: &Activation,
) -> String {
    let cap = toolbox.options().limits.text_bytes;
    let mut text = String::new();
    for required in all.iter().filter(|other| other.name != skill.name) {
        if done.loaded.contains(&required.name) {
            let body = disclose::body(required, cap).text;
            text.push_str(&format!(
                "## Required skill: {}\n\n{}\n\n",
                required.name,
                body.trim()
            ));
        }
    }
    if !text.is_empty() {
        text.push_str(&format!("## Skill: {}\n\n", skill.name));
    }
    text.push_str(disclose::body(skill, cap).text.trim());
    let notes = loading_notes(toolbox, skill, all, done);
    if !notes.is_empty() {
        text.push_str(&format!("\n\n---\n{}", notes.join("\n")));
    }
    neutralise(&text).into_owned()
}

fn loading_notes(
    toolbox: &Toolbox,
    skill: &Skill,
    all: &[Arc<Skill>],
    done: &Activation,
) -> Vec<String> {
    let mut notes = Vec::new();
    if skill.bundle.len() > 1 {
        let files = disclose::file_list(skill, MAX_FILE_LIST_BYTES).text;
        let folder = skill_folder(&skill.name);
        notes.push(format!(
            "Files of this skill, at {SKILLS_FOLDER}/{folder}:\n{}",
            files.trim_end()
        ));
    }
    // A model that reads the instructions again may not remember them.
    let tools = if done.tools.is_empty() {
        toolbox.lock().registry.shown_tools_of(&skill.name)
    } else {
        done.tools.clone()
    };
    if !tools.is_empty() {
        notes.push(model_text::tools_note(&tools));
    }
    notes.extend(
        done.problems
            .iter()
            .map(|problem| model_text::problem_note(problem)),
    );
    let new = all.iter().filter(|skill| done.loaded.contains(&skill.name));
    notes.extend(new.filter_map(|skill| allowed_tools::permission_note(skill)));
    notes
}

/// A file of a skill, truncated if needed.
pub(crate) fn view_file(toolbox: &Toolbox, skill: &Skill, path: &str) -> ToolOutcome {
    let caps = &toolbox.options().limits;
    let full = skill_path(&skill.name, path);
    let shown = match disclose::file(skill, path, caps.text_bytes) {
        Some(FileContent::Text(fragment)) => ViewResult::Text(fragment.text),
        Some(FileContent::Binary(data)) => ViewResult::binary(path, data, caps.binary_bytes),
        None => ViewResult::Missing(missing_file_message(skill, path)),
    };
    view::view_outcome(&full, shown).for_skill(&skill.name)
}

fn missing_file_message(skill: &Skill, path: &str) -> String {
    let files = skill.manifest.files().iter().map(|file| file.path.as_str());
    let below = format!("{}/", path.trim_end_matches('/'));
    let is_folder = files.clone().any(|file| file.starts_with(&below));
    let (what, files) = if is_folder {
        let files = files.filter(|file| file.starts_with(&below)).collect();
        ("is a folder", files)
    } else {
        ("does not exist", files.collect::<Vec<_>>())
    };
    let place = format!("`{path}` {what} in the skill `{}`", skill.name);
    model_text::unknown_file(&place, files)
}

fn view_text(skill: &Skill, text: String) -> ToolOutcome {
    let path = skill_path(&skill.name, skill.bundle.skill_file().as_str());
    view::view_outcome(&path, ViewResult::Text(text)).for_skill(&skill.name)
}

fn unknown_skill(toolbox: &Toolbox, name: &str) -> ToolOutcome {
    let why = skills_to_load(toolbox, name).err().unwrap_or_default();
    refusal(name, "SKILL.md", &why)
}

fn refusal(skill: &str, path: &str, why: &str) -> ToolOutcome {
    let path = skill_path(skill, path);
    let native = NativeCall::Editor {
        input: view::view_input(&path),
        result: view::error_result(ErrorCode::FileNotFound, why),
    };
    ToolOutcome::error(format!("Error: {why}"), native)
}
