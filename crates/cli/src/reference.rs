//! `prowess validate | read-properties | to-prompt`: the reference validator's commands,
//! with the same output byte for byte, also when called by the reference's name.
//!
//! Help and messages are those of the reference's command line, so scripts written for it
//! keep working. `prowess skill validate` explains more.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use prowess_skill::BundleLimits;
use prowess_skill::frontmatter::SourceText;
use prowess_skill::reference::{self, SkillProperties};

use super::{Exit, output, paths};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A skill's folder, or its SKILL.md
    #[arg(value_name = "SKILL_PATH", value_parser = paths::lenient_parser())]
    pub(super) paths: Vec<OsString>,
}

/// The names under which the reference validator is installed.
const ALIASES: [&str; 2] = ["agentskills", "skills-ref"];

/// The reference's name, if this program was called by it.
pub(super) fn alias(args: &[OsString]) -> Option<&'static str> {
    let name = Path::new(args.first()?).file_stem()?;
    ALIASES.into_iter().find(|alias| name == OsStr::new(alias))
}

/// Runs as the reference: only its commands.
pub(super) fn main(program: &str, args: &[OsString]) -> anyhow::Result<Exit> {
    let (verb, paths) = args
        .split_first()
        .map_or((None, args), |(v, rest)| (v.to_str(), rest));
    match verb {
        Some("validate") => validate(program, paths),
        Some("read-properties") => read_properties(program, paths),
        Some("to-prompt") => to_prompt(program, paths),
        Some("--version") => {
            output::print_text(&format!("{program}, version {}\n", super::VERSION))?;
            Ok(Exit::Ok)
        }
        Some("--help") => {
            output::print_text(&help_text(program))?;
            Ok(Exit::Ok)
        }
        Some(other) => {
            let kind = if other.starts_with('-') {
                "option"
            } else {
                "command"
            };
            output::print_remark(&format!(
                "Usage: {program} [OPTIONS] COMMAND [ARGS]...\nTry '{program} --help' for help.\n\nError: No such {kind} '{other}'."
            ));
            Ok(Exit::Usage)
        }
        None => {
            output::print_remark(help_text(program).trim_end());
            Ok(Exit::Usage)
        }
    }
}

fn help_text(program: &str) -> String {
    format!(
        "Usage: {program} [OPTIONS] COMMAND [ARGS]...\n\n  Reference library for Agent Skills.\n\nOptions:\n  --version  Show the version and exit.\n  --help     Show this message and exit.\n\nCommands:\n  read-properties  Read and print skill properties as JSON.\n  to-prompt        Generate <available_skills> XML for agent prompts.\n  validate         Validate a skill directory.\n"
    )
}

/// `validate SKILL_PATH`
pub(super) fn validate(program: &str, paths: &[OsString]) -> anyhow::Result<Exit> {
    let path = match one_path(paths) {
        Ok(path) => path,
        Err(problem) => return usage_error(program, "validate", "SKILL_PATH", &problem),
    };
    let folder = skill_folder(&path);
    let errors = validation_errors(&folder);
    if errors.is_empty() {
        output::print_text(&format!("Valid skill: {folder}\n"))?;
        return Ok(Exit::Ok);
    }
    let lines: Vec<String> = errors.iter().map(|error| format!("  - {error}")).collect();
    output::print_remark(&format!(
        "Validation failed for {folder}:\n{}",
        lines.join("\n")
    ));
    Ok(Exit::Problems)
}

/// `read-properties SKILL_PATH`
pub(super) fn read_properties(program: &str, paths: &[OsString]) -> anyhow::Result<Exit> {
    let path = match one_path(paths) {
        Ok(path) => path,
        Err(problem) => return usage_error(program, "read-properties", "SKILL_PATH", &problem),
    };
    match properties(&skill_folder(&path)) {
        Ok((properties, _)) => {
            output::print_text(&format!("{}\n", python_json(&properties.json)?))?;
            Ok(Exit::Ok)
        }
        Err(message) => {
            output::print_remark(&format!("Error: {message}"));
            Ok(Exit::Problems)
        }
    }
}

/// `to-prompt SKILL_PATHS...`
pub(super) fn to_prompt(program: &str, paths: &[OsString]) -> anyhow::Result<Exit> {
    let problem = match paths {
        [] => Some("Missing argument 'SKILL_PATHS...'.".to_owned()),
        _ => paths
            .iter()
            .find_map(|path| missing_path_error(path, "SKILL_PATHS...")),
    };
    if let Some(problem) = problem {
        return usage_error(program, "to-prompt", "SKILL_PATHS...", &problem);
    }
    let mut skills = Vec::new();
    for path in paths {
        let folder = skill_folder(&path.to_string_lossy());
        let resolved =
            std::fs::canonicalize(&folder).map_or(folder, |path| path.display().to_string());
        match properties(&resolved) {
            Ok(found) => skills.push(found),
            Err(message) => {
                output::print_remark(&format!("Error: {message}"));
                return Ok(Exit::Problems);
            }
        }
    }
    let prompt = reference::prompt(skills.iter().map(|(p, location)| (p, location.as_str())));
    output::print_text(&format!("{prompt}\n"))?;
    Ok(Exit::Ok)
}

fn one_path(paths: &[OsString]) -> Result<String, String> {
    match paths {
        [] => Err("Missing argument 'SKILL_PATH'.".into()),
        [path] => match missing_path_error(path, "SKILL_PATH") {
            None => Ok(path.to_string_lossy().into_owned()),
            Some(problem) => Err(problem),
        },
        [_, more @ ..] => {
            let s = if more.len() == 1 { "" } else { "s" };
            let more: Vec<_> = more.iter().map(|path| path.to_string_lossy()).collect();
            Err(format!(
                "Got unexpected extra argument{s} ({})",
                more.join(" ")
            ))
        }
    }
}

fn missing_path_error(path: &OsString, parameter: &str) -> Option<String> {
    let missing = !Path::new(path).exists();
    let path = path.to_string_lossy();
    missing.then(|| format!("Invalid value for '{parameter}': Path '{path}' does not exist."))
}

fn usage_error(program: &str, verb: &str, parameter: &str, problem: &str) -> anyhow::Result<Exit> {
    output::print_remark(&format!(
        "Usage: {program} {verb} [OPTIONS] {parameter}\nTry '{program} {verb} --help' for help.\n\nError: {problem}"
    ));
    Ok(Exit::Usage)
}

/// The skill's folder; for a SKILL.md the folder that contains it. Written as the reference
/// writes paths.
fn skill_folder(path: &str) -> String {
    let normal = python_path(path);
    let is_skill_file =
        Path::new(&normal).is_file() && file_name(&normal).to_lowercase() == "skill.md";
    if !is_skill_file {
        return normal;
    }
    match normal.rsplit_once('/') {
        Some(("", _)) => "/".into(),
        Some((parent, _)) => parent.into(),
        None => ".".into(),
    }
}

/// A path without empty and `.` parts, as Python prints it.
fn python_path(path: &str) -> String {
    let root = match path {
        path if path.starts_with("//") && !path.starts_with("///") => "//",
        path if path.starts_with('/') => "/",
        _ => "",
    };
    let parts: Vec<_> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let normal = format!("{root}{}", parts.join("/"));
    if normal.is_empty() {
        ".".into()
    } else {
        normal
    }
}

/// The last part of a path, as the reference names a folder: nothing for `.`.
fn file_name(path: &str) -> &str {
    match path.rsplit('/').next() {
        Some(".") | None => "",
        Some(name) => name,
    }
}

fn validation_errors(folder: &str) -> Vec<String> {
    if !Path::new(folder).is_dir() {
        return vec![format!("Not a directory: {folder}")];
    }
    let Some(file) = find_skill_md(folder) else {
        return vec!["Missing required file: SKILL.md".into()];
    };
    let errors = match read_source(&file) {
        Ok(source) => reference::validate(source, file_name(folder), &BundleLimits::default()),
        Err(message) => return vec![message],
    };
    errors.iter().map(ToString::to_string).collect()
}

fn properties(folder: &str) -> Result<(SkillProperties, String), String> {
    let Some(file) = find_skill_md(folder) else {
        return Err(format!("SKILL.md not found in {folder}"));
    };
    let properties = reference::properties(read_source(&file)?, &BundleLimits::default());
    Ok((properties.map_err(|error| error.to_string())?, file))
}

fn find_skill_md(folder: &str) -> Option<String> {
    let folder = if folder == "." { "" } else { folder };
    let names = ["SKILL.md", "skill.md"].map(|name| match folder {
        "" => name.to_owned(),
        _ if folder.ends_with('/') => format!("{folder}{name}"),
        _ => format!("{folder}/{name}"),
    });
    names.into_iter().find(|path| Path::new(path).exists())
}

/// The reference crashes on unreadable files; here that is an ordinary error.
fn read_source(file: &str) -> Result<SourceText, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{file} cannot be read: {error}"))?;
    SourceText::decode(&bytes).map_err(|error| {
        format!(
            "{file} is not UTF-8: line {}, byte offset {}",
            error.line, error.offset
        )
    })
}

/// JSON as Python writes it: indented by two, non-ASCII characters escaped.
fn python_json(value: &impl serde::Serialize) -> anyhow::Result<String> {
    let pretty = serde_json::to_string_pretty(value)?;
    let mut out = String::with_capacity(pretty.len());
    for c in pretty.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_python_writes_them() {
        for (path, shown, name) in [
            ("a/b/", "a/b", "b"),
            ("./a//b/.", "a/b", "b"),
            (".", ".", ""),
            ("", ".", ""),
            ("..", "..", ".."),
            ("/", "/", ""),
            ("//x", "//x", "x"),
            ("///x", "/x", "x"),
        ] {
            assert_eq!(python_path(path), shown, "{path}");
            assert_eq!(file_name(shown), name, "{path}");
        }
    }

    #[test]
    fn json_is_ascii() {
        assert_eq!(python_json(&"é😀").unwrap(), "\"\\u00e9\\ud83d\\ude00\"");
    }
}
