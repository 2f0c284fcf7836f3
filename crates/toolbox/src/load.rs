//! `load_skill`: the instructions of a skill, and its files.
//!
//! The first load gives the instructions and shows the skill's own tools. A second one
//! says briefly that they are there; whoever then asks again gets them again, for a
//! conversation may have been shortened since.

use crate::arguments::{Reads, text};
use crate::folder::{folder_of, path_of};
use crate::names::of_tool;
use crate::outcome::{ErrorCode, Native, Outcome};
use crate::registry::{NewTool, Registry, Route};
use crate::requires;
use crate::text::listed;
use crate::toolbox::{Active, Toolbox};
use crate::view::{self, Shown};
use crate::{catalogue, functions, permit};
use prowess_skill::Skill;
use prowess_skill::control_tokens::neutralised;
use prowess_skill::disclose::{self, FileContent};
use serde_json::Value;
use std::sync::Arc;

/// Most bytes of the list of a skill's files.
const FILE_LIST: usize = 4 << 10;

/// `load_skill(name, path?)`.
pub(crate) async fn call(toolbox: &Toolbox, input: &Value) -> Outcome {
    match text(input, Reads::SKILL) {
        Ok(name) => one(toolbox, &name, input).await,
        Err(why) => refused("", "SKILL.md", &why),
    }
}

/// `load_skill_NAME(path?)`.
pub(crate) async fn one(toolbox: &Toolbox, name: &str, input: &Value) -> Outcome {
    let path = match input.get("path").or_else(|| input.get("file_path")) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(path)) => path.clone(),
        Some(_) => return refused(name, "SKILL.md", "argument `path` must be a string"),
    };
    let Some(skill) = toolbox.skill(name) else {
        return missing(toolbox, name);
    };
    match inside(&skill, &path) {
        "" => load(toolbox, &skill).await,
        path if path.eq_ignore_ascii_case(skill.bundle.skill_file().as_str()) => {
            load(toolbox, &skill).await
        }
        path => file(toolbox, &skill, path),
    }
}

/// `read_skill_resource(name, path)`.
pub(crate) fn resource(toolbox: &Toolbox, input: &Value) -> Outcome {
    let (name, path) = match (text(input, Reads::SKILL), text(input, Reads::PATH)) {
        (Ok(name), Ok(path)) => (name, path),
        (Err(why), _) | (_, Err(why)) => return refused("", "", &why),
    };
    match toolbox.skill(&name) {
        Some(skill) => file(toolbox, &skill, inside(&skill, &path)),
        None => missing(toolbox, &name),
    }
}

/// The path as it is meant: relative to the skill, however it was written.
pub(crate) fn inside<'a>(skill: &Skill, path: &'a str) -> &'a str {
    let folder = format!("/skills/{}/", folder_of(&skill.name));
    let path = path.strip_prefix(&folder).unwrap_or(path);
    path.strip_prefix("./").unwrap_or(path)
}

async fn load(toolbox: &Toolbox, skill: &Arc<Skill>) -> Outcome {
    let name = &skill.name;
    if !skill.invocation.by_model {
        let why = format!("the skill `{name}` can only be started by a person");
        return refused(name, "SKILL.md", &why);
    }
    if toolbox.options().remind
        && let Some(reminder) = remind(toolbox, skill)
    {
        return shown(skill, reminder);
    }
    let skills = match wanted(toolbox, name) {
        Ok(skills) => skills,
        Err(why) => return refused(name, "SKILL.md", &why),
    };
    let activated = activate(toolbox, &skills).await;
    let text = told(toolbox, skill, &skills, &activated);
    let mut outcome = shown(skill, text);
    outcome.loaded = activated.loaded;
    outcome
}

/// The skill and those it requires, in the order of loading.
pub(crate) fn wanted(toolbox: &Toolbox, name: &str) -> Result<Vec<Arc<Skill>>, String> {
    requires::order(&toolbox.lock().members, name)
}

/// What a load changed.
#[derive(Debug, Default)]
pub(crate) struct Activated {
    /// Skills that are loaded now and were not before.
    pub(crate) loaded: Vec<String>,
    /// Tools that are shown now and were not before.
    tools: Vec<String>,
    /// What stands in the way of some of their tools.
    pub(crate) problems: Vec<String>,
}

/// Loads skills, in this order.
pub(crate) async fn activate(toolbox: &Toolbox, skills: &[Arc<Skill>]) -> Activated {
    let mut done = Activated::default();
    for skill in skills {
        if toolbox.is_active(&skill.name) {
            continue;
        }
        let functions = describe(toolbox, skill, &mut done.problems).await;
        put_in_place(toolbox, skill, functions, &mut done);
    }
    done
}

/// Shows the own tools of all skills that a model may load, without loading them.
/// Returns what stands in the way.
pub(crate) async fn reveal(toolbox: &Toolbox) -> Vec<String> {
    let skills: Vec<Arc<Skill>> = {
        let state = toolbox.lock();
        let offered = catalogue::offered(&state.members);
        offered.map(|member| Arc::clone(&member.skill)).collect()
    };
    let mut problems = Vec::new();
    for skill in skills {
        if skill.python_tools || !skill.tools.is_empty() {
            let functions = describe(toolbox, &skill, &mut problems).await;
            let mut state = toolbox.lock();
            add(&mut state.registry, &skill, functions);
            state.registry.reveal(&skill.name);
        }
    }
    problems
}

/// The functions of a skill, for which the session must show it.
async fn describe(
    toolbox: &Toolbox,
    skill: &Arc<Skill>,
    problems: &mut Vec<String>,
) -> Vec<functions::Function> {
    let found = match toolbox.workspace() {
        Some(workspace) => {
            workspace.show(skill);
            functions::describe(toolbox, skill).await
        }
        None if skill.python_tools || !skill.tools.is_empty() => {
            Err("its own tools are missing: they run code, and there is no sandbox".into())
        }
        None => Ok(Vec::new()),
    };
    found.unwrap_or_else(|problem| {
        problems.push(format!("`{}`: {problem}", skill.name));
        Vec::new()
    })
}

fn put_in_place(
    toolbox: &Toolbox,
    skill: &Arc<Skill>,
    functions: Vec<functions::Function>,
    done: &mut Activated,
) {
    let mut state = toolbox.lock();
    // Another call may have loaded it while its functions were looked at.
    if state
        .active
        .iter()
        .any(|active| active.skill.name == skill.name)
    {
        return;
    }
    add(&mut state.registry, skill, functions);
    done.tools.extend(state.registry.reveal(&skill.name));
    done.loaded.push(skill.name.clone());
    state.active.push(Active {
        skill: Arc::clone(skill),
        reminded: false,
    });
}

/// Adds functions, but for those that are there already.
fn add(registry: &mut Registry, skill: &Skill, functions: Vec<functions::Function>) {
    for function in functions {
        let wanted = of_tool(&skill.name, &function.name);
        let route = Route::Function {
            skill: skill.name.clone(),
            function: function.name,
        };
        if registry.name_of(&route).is_some() {
            continue;
        }
        registry.add(NewTool {
            wanted: &wanted,
            otherwise: &wanted,
            description: function.description,
            input_schema: function.input_schema,
            route,
        });
    }
}

/// What a skill that is loaded answers the first time it is loaded again.
fn remind(toolbox: &Toolbox, skill: &Skill) -> Option<String> {
    let mut state = toolbox.lock();
    let mut active = state.active.iter_mut();
    let active = active.find(|active| active.skill.name == skill.name)?;
    active.reminded = !active.reminded;
    active.reminded.then(|| {
        let name = &skill.name;
        format!(
            "The skill `{name}` is loaded already: its instructions are above. Load it once more \
             to read them again."
        )
    })
}

/// The instructions, after those of required skills, and what else there is to know.
fn told(toolbox: &Toolbox, skill: &Skill, all: &[Arc<Skill>], done: &Activated) -> String {
    let cap = toolbox.options().caps.text;
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
    let notes = notes(toolbox, skill, all, done);
    if !notes.is_empty() {
        text.push_str(&format!("\n\n---\n{}", notes.join("\n")));
    }
    neutralised(&text).into_owned()
}

fn notes(toolbox: &Toolbox, skill: &Skill, all: &[Arc<Skill>], done: &Activated) -> Vec<String> {
    let mut notes = Vec::new();
    if skill.bundle.len() > 1 {
        let files = disclose::file_list(skill, FILE_LIST).text;
        let folder = folder_of(&skill.name);
        notes.push(format!(
            "Files of this skill, at /skills/{folder}:\n{}",
            files.trim_end()
        ));
    }
    // Whoever reads it again may not remember them.
    let tools = match done.tools.is_empty() {
        true => toolbox.lock().registry.shown_of(&skill.name),
        false => done.tools.clone(),
    };
    if !tools.is_empty() {
        let tools = listed(tools.iter().map(String::as_str), 100);
        notes.push(format!("Tools now available: {tools}"));
    }
    notes.extend(
        done.problems
            .iter()
            .map(|problem| format!("Problem with {problem}")),
    );
    let new = all.iter().filter(|skill| done.loaded.contains(&skill.name));
    notes.extend(new.filter_map(|skill| permit::note(skill)));
    notes
}

/// A file of a skill, whole or cut.
pub(crate) fn file(toolbox: &Toolbox, skill: &Skill, path: &str) -> Outcome {
    let caps = &toolbox.options().caps;
    let full = path_of(&skill.name, path);
    let shown = match disclose::file(skill, path, caps.text) {
        Some(FileContent::Text(fragment)) => Shown::Text(fragment.text),
        Some(FileContent::Binary(data)) => Shown::binary(path, data, caps.binary),
        None => Shown::Missing(no_such(skill, path)),
    };
    view::outcome(&full, shown).of(&skill.name)
}

fn no_such(skill: &Skill, path: &str) -> String {
    let files = skill.manifest.files().iter().map(|file| file.path.as_str());
    let below = format!("{}/", path.trim_end_matches('/'));
    let (what, files) = match files.clone().any(|file| file.starts_with(&below)) {
        true => (
            "is a folder",
            files.filter(|file| file.starts_with(&below)).collect(),
        ),
        false => ("does not exist", files.collect::<Vec<_>>()),
    };
    let name = &skill.name;
    format!(
        "`{path}` {what} in the skill `{name}`. Files: {}",
        listed(files, 50)
    )
}

fn shown(skill: &Skill, text: String) -> Outcome {
    let path = path_of(&skill.name, skill.bundle.skill_file().as_str());
    view::outcome(&path, Shown::Text(text)).of(&skill.name)
}

fn missing(toolbox: &Toolbox, name: &str) -> Outcome {
    let why = wanted(toolbox, name).err().unwrap_or_default();
    refused(name, "SKILL.md", &why)
}

fn refused(skill: &str, path: &str, why: &str) -> Outcome {
    let path = path_of(skill, path);
    let native = Native::Editor {
        input: view::input(&path),
        result: view::error(ErrorCode::FileNotFound, why),
    };
    Outcome::error(format!("Error: {why}"), native)
}
