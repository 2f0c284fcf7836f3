//! `load_skill`: the instructions of a skill, and its files.
//!
//! The first load returns the instructions and shows the skill's own tools. The second
//! returns a reminder; the third returns the instructions again, because the conversation
//! may have been shortened since.

use crate::activation::{Activation, activate};
use crate::arguments::{ArgumentNames, required_text};
use crate::fetch::fetch;
use crate::folder::{relative_path, skill_folder_path, skill_path};
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::run::CommandRunner;
use crate::spec::{ToolboxLimits, ToolboxOptions};
use crate::state::SharedState;
use crate::view::{self, ViewResult};
use crate::{allowed_tools, model_text};
use prowess_skill::Skill;
use prowess_skill::control_tokens::neutralise;
use prowess_skill::disclose::{self, FileContent};
use serde_json::Value;
use std::sync::Arc;

/// Bytes of the list of a skill's files.
const MAX_FILE_LIST_BYTES: usize = 4 << 10;

/// `load_skill(name, path?)`.
pub(crate) async fn load_skill(
    state: &SharedState,
    runner: &CommandRunner,
    options: &ToolboxOptions,
    input: &Value,
) -> ToolOutcome {
    match required_text(input, ArgumentNames::SKILL) {
        Ok(name) => {
            let name = state.without_plugin(&name);
            load_named(state, runner, options, name, input).await
        }
        Err(why) => refusal("", "SKILL.md", &why),
    }
}

/// `load_skill_NAME(path?)`.
pub(crate) async fn load_named(
    state: &SharedState,
    runner: &CommandRunner,
    options: &ToolboxOptions,
    name: &str,
    input: &Value,
) -> ToolOutcome {
    let path = match input.get("path").or_else(|| input.get("file_path")) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(path)) => path.clone(),
        Some(_) => return refusal(name, "SKILL.md", model_text::WRONG_PATH),
    };
    if let Err(why) = fetch(state, runner.workspace(), name).await {
        return refusal(name, "SKILL.md", &why);
    }
    let Some(skill) = state.skill(name) else {
        return unknown_skill(state, name);
    };
    match relative_path(&skill, &path) {
        "" => load_instructions(state, runner, options, &skill).await,
        path if path.eq_ignore_ascii_case(skill.bundle.skill_file().as_str()) => {
            load_instructions(state, runner, options, &skill).await
        }
        path => view_file(&options.limits, &skill, path),
    }
}

/// `read_skill_resource(name, path)`.
pub(crate) async fn read_resource(
    state: &SharedState,
    runner: &CommandRunner,
    limits: &ToolboxLimits,
    input: &Value,
) -> ToolOutcome {
    let (name, path) = match (
        required_text(input, ArgumentNames::SKILL),
        required_text(input, ArgumentNames::PATH),
    ) {
        (Ok(name), Ok(path)) => (name, path),
        (Err(why), _) | (_, Err(why)) => return refusal("", "", &why),
    };
    let name = state.without_plugin(&name);
    if let Err(why) = fetch(state, runner.workspace(), name).await {
        return refusal(name, &path, &why);
    }
    match state.skill(name) {
        Some(skill) => view_file(limits, &skill, relative_path(&skill, &path)),
        None => unknown_skill(state, name),
    }
}

async fn load_instructions(
    state: &SharedState,
    runner: &CommandRunner,
    options: &ToolboxOptions,
    skill: &Arc<Skill>,
) -> ToolOutcome {
    let name = &skill.name;
    if !skill.invocation.by_model {
        let why = model_text::only_for_people(name);
        return refusal(name, "SKILL.md", &why);
    }
    if options.remind_if_loaded
        && let Some(reminder) = reminder(state, skill)
    {
        return view_text(skill, reminder);
    }
    let skills = match state.load_order(name) {
        Ok(skills) => skills,
        Err(why) => return refusal(name, "SKILL.md", &why),
    };
    let activated = activate(state, runner, &skills).await;
    let shown_tools = if activated.tools.is_empty() {
        // A model that reads the instructions again may not remember them.
        state.lock().registry.shown_tools_of(name)
    } else {
        activated.tools.clone()
    };
    let text = instructions_text(options, skill, &skills, &activated, &shown_tools);
    let mut outcome = view_text(skill, text);
    outcome.loaded_skills = activated.loaded;
    outcome
}

/// The answer when a loaded skill is loaded again for the first time.
fn reminder(state: &SharedState, skill: &Skill) -> Option<String> {
    let mut state = state.lock();
    let mut active = state.active.iter_mut();
    let active = active.find(|active| active.skill.name == skill.name)?;
    active.was_reminded = !active.was_reminded;
    active
        .was_reminded
        .then(|| model_text::reminder(&skill.name))
}

/// The instructions, after those of required skills, and notes.
fn instructions_text(
    options: &ToolboxOptions,
    skill: &Skill,
    all: &[Arc<Skill>],
    done: &Activation,
    shown_tools: &[String],
) -> String {
    let max_bytes = options.limits.text_bytes;
    let mut text = String::new();
    for required in all.iter().filter(|other| other.name != skill.name) {
        if done.loaded.contains(&required.name) {
            let body = body_text(required, max_bytes);
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
    text.push_str(body_text(skill, max_bytes).trim());
    let notes = loading_notes(options, skill, all, done, shown_tools);
    if !notes.is_empty() {
        text.push_str(&format!("\n\n---\n{}", notes.join("\n")));
    }
    neutralise(&text).into_owned()
}

fn body_text(skill: &Skill, max_bytes: usize) -> String {
    disclose::body(skill, &skill_folder_path(&skill.name), max_bytes).text
}

fn loading_notes(
    options: &ToolboxOptions,
    skill: &Skill,
    all: &[Arc<Skill>],
    done: &Activation,
    shown_tools: &[String],
) -> Vec<String> {
    let mut notes = Vec::new();
    if skill.bundle.len() > 1 {
        let files = disclose::file_list(skill, MAX_FILE_LIST_BYTES).text;
        let folder = skill_folder_path(&skill.name);
        notes.push(format!(
            "Files of this skill, at {folder}:\n{}",
            files.trim_end()
        ));
    }
    if !shown_tools.is_empty() {
        notes.push(model_text::tools_note(shown_tools));
    }
    notes.extend(
        done.problems
            .iter()
            .map(|problem| model_text::problem_note(problem)),
    );
    let is_enforced = options.enforce_allowed_tools;
    // What is only a request is unknown to a conversation that did not load the skill itself.
    let is_news = |skill: &&Arc<Skill>| !is_enforced || done.loaded.contains(&skill.name);
    let new = all.iter().filter(is_news);
    notes.extend(new.filter_map(|skill| allowed_tools::permission_note(skill, is_enforced)));
    notes
}

/// A file of a skill, truncated if needed.
pub(crate) fn view_file(limits: &ToolboxLimits, skill: &Skill, path: &str) -> ToolOutcome {
    let full = skill_path(&skill.name, path);
    let shown = match disclose::file(skill, path, limits.text_bytes) {
        Some(FileContent::Text(fragment)) => ViewResult::Text(fragment.text),
        Some(FileContent::Binary(data)) => ViewResult::binary(path, data, limits.binary_bytes),
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

fn unknown_skill(state: &SharedState, name: &str) -> ToolOutcome {
    let why = match state.library() {
        Some(_) => model_text::unknown_stored_skill(name),
        None => state.load_order(name).err().unwrap_or_default(),
    };
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
