//! The tools a skill asks for, against those it uses.

use super::Facts;
use crate::scan::collector::Collector;
use crate::scan::finding::{Confidence, Severity, Weight};
use crate::scan::rule::Rule;
use crate::scan::subject::Subject;

pub(crate) static TOOL_MISMATCH: Rule = Rule {
    id: "TOOL-MISMATCH",
    title: "Declared tools do not fit",
    description: "`allowed-tools` pre-approves more than any skill needs, or leaves out what the \
                  skill's own scripts and commands use.",
    severity: Severity::Low,
    help: "Name the tools the skill uses, each as narrowly as it works.",
    hostile: false,
};

/// Compares `allowed-tools` with what the files show.
pub(crate) fn check(subject: &Subject<'_>, facts: &Facts, log: &mut Collector<'_>) {
    let Some(tools) = &subject.allowed_tools else {
        return;
    };
    for tool in tools {
        if let Some((severity, message)) = too_wide(tool) {
            let weight = Weight(severity, Confidence::High);
            log.whole(&TOOL_MISMATCH, subject.skill_file, weight, tool, message);
        }
    }
    let any = |names: &[&str]| {
        tools.iter().any(|tool| {
            let tool = tool.to_ascii_lowercase();
            tool == "*" || names.iter().any(|name| tool.contains(name))
        })
    };
    let runs = any(&[
        "bash", "shell", "exec", "terminal", "run", "python", "code", "mcp", "task", "command",
        "process",
    ]);
    let lower = Weight(Severity::Low, Confidence::Medium);
    if let (false, Some(script)) = (runs, &facts.script) {
        let message = "The skill has scripts but declares no tool that could run one";
        log.whole(&TOOL_MISMATCH, subject.skill_file, lower, script, message);
    } else if !runs && facts.commands {
        let message = "The skill shows shell commands but declares no tool that could run one";
        let weight = Weight(Severity::Info, Confidence::Low);
        log.whole(
            &TOOL_MISMATCH,
            subject.skill_file,
            weight,
            "allowed-tools",
            message,
        );
    }
    if let (false, Some(script)) = (
        runs || any(&["web", "fetch", "http", "browser"]),
        &facts.network,
    ) {
        let message = "A script uses the network, which no declared tool allows";
        log.whole(
            &TOOL_MISMATCH,
            subject.skill_file,
            Weight(Severity::Medium, Confidence::Medium),
            script,
            message,
        );
    }
}

fn too_wide(tool: &str) -> Option<(Severity, &'static str)> {
    let tight: String = tool.chars().filter(|c| !c.is_whitespace()).collect();
    match tight.as_str() {
        "*" | "all" | "mcp__*" => Some((Severity::Medium, "Pre-approves every tool there is")),
        "Bash(*)" | "Bash(:*)" | "Bash(*:*)" | "Bash(sudo:*)" | "Bash(sudo*)" => {
            Some((Severity::Medium, "Pre-approves every shell command"))
        }
        "Bash" => Some((Severity::Low, "Pre-approves every shell command")),
        "Bash(curl:*)" | "Bash(wget:*)" | "Bash(rm:*)" | "Bash(eval:*)" | "Bash(sh:*)"
        | "Bash(bash:*)" => Some((
            Severity::Low,
            "Pre-approves a command that can do almost anything",
        )),
        _ => None,
    }
}
