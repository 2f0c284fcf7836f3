//! Compares the tools that a skill declares with those it uses.

use super::SkillFacts;
use crate::scan::collector::FindingCollector;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::rule::ScanRule;
use crate::scan::subject::Subject;

pub(crate) static TOOL_MISMATCH: ScanRule = ScanRule {
    id: "TOOL-MISMATCH",
    title: "Declared tools do not match",
    description: "`allowed-tools` pre-approves more than any skill needs, or leaves out what the \
                  skill's own scripts and commands use.",
    severity: ScanSeverity::Low,
    help: "Name the tools the skill uses, each as narrowly as it works.",
    hostile: false,
};

/// Compares `allowed-tools` with what the files show.
pub(crate) fn check(subject: &Subject<'_>, facts: &SkillFacts, log: &mut FindingCollector<'_>) {
    let Some(tools) = &subject.allowed_tools else {
        return;
    };
    for tool in tools {
        if let Some((severity, message)) = too_wide(tool) {
            let weight = FindingWeight(severity, Confidence::High);
            log.report_file(&TOOL_MISMATCH, subject.skill_file, weight, tool, message);
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
    let lower = FindingWeight(ScanSeverity::Low, Confidence::Medium);
    if let (false, Some(script)) = (runs, &facts.script) {
        let message = "The skill has scripts but declares no tool that could run one";
        log.report_file(&TOOL_MISMATCH, subject.skill_file, lower, script, message);
    } else if !runs && facts.commands {
        let message = "The skill shows shell commands but declares no tool that could run one";
        let weight = FindingWeight(ScanSeverity::Info, Confidence::Low);
        log.report_file(
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
        log.report_file(
            &TOOL_MISMATCH,
            subject.skill_file,
            FindingWeight(ScanSeverity::Medium, Confidence::Medium),
            script,
            message,
        );
    }
}

fn too_wide(tool: &str) -> Option<(ScanSeverity, &'static str)> {
    let tight: String = tool.chars().filter(|c| !c.is_whitespace()).collect();
    match tight.as_str() {
        "*" | "all" | "mcp__*" => Some((ScanSeverity::Medium, "Pre-approves every tool")),
        "Bash(*)" | "Bash(:*)" | "Bash(*:*)" | "Bash(sudo:*)" | "Bash(sudo*)" => {
            Some((ScanSeverity::Medium, "Pre-approves every shell command"))
        }
        "Bash" => Some((ScanSeverity::Low, "Pre-approves every shell command")),
        "Bash(curl:*)" | "Bash(wget:*)" | "Bash(rm:*)" | "Bash(eval:*)" | "Bash(sh:*)"
        | "Bash(bash:*)" => Some((
            ScanSeverity::Low,
            "Pre-approves a command that can do almost anything",
        )),
        _ => None,
    }
}
