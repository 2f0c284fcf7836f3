//! Scripts of skills: how one is run, and `run_skill_script`.
//!
//! A script is started as program and arguments, never by a shell. Its arguments come
//! after its path, each one element of `argv` exactly as given: the interpreter has
//! stopped parsing its own options by then, so a value that begins with `-` reaches only
//! the script. The arguments are also in `PROWESS_ARGS` as JSON, by name, where no option
//! parser can misread them.

use crate::allowed_tools::Action;
use crate::arguments::{ArgumentNames, required_text};
use crate::called_tool::{CalledTool, ProgressSender};
use crate::fetch::fetch;
use crate::folder::{relative_path, skill_path};
use crate::model_text;
use crate::outcome::{ErrorCode, NativeCall, ToolOutcome};
use crate::run::CommandRunner;
use crate::state::SharedState;
use crate::text::command_line;
use prowess_sandbox::{Command, Execution};
use prowess_skill::{BundleLimits, Skill, SkillPath};
use serde_json::Value;
use std::sync::Arc;

/// Longest value of a variable that every system accepts.
const MAX_VARIABLE_BYTES: usize = 64 << 10;

/// A runnable script.
#[derive(Debug)]
pub(crate) struct SkillScript {
    /// Program and arguments, up to and including the script.
    argv: Vec<String>,
}

impl SkillScript {
    /// How a file of a skill is started: by its ending, by its shebang line, or directly.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) fn for_file(skill: &Skill, path: &str) -> Result<Self, String> {
        let path = SkillPath::parse(path, &BundleLimits::default())
            .map_err(|error| model_text::not_in_skill(&error))?;
        let Some(file) = skill.bundle.get(path.as_str()) else {
            let files = skill.manifest.files().iter().map(|file| file.path.as_str());
            let place = format!("`{path}` does not exist in the skill");
            return Err(model_text::unknown_file(&place, files.collect()));
        };
        let ending = path.file_name().rsplit_once('.').map(|(_, ending)| ending);
        let mut argv: Vec<String> = match ending {
            Some("py") => vec!["python3".into()],
            Some("sh" | "bash") => vec!["bash".into()],
            Some("js" | "mjs" | "cjs") => vec!["node".into()],
            _ => match shebang(&file.data) {
                Some(words) => words,
                None if file.executable => Vec::new(),
                None => {
                    return Err(model_text::not_runnable(path.as_str()));
                }
            },
        };
        argv.push(skill_path(&skill.name, path.as_str()));
        Ok(Self { argv })
    }

    /// Program and all arguments.
    pub(crate) fn into_argv(self, arguments: Vec<String>) -> Vec<String> {
        let mut argv = self.argv;
        argv.extend(arguments);
        argv
    }
}

/// The interpreter in a shebang line. `/usr/bin/env` is left out, with its `-S`:
/// programs are found on the path in any case.
fn shebang(data: &[u8]) -> Option<Vec<String>> {
    let line = data.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.strip_prefix("#!")?;
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    if words.first().is_some_and(|word| word.ends_with("/env")) {
        words.remove(0);
        words.retain(|word| word != "-S");
    }
    (!words.is_empty()).then_some(words)
}

/// The execution of a script, with its arguments as JSON in `PROWESS_ARGS` and, if
/// `on_stdin`, on standard input.
pub(crate) fn script_execution(
    argv: Vec<String>,
    arguments: &Value,
    on_stdin: bool,
    progress: ProgressSender,
) -> Execution {
    let json = arguments.to_string();
    let env = if json.len() <= MAX_VARIABLE_BYTES {
        vec![("PROWESS_ARGS".into(), json.clone())]
    } else {
        Vec::new()
    };
    Execution {
        command: Command::Argv(argv),
        stdin: if on_stdin {
            json.into_bytes()
        } else {
            Vec::new()
        },
        env,
        stream: progress,
        ..Execution::default()
    }
}

/// `run_skill_script(name, path, args?)`.
pub(crate) async fn run_script(
    state: &SharedState,
    runner: &CommandRunner,
    call: CalledTool<'_>,
) -> ToolOutcome {
    let (skill, argv) = match parse_call(state, runner, call.input).await {
        Ok(read) => read,
        Err(why) => {
            let native = NativeCall::failed_bash("run_skill_script", ErrorCode::InvalidToolInput);
            return ToolOutcome::error(format!("Error: {why}"), native);
        }
    };
    if let Some(workspace) = runner.workspace() {
        workspace.add_skill(&skill);
    }
    let line = command_line(argv.iter().map(String::as_str));
    if let Err(why) = state.check_permitted(&Action::Command(&line)) {
        let native = NativeCall::failed_bash(line, ErrorCode::InvalidToolInput);
        return ToolOutcome::error(format!("Error: {why}"), native).for_skill(&skill.name);
    }
    let arguments = call.input.get("args").cloned().unwrap_or(Value::Null);
    let execution = script_execution(argv, &arguments, false, call.progress);
    runner.run(line, execution).await.for_skill(&skill.name)
}

/// The skill, and the program with its arguments.
async fn parse_call(
    state: &SharedState,
    runner: &CommandRunner,
    input: &Value,
) -> Result<(Arc<Skill>, Vec<String>), String> {
    let (name, path) = (
        required_text(input, ArgumentNames::SKILL)?,
        required_text(input, ArgumentNames::PATH)?,
    );
    let name = state.without_plugin(&name);
    fetch(state, runner.workspace(), name).await?;
    let Some(skill) = state.skill(name) else {
        return Err(state.load_order(name).err().unwrap_or_default());
    };
    let arguments = match input.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(to_argument).collect(),
        Some(_) => return Err(model_text::WRONG_ARGS.into()),
    };
    let script = SkillScript::for_file(&skill, relative_path(&skill, &path))?;
    Ok((skill, script.into_argv(arguments)))
}

/// A value as one argument: text as it is, anything else as JSON.
pub(crate) fn to_argument(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_names_the_interpreter() {
        let words = |text: &str| shebang(text.as_bytes()).unwrap_or_default().join(" ");
        assert_eq!(words("#!/bin/sh\nrm"), "/bin/sh");
        assert_eq!(words("#!/usr/bin/env python3\n"), "python3");
        assert_eq!(
            words("#!/usr/bin/env -S node --no-warnings\n"),
            "node --no-warnings"
        );
        assert_eq!(words("#!\n"), "");
        assert_eq!(words("\x7fELF"), "");
    }
}
