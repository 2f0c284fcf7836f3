//! `allowed-tools`, enforced while a skill is active.
//!
//! It only restricts: a call must be permitted by every active skill that has the field,
//! and no skill can add a tool. Reading is always allowed:
//! loading skills, reading their files, viewing files. The names mean:
//!
//! | in `allowed-tools` | permits |
//! |---|---|
//! | `Bash`, `Shell`, `Execute`, `code_execution`, `bash_code_execution` | any command, Python code, and other active skills' own tools |
//! | `Bash(git diff:*)`, `Bash(git diff *)`, `Bash(git diff)` | commands that begin with these words, or are exactly them |
//! | `Python`, `litellm_code_execution` | Python code |
//! | `Write`, `Edit`, `MultiEdit`, `NotebookEdit`, `text_editor_code_execution` | `create` and `str_replace` of the editor |
//! | `Read`, `Glob`, `Grep`, `LS`, `View`, `NotebookRead` | nothing more than is always allowed |
//! | `other_skill__tool` | that tool |
//! | `*` | everything |
//!
//! A skill's own tools are declared in the same frontmatter and need not be listed. Names
//! of tools that do not exist here, such as `WebFetch`, permit nothing and are reported
//! when the skill is loaded. A field that cannot be trusted permits only reading.
//!
//! Where several conversations share a toolbox, nothing is refused: the model that loads the
//! skill is asked to keep to the field (`ToolboxOptions::enforce_allowed_tools`).
//!
//! This keeps a cooperative model to what the skill's author intended. It is not a
//! security boundary: a permitted command may start any other. The sandbox is.

mod command;

use crate::folder::skill_folder_path;
use crate::model_text;
use crate::state::SharedState;
use crate::text::list_names;
use prowess_skill::Skill;
use prowess_skill::disclose::with_folder;
use prowess_skill::fields::allowed_tools::AllowedTools;
use std::borrow::Cow;

const SHELL_TOOLS: [&str; 6] = [
    "bash",
    "shell",
    "execute",
    "terminal",
    "code_execution",
    "bash_code_execution",
];
const PYTHON_TOOLS: [&str; 2] = ["python", "litellm_code_execution"];
const WRITE_TOOLS: [&str; 5] = [
    "write",
    "edit",
    "multiedit",
    "notebookedit",
    "text_editor_code_execution",
];
const READ_TOOLS: [&str; 8] = [
    "read",
    "glob",
    "grep",
    "ls",
    "view",
    "notebookread",
    "skill",
    "load_skill",
];

/// What a call is about to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action<'a> {
    /// Run a command line.
    Command(&'a str),
    /// Run Python code.
    Python,
    /// Change a file.
    Write,
    /// Call a skill's own tool.
    SkillTool {
        /// Its skill.
        skill: &'a str,
        /// The name it is called by.
        tool: &'a str,
    },
}

impl SharedState {
    /// Whether all active skills permit it, if they can restrict calls.
    ///
    /// # Errors
    /// Names the skill that does not permit it, and what it allows.
    pub(crate) fn check_permitted(&self, action: &Action<'_>) -> Result<(), String> {
        if !self.enforces_allowed_tools {
            return Ok(());
        }
        let skills = self.active_skills();
        skills.iter().try_for_each(|skill| permits(skill, action))
    }
}

fn permits(skill: &Skill, action: &Action<'_>) -> Result<(), String> {
    let name = &skill.name;
    match &skill.allowed_tools {
        AllowedTools::Unstated => Ok(()),
        AllowedTools::Distrusted => Err(model_text::reading_only_error(name)),
        AllowedTools::Only(patterns) => {
            if matches!(action, Action::SkillTool { skill, .. } if skill == name) {
                return Ok(());
            }
            let patterns = placed_patterns(name, patterns);
            let tools: Vec<_> = patterns
                .iter()
                .map(|text| AllowedTool::parse(text))
                .collect();
            if tools.iter().any(|tool| tool.permits(action)) {
                return Ok(());
            }
            let mut why = None;
            if let Action::Command(line) = action {
                let commands: Vec<&str> = tools.iter().filter_map(AllowedTool::commands).collect();
                match command::matches_patterns(line, &commands) {
                    Ok(true) => return Ok(()),
                    Ok(false) => {}
                    Err(reason) => why = Some(reason),
                }
            }
            let allowed = list_names(patterns.iter().map(AsRef::as_ref), 30);
            Err(model_text::not_allowed(name, &allowed, why))
        }
    }
}

/// The patterns as commands have to match them: with the path of the skill's folder, as in its
/// instructions.
fn placed_patterns<'a>(skill: &str, patterns: &'a [String]) -> Vec<Cow<'a, str>> {
    let folder = skill_folder_path(skill);
    let placed = patterns.iter().map(|text| with_folder(text, &folder));
    placed.collect()
}

/// The note about a skill's `allowed-tools` when it is loaded.
pub(crate) fn permission_note(skill: &Skill, is_enforced: bool) -> Option<String> {
    let name = &skill.name;
    let patterns = match &skill.allowed_tools {
        AllowedTools::Unstated => return None,
        AllowedTools::Distrusted if is_enforced => {
            return Some(model_text::reading_only_note(name));
        }
        AllowedTools::Distrusted => {
            return Some(model_text::reading_only_request(name));
        }
        AllowedTools::Only(patterns) => placed_patterns(name, patterns),
    };
    let all = list_names(patterns.iter().map(AsRef::as_ref), 30);
    let unknown = patterns
        .iter()
        .filter(|text| !AllowedTool::parse(text).is_known());
    let unknown = list_names(unknown.map(AsRef::as_ref), 30);
    Some(if is_enforced {
        model_text::allowed_note(name, &all, &unknown)
    } else {
        model_text::allowed_request(name, &all, &unknown)
    })
}

/// One item of `allowed-tools`: `Name` or `Name(argument)`.
#[derive(Debug)]
struct AllowedTool<'a> {
    name: String,
    text: &'a str,
    argument: Option<&'a str>,
}

impl<'a> AllowedTool<'a> {
    fn parse(text: &'a str) -> Self {
        let split = text.split_once('(');
        let argument = split.and_then(|(_, rest)| rest.strip_suffix(')'));
        let name = split.map_or(text, |(name, _)| name);
        Self {
            name: name.trim().to_ascii_lowercase(),
            text,
            argument: argument.map(str::trim),
        }
    }

    fn is_one_of(&self, names: &[&str]) -> bool {
        names.contains(&self.name.as_str())
    }

    /// Whether it names an existing tool. An argument is supported for commands
    /// only; with one, any other name permits nothing.
    fn is_known(&self) -> bool {
        let is_general = self.name == "*" || self.name.contains("__");
        let known = is_general
            || self.is_one_of(&PYTHON_TOOLS)
            || self.is_one_of(&WRITE_TOOLS)
            || self.is_one_of(&READ_TOOLS);
        self.is_one_of(&SHELL_TOOLS) || known && self.argument.is_none()
    }

    /// The pattern of the commands that it permits, if it permits only some.
    fn commands(&self) -> Option<&'a str> {
        self.argument.filter(|_| self.is_one_of(&SHELL_TOOLS))
    }

    /// Whether it permits the action by itself. Several patterns may permit a line together.
    fn permits(&self, action: &Action<'_>) -> bool {
        let whole = matches!(self.argument, None | Some("*"));
        if self.name == "*"
            || whole && self.is_one_of(&SHELL_TOOLS) && !matches!(action, Action::Write)
        {
            return true;
        }
        match (action, self.argument) {
            (Action::Python, None) => self.is_one_of(&PYTHON_TOOLS),
            (Action::Write, None) => self.is_one_of(&WRITE_TOOLS),
            (Action::SkillTool { tool, .. }, None) => self.text == *tool,
            _ => false,
        }
    }
}
