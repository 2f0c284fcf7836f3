//! Scripts of skills: how one is run, and `run_skill_script`.
//!
//! A script is started as program and arguments, never by a shell. Its arguments come
//! after its path, each one element of `argv` exactly as given: the interpreter has
//! stopped looking for options of its own by then, so a value that begins with `-`
//! reaches the script and nobody else. What the script makes of it is its own business;
//! the arguments also stand in `PROWESS_ARGS` as JSON, by name, where no parser of
//! options can mistake them.

use crate::arguments::{Reads, text};
use crate::folder::path_of;
use crate::load::inside;
use crate::outcome::{ErrorCode, Native, Outcome};
use crate::permit::Action;
use crate::text::{command_line, listed};
use crate::toolbox::{Progress, Toolbox};
use prowess_sandbox::{Command, Execution};
use prowess_skill::{Limits, Skill, SkillPath};
use serde_json::Value;

/// Longest value of a variable that the system surely takes.
const LONGEST_VARIABLE: usize = 64 << 10;

/// A script that can be started.
#[derive(Debug)]
pub(crate) struct Script {
    /// Program and arguments, up to and including the script.
    argv: Vec<String>,
}

impl Script {
    /// How a file of a skill is started: by its ending, by its first line, or by itself.
    ///
    /// # Errors
    /// A sentence that says why it cannot be.
    pub(crate) fn of(skill: &Skill, path: &str) -> Result<Self, String> {
        let path = SkillPath::parse(path, &Limits::default())
            .map_err(|error| format!("no path inside the skill: {error}"))?;
        let Some(file) = skill.bundle.get(path.as_str()) else {
            let files = skill.manifest.files().iter().map(|file| file.path.as_str());
            let files = listed(files, 50);
            return Err(format!(
                "`{path}` does not exist in the skill. Files: {files}"
            ));
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
                    return Err(format!(
                        "`{path}` cannot be run: it is not executable, and neither its ending \
                         (.py, .sh, .bash, .js, .mjs) nor a first line `#!…` says what runs it"
                    ));
                }
            },
        };
        argv.push(path_of(&skill.name, path.as_str()));
        Ok(Self { argv })
    }

    /// Program and all arguments.
    pub(crate) fn with(self, arguments: Vec<String>) -> Vec<String> {
        let mut argv = self.argv;
        argv.extend(arguments);
        argv
    }
}

/// The interpreter that a first line names. `/usr/bin/env` is left out, with its `-S`:
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

/// What runs a script: its arguments also as JSON in `PROWESS_ARGS`, and on standard
/// input if it is to read them there.
pub(crate) fn execution(
    argv: Vec<String>,
    arguments: &Value,
    on_stdin: bool,
    progress: Progress,
) -> Execution {
    let json = arguments.to_string();
    let env = match json.len() <= LONGEST_VARIABLE {
        true => vec![("PROWESS_ARGS".into(), json.clone())],
        false => Vec::new(),
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
pub(crate) async fn call(toolbox: &Toolbox, input: &Value, progress: Progress) -> Outcome {
    let (skill, argv) = match read(toolbox, input) {
        Ok(read) => read,
        Err(why) => {
            let native = Native::failed_bash("run_skill_script", ErrorCode::InvalidToolInput);
            return Outcome::error(format!("Error: {why}"), native);
        }
    };
    let line = command_line(argv.iter().map(String::as_str));
    if let Err(why) = toolbox.permit(&Action::Command(&line)) {
        let native = Native::failed_bash(line, ErrorCode::InvalidToolInput);
        return Outcome::error(format!("Error: {why}"), native).of(&skill);
    }
    let arguments = input.get("args").cloned().unwrap_or(Value::Null);
    let execution = execution(argv, &arguments, false, progress);
    toolbox.run(line, execution).await.of(&skill)
}

fn read(toolbox: &Toolbox, input: &Value) -> Result<(String, Vec<String>), String> {
    let (name, path) = (text(input, Reads::SKILL)?, text(input, Reads::PATH)?);
    let Some(skill) = toolbox.skill(&name) else {
        return Err(crate::load::wanted(toolbox, &name)
            .err()
            .unwrap_or_default());
    };
    let arguments = match input.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(as_argument).collect(),
        Some(_) => return Err("argument `args` must be an array of strings".into()),
    };
    let script = Script::of(&skill, inside(&skill, &path))?;
    if let Some(workspace) = toolbox.workspace() {
        workspace.show(&skill);
    }
    Ok((name, script.with(arguments)))
}

/// A value as one argument: text as it is, anything else as JSON.
pub(crate) fn as_argument(value: &Value) -> String {
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
