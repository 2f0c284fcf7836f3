//! Every text of this crate that a model reads: descriptions of tools and of their
//! arguments, errors, and notes in results.
//!
//! Each section begins with its cap in bytes. Functions cut what they format, because
//! names and paths come from skills and from the model itself.

use crate::folder::{DATA_FOLDER, SKILLS_FOLDER};
use crate::text::{cut_end, list_names};
use prowess_sandbox::{CommandOutcome, LimitHit};

/// Bytes of a tool's description. Every provider accepts this many.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 1024;

pub(crate) const LOAD_SKILL: &str = "Load a skill: its instructions and, if it has any, its own \
    tools. When a task matches a skill's description, load that skill first. With `path`, read \
    another file of the skill instead.";
pub(crate) const LOAD_SKILL_BRIEF: &str = "Load a skill.";
pub(crate) const LIST_SKILLS: &str = "List the available skills, with what each is for.";
pub(crate) const SEARCH_SKILLS: &str = "Find skills for a task by keywords, best match first.";
pub(crate) const READ_RESOURCE: &str = "Read a file of a skill.";
pub(crate) const RUN_SCRIPT: &str =
    "Run a script of a skill in the sandbox, with the given arguments.";

pub(crate) fn bash_description() -> String {
    format!(
        "Run a bash command in a sandbox, usually without network access. The working directory \
         is {DATA_FOLDER}: files left there are saved and returned to the user. Skills are \
         read-only at {SKILLS_FOLDER}/NAME. All processes end with the command."
    )
}

pub(crate) fn editor_description() -> String {
    format!(
        "View, create and edit files. `view` shows a file or lists a folder, in {DATA_FOLDER} or \
         in {SKILLS_FOLDER}; `create` writes a file and `str_replace` replaces the only \
         occurrence of `old_str`, in {DATA_FOLDER} only."
    )
}

pub(crate) fn python_description() -> String {
    format!(
        "Execute Python code in a sandboxed environment. The working directory is {DATA_FOLDER}: \
         files left there are returned. The skills' modules can be imported."
    )
}

/// Bytes of an argument's description.
#[cfg(test)]
const MAX_ARGUMENT_BYTES: usize = 128;

pub(crate) const SKILL_NAME: &str = "The skill's name.";
pub(crate) const SKILL_FILE: &str = "A file of the skill, relative to its folder.";
pub(crate) const OPTIONAL_SKILL_FILE: &str =
    "A file of the skill, relative to its folder. Omit for SKILL.md.";
pub(crate) const SEARCH_QUERY: &str = "Keywords that describe the task.";
pub(crate) const SEARCH_LIMIT: &str = "Maximum number of skills to return.";
pub(crate) const RESOURCE_PATH: &str = "The file, relative to the skill's folder.";
pub(crate) const SCRIPT_PATH: &str = "The script, relative to the skill's folder.";
pub(crate) const SCRIPT_ARGUMENTS: &str = "The script's arguments.";
pub(crate) const COMMAND_LINE: &str = "The command line.";
pub(crate) const PYTHON_CODE: &str = "Python code to execute.";
pub(crate) const VIEW_RANGE: &str =
    "For view: first and last line, counted from 1; -1 means the end.";
pub(crate) const FILE_TEXT: &str = "For create: the whole content.";
pub(crate) const OLD_STR: &str = "For str_replace: text that occurs exactly once in the file.";
pub(crate) const NEW_STR: &str = "For str_replace: the replacement text.";

pub(crate) fn editor_path() -> String {
    format!("An absolute path, or one relative to {DATA_FOLDER}.")
}

/// Bytes of a line or note in a result, and of an error without a list.
const MAX_NOTE_BYTES: usize = 1 << 10;

pub(crate) const NO_SKILLS: &str = "There are no skills.";
pub(crate) const NO_OUTPUT: &str = "[no output]";
pub(crate) const NO_EXIT: &str = "[it returned a result, but did not exit by itself]";
pub(crate) const NO_SANDBOX: &str = "its tools are unavailable: they need a sandbox to run in";
pub(crate) const WRONG_LIMIT: &str = "argument `limit` must be an integer of at least 1";
pub(crate) const WRONG_PATH: &str = "argument `path` must be a string";
pub(crate) const WRONG_ARGS: &str = "argument `args` must be an array of strings";
pub(crate) const WRONG_RANGE: &str =
    "argument `view_range` must be [first, last], counted from 1, with -1 for the end";
pub(crate) const EMPTY_QUERY: &str = "argument `query` must have a word";
pub(crate) const EMPTY_OLD_STR: &str = "argument `old_str` is empty";
pub(crate) const NO_FUNCTIONS: &str =
    "it has none; decorate functions with @tool, or define build_tools(ctx)";
pub(crate) const DESCRIPTIONS_TOO_LONG: &str = "the descriptions of its tools are too long";
pub(crate) const SUBSTITUTION: &str = "a substitution in the command cannot be checked";
pub(crate) const REDIRECTION: &str = "a redirection in the command cannot be checked";
pub(crate) const COMMAND_GROUP: &str = "a group of commands cannot be checked";

/// Added to the first result after a container has expired.
pub(crate) fn expired_note() -> String {
    format!("the container expired: {DATA_FOLDER} is empty, and its earlier files are gone")
}

pub(crate) fn packages_note(error: &impl std::fmt::Display) -> String {
    note(format!("the skills' packages are not installed: {error}"))
}

/// Why some of the skills' packages are not installed.
pub(crate) fn packages_remark(remark: &str) -> String {
    note(remark.to_owned())
}

pub(crate) fn omitted_skills(count: usize) -> String {
    format!("({count} more: search for them)")
}

pub(crate) fn limit_note(hit: LimitHit) -> String {
    match hit {
        LimitHit::Memory => "[a process was killed: out of memory]".into(),
        LimitHit::Processes => "[a process could not be started: too many processes]".into(),
        LimitHit::Data => format!("[{DATA_FOLDER} is full]"),
    }
}

pub(crate) fn killed_by_timeout(seconds: f64) -> String {
    format!("Error (timeout): killed after {seconds:.1} seconds")
}

pub(crate) const KILLED_FOR_MEMORY: &str = "Error (out of memory): killed";

pub(crate) fn killed_for_output(bytes: u64) -> String {
    format!(
        "Error (too much output): killed after {bytes} bytes; write large results to a file in \
         {DATA_FOLDER}"
    )
}

pub(crate) fn cut_note(shown: usize, total: usize) -> String {
    format!("[cut here: {shown} of {total} bytes shown]")
}

pub(crate) fn cut_lines_note(shown: usize, total: usize, line: usize, lines: usize) -> String {
    format!(
        "[cut here: {shown} of {total} bytes shown, up to line {line} of {lines}; use view_range]"
    )
}

pub(crate) fn reminder(skill: &str) -> String {
    note(format!(
        "The skill `{skill}` is already loaded: its instructions are above. Load it once more to \
         read them again."
    ))
}

pub(crate) fn only_for_people(skill: &str) -> String {
    note(format!(
        "the skill `{skill}` can only be invoked by a person"
    ))
}

pub(crate) fn binary_too_large(path: &str, mime: &str, size: usize, max: usize) -> String {
    note(format!(
        "`{path}` is a binary file ({mime}, {size} bytes) and larger than the {max} bytes that \
         can be shown; read it with code"
    ))
}

pub(crate) fn query_too_long(bytes: usize, max: usize) -> String {
    format!("argument `query` has {bytes} bytes; at most {max} are allowed")
}

pub(crate) fn no_stored_match(query: &str) -> String {
    note(format!("No skill matches {query:?}. Try other words."))
}

pub(crate) fn unknown_stored_skill(name: &str) -> String {
    note(format!(
        "there is no skill `{name}`. Find skills with `search_skills`"
    ))
}

pub(crate) fn too_many_required(skill: &str, max: usize) -> String {
    note(format!(
        "the skill `{skill}` requires more than {max} other skills"
    ))
}

pub(crate) fn missing_argument(name: &str) -> String {
    note(format!("argument `{name}` is missing"))
}

pub(crate) fn not_loaded(tool: &str, skill: &str) -> String {
    note(format!(
        "Error: `{tool}` belongs to the skill `{skill}`; load that skill first"
    ))
}

pub(crate) fn parent_path(path: &str) -> String {
    note(format!("{path:?} contains `..`; write the path without it"))
}

pub(crate) fn path_outside(path: &str) -> String {
    note(format!(
        "{path:?} is not accessible; files are in {DATA_FOLDER} and {SKILLS_FOLDER}"
    ))
}

pub(crate) fn read_only_path(path: &str) -> String {
    note(format!(
        "{path:?} cannot be changed: skills are read-only; copy it to {DATA_FOLDER} first"
    ))
}

pub(crate) fn no_such_file(path: &str) -> String {
    note(format!("there is no file {path}"))
}

pub(crate) fn no_skill_at(path: &str) -> String {
    note(format!("there is no skill at {path}"))
}

pub(crate) fn ambiguous_old_str(path: &str, count: usize) -> String {
    note(format!(
        "`old_str` occurs {count} times in {DATA_FOLDER}/{path}; add surrounding lines until it \
         is unique"
    ))
}

pub(crate) fn missing_old_str(path: &str) -> String {
    note(format!(
        "`old_str` does not occur in {DATA_FOLDER}/{path}; view the file first"
    ))
}

pub(crate) fn not_runnable(path: &str) -> String {
    note(format!(
        "`{path}` cannot be run: it is not executable, and neither its ending (.py, .sh, .bash, \
         .js, .mjs) nor a first line `#!…` names an interpreter"
    ))
}

pub(crate) fn too_many_functions(count: usize, max: usize) -> String {
    format!("it has {count} tools; the limit is {max}")
}

pub(crate) fn wrong_function_name(name: &str) -> String {
    note(format!(
        "{name:?} cannot be the name of a tool: use up to 64 letters, digits, `_` and `-`"
    ))
}

pub(crate) fn wrong_function_schema(name: &str) -> String {
    note(format!(
        "the arguments of `{name}` have no schema of at most 16 KiB"
    ))
}

pub(crate) fn reading_only_note(skill: &str) -> String {
    note(format!(
        "While `{skill}` is active only reading is permitted: its `allowed-tools` cannot be \
         trusted"
    ))
}

pub(crate) fn reading_only_request(skill: &str) -> String {
    note(format!(
        "While you follow `{skill}`, use only tools that read: its `allowed-tools` cannot be \
         trusted"
    ))
}

pub(crate) fn reading_only_error(skill: &str) -> String {
    note(format!(
        "not permitted while the skill `{skill}` is active: its `allowed-tools` cannot be \
         trusted, so only reading is permitted"
    ))
}

pub(crate) fn not_in_skill(error: &impl std::fmt::Display) -> String {
    note(format!("not a valid path inside the skill: {error}"))
}

pub(crate) fn tool_removed(skill: &str, tool: &str) -> String {
    note(format!("the skill `{skill}` no longer has a tool `{tool}`"))
}

pub(crate) fn nul_in_argument(name: &str) -> String {
    note(format!("argument `{name}` contains a NUL character"))
}

pub(crate) fn not_text(path: &str) -> String {
    note(format!("{DATA_FOLDER}/{path} is not UTF-8 text"))
}

pub(crate) fn file_written(path: &str, is_update: bool, size: u64) -> String {
    let done = if is_update { "replaced" } else { "created" };
    note(format!("{DATA_FOLDER}/{path} is {done} ({size} bytes)"))
}

pub(crate) fn empty_folder(path: &str) -> String {
    note(format!("[{path} is empty]"))
}

pub(crate) fn unlisted_files(count: usize) -> String {
    format!("[{count} more files are not listed]")
}

pub(crate) fn no_result(outcome: &CommandOutcome, seconds: f64) -> String {
    match outcome {
        CommandOutcome::Exit(code) => {
            format!("it exited the interpreter (exit={code}) before it returned a result")
        }
        CommandOutcome::Signal(signal) => {
            format!("it was killed by signal {signal} before it returned a result")
        }
        CommandOutcome::Timeout => format!("it timed out after {seconds:.1} seconds"),
        CommandOutcome::OutOfMemory => "it ran out of memory".into(),
        CommandOutcome::OutputFlood => "it wrote too much output".into(),
    }
}

/// Bytes of an error or note with a list of names.
const MAX_LIST_BYTES: usize = 16 << 10;

pub(crate) fn unknown_tool(name: &str, hint: &str, tools: &[String]) -> String {
    let tools = list_names(tools.iter().map(String::as_str), 30);
    let hint = match hint {
        "" => String::new(),
        hint => format!(" {hint}"),
    };
    list(format!(
        "Error: there is no tool `{name}`.{hint} Available: {tools}"
    ))
}

pub(crate) fn unknown_skill<'a>(name: &str, skills: impl Iterator<Item = &'a str>) -> String {
    let skills = list_names(skills, 30);
    list(format!("there is no skill `{name}`. Available: {skills}"))
}

pub(crate) fn missing_requirement(chain: &str) -> String {
    list(format!("a required skill is missing: {chain}"))
}

pub(crate) fn circular_requirement(chain: &str) -> String {
    list(format!(
        "skills that require each other cannot be loaded: {chain}"
    ))
}

pub(crate) fn unknown_argument(name: &str, known: &str) -> String {
    list(format!("unknown argument `{name}`; available: {known}"))
}

pub(crate) fn wrong_argument(name: &str, expected: &str, actual: &str) -> String {
    list(format!(
        "argument `{name}` must be {expected}, not {actual}"
    ))
}

pub(crate) fn unknown_file(place: &str, files: Vec<&str>) -> String {
    list(format!("{place}. Files: {}", list_names(files, 50)))
}

pub(crate) fn no_match(query: &str, skills: usize) -> String {
    list(format!(
        "No skill matches {query:?}. There are {skills} skills; try other words."
    ))
}

pub(crate) fn allowed_request(skill: &str, allowed: &str, unknown: &str) -> String {
    let unknown = unavailable(unknown);
    list(format!(
        "While you follow `{skill}`, use only its `allowed-tools` and tools that read: \
         {allowed}{unknown}"
    ))
}

fn unavailable(tools: &str) -> String {
    match tools {
        "" => String::new(),
        tools => format!(" (not available here: {tools})"),
    }
}

pub(crate) fn allowed_note(skill: &str, allowed: &str, unknown: &str) -> String {
    let unknown = unavailable(unknown);
    list(format!(
        "While `{skill}` is active only its `allowed-tools` are permitted: {allowed}{unknown}"
    ))
}

pub(crate) fn not_allowed(skill: &str, allowed: &str, reason: Option<&str>) -> String {
    let reason = reason
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    list(format!(
        "not permitted while the skill `{skill}` is active: its `allowed-tools` are \
         {allowed}{reason}"
    ))
}

pub(crate) fn tools_note(tools: &[String]) -> String {
    let tools = list_names(tools.iter().map(String::as_str), 100);
    list(format!("Tools now available: {tools}"))
}

/// Bytes of a text that quotes output of a skill's code.
const MAX_OUTPUT_BYTES: usize = 64 << 10;

pub(crate) fn problem_note(problem: &str) -> String {
    output(format!("Problem with {problem}"))
}

pub(crate) fn not_loadable(tool: &str, skill: &str, problems: &[String]) -> String {
    let why = problems.join("; ");
    output(format!(
        "Error: the skill `{skill}` of `{tool}` cannot be loaded: {why}"
    ))
}

pub(crate) fn functions_missing(why: &str) -> String {
    output(format!("the tools of its tools.py are missing: {why}"))
}

pub(crate) fn tools_left_out(count: usize) -> String {
    note(format!(
        "{count} of its tools are left out: the skills have more tools than one session can have"
    ))
}

pub(crate) fn import_failed(traceback: &str) -> String {
    output(format!("importing it failed:\n{traceback}"))
}

fn note(text: String) -> String {
    bounded(text, MAX_NOTE_BYTES)
}

fn list(text: String) -> String {
    bounded(text, MAX_LIST_BYTES)
}

fn output(text: String) -> String {
    bounded(text, MAX_OUTPUT_BYTES)
}

fn bounded(text: String, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    cut_end(&text, max_bytes - '…'.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_stay_within_their_caps() {
        let written = [
            bash_description(),
            editor_description(),
            python_description(),
        ];
        let fixed = [
            LOAD_SKILL,
            LOAD_SKILL_BRIEF,
            LIST_SKILLS,
            SEARCH_SKILLS,
            READ_RESOURCE,
            RUN_SCRIPT,
        ];
        for text in written.iter().map(String::as_str).chain(fixed) {
            assert!(text.len() <= MAX_DESCRIPTION_BYTES, "{text}");
        }
        let path = editor_path();
        for text in [
            SKILL_NAME,
            SKILL_FILE,
            OPTIONAL_SKILL_FILE,
            SEARCH_QUERY,
            SEARCH_LIMIT,
            RESOURCE_PATH,
            SCRIPT_PATH,
            SCRIPT_ARGUMENTS,
            COMMAND_LINE,
            PYTHON_CODE,
            VIEW_RANGE,
            FILE_TEXT,
            OLD_STR,
            NEW_STR,
            &path,
        ] {
            assert!(text.len() <= MAX_ARGUMENT_BYTES, "{text}");
        }
    }

    #[test]
    fn notes_stay_within_their_cap() {
        let long = "ü".repeat(MAX_NOTE_BYTES);
        let hits = [LimitHit::Memory, LimitHit::Processes, LimitHit::Data];
        let mut texts: Vec<String> = hits.into_iter().map(limit_note).collect();
        texts.extend(
            [
                NO_SKILLS,
                NO_OUTPUT,
                NO_EXIT,
                NO_SANDBOX,
                WRONG_LIMIT,
                WRONG_PATH,
                WRONG_ARGS,
                WRONG_RANGE,
                EMPTY_QUERY,
                EMPTY_OLD_STR,
                NO_FUNCTIONS,
                DESCRIPTIONS_TOO_LONG,
                SUBSTITUTION,
                REDIRECTION,
                COMMAND_GROUP,
                KILLED_FOR_MEMORY,
            ]
            .map(str::to_owned),
        );
        texts.extend([
            expired_note(),
            packages_note(&long),
            packages_remark(&long),
            omitted_skills(usize::MAX),
            killed_by_timeout(1e9),
            killed_for_output(u64::MAX),
            cut_note(usize::MAX, usize::MAX),
            cut_lines_note(usize::MAX, usize::MAX, usize::MAX, usize::MAX),
            reminder(&long),
            only_for_people(&long),
            binary_too_large(&long, "image/png", usize::MAX, usize::MAX),
            missing_argument(&long),
            query_too_long(usize::MAX, usize::MAX),
            no_stored_match(&long),
            unknown_stored_skill(&long),
            too_many_required(&long, usize::MAX),
            not_loaded(&long, &long),
            parent_path(&long),
            path_outside(&long),
            read_only_path(&long),
            no_such_file(&long),
            no_skill_at(&long),
            ambiguous_old_str(&long, 2),
            missing_old_str(&long),
            not_runnable(&long),
            too_many_functions(usize::MAX, usize::MAX),
            wrong_function_name(&long),
            wrong_function_schema(&long),
            reading_only_note(&long),
            reading_only_request(&long),
            reading_only_error(&long),
            not_in_skill(&long),
            tool_removed(&long, &long),
            nul_in_argument(&long),
            not_text(&long),
            file_written(&long, true, u64::MAX),
            empty_folder(&long),
            unlisted_files(usize::MAX),
            tools_left_out(usize::MAX),
            no_result(&CommandOutcome::Exit(i32::MIN), 1.0),
            no_result(&CommandOutcome::Timeout, 1e9),
        ]);
        for text in texts {
            assert!(text.len() <= MAX_NOTE_BYTES, "{text}");
        }
    }

    #[test]
    fn lists_and_quoted_output_stay_within_their_caps() {
        let long = "ü".repeat(MAX_LIST_BYTES);
        let names = vec![long.clone(); 3];
        for text in [
            unknown_tool(&long, &long, &names),
            unknown_skill(&long, names.iter().map(String::as_str)),
            missing_requirement(&long),
            circular_requirement(&long),
            unknown_argument(&long, &long),
            wrong_argument(&long, &long, &long),
            unknown_file(&long, vec![&long]),
            no_match(&long, 1),
            allowed_note(&long, &long, &long),
            allowed_request(&long, &long, &long),
            not_allowed(&long, &long, Some(&long)),
            tools_note(&names),
        ] {
            assert!(text.len() <= MAX_LIST_BYTES, "{} bytes", text.len());
        }
        let long = "ü".repeat(MAX_OUTPUT_BYTES);
        for text in [
            problem_note(&long),
            not_loadable("t", "s", std::slice::from_ref(&long)),
            functions_missing(&long),
            import_failed(&long),
        ] {
            assert!(text.len() <= MAX_OUTPUT_BYTES, "{} bytes", text.len());
        }
    }
}
