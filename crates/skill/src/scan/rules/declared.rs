//! Commands that a host would run by itself when it loads the skill.

use crate::scan::collector::FindingCollector;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::layout::{TextRole, TextRoles};
use crate::scan::pattern::Pattern;
use crate::scan::rule::ScanRule;
use crate::scan::subject::Subject;
use crate::scan::weigh::Hit;

pub(crate) static EXEC_DECL: ScanRule = ScanRule {
    id: "EXEC-DECL",
    title: "Declares code that runs automatically",
    description: "Hooks in the frontmatter, commands that are replaced by their output when the \
                  body is read, install scripts, test set-up and similar files run without anyone \
                  asking for them, on the host rather than in a sandbox.",
    severity: ScanSeverity::High,
    help: "Let the model call a script when it is needed instead of having a host run it.",
    hostile: false,
};

pub(crate) const PATTERNS: &[Pattern] = &[
    Pattern::new(
        &EXEC_DECL,
        "A command that some hosts run while reading the skill",
        &["!`"],
        r"(?:^|[\s:(\[>|*])!`[^`\n]+`",
    )
    .in_roles(TextRoles(TextRole::Prose as u8))
    .weight(ScanSeverity::High, Confidence::Medium)
    .weigh_with(weigh_reading)
    .example("SKILL.md", "State: !`./collect.sh`"),
    Pattern::new(
        &EXEC_DECL,
        "A code block that some hosts run while reading the skill",
        &["```!", "~~~!"],
        r"^[ \t]*(?:```+|~~~+)!",
    )
    .in_roles(TextRoles(TextRole::Block as u8))
    .weight(ScanSeverity::High, Confidence::High)
    .example("SKILL.md", "```!\n./collect.sh\n```"),
];

/// Commands that only look at the working folder and the tools are mild.
fn weigh_reading(hit: &Hit<'_>) -> Option<FindingWeight> {
    let text = hit.text();
    let command = text
        .split_once('`')
        .map_or("", |(_, rest)| rest.trim_end_matches('`').trim());
    if is_read_only(command) {
        return Some(FindingWeight(ScanSeverity::Low, Confidence::Medium));
    }
    // One word in backticks after an exclamation mark is most often typography.
    if !command.contains([' ', '/']) {
        return Some(FindingWeight(ScanSeverity::Low, Confidence::Low));
    }
    Some(hit.weight)
}

fn is_read_only(command: &str) -> bool {
    const READ_ONLY_COMMANDS: &[&str] = &[
        "git status",
        "git diff",
        "git log",
        "git branch",
        "git rev-parse",
        "git remote",
        "git show",
        "git config --get",
        "git ls-files",
        "gh pr view",
        "gh pr diff",
        "gh pr list",
        "gh issue",
        "gh repo view",
        "gh auth status",
        "ls",
        "pwd",
        "date",
        "find ",
        "cat ",
        "head",
        "tail",
        "which ",
        "wc",
        "test -",
        "echo ",
        "uname",
        "npm list",
        "pip show",
        "pip list",
        "pip freeze",
        "grep",
        "sort",
        "whoami",
        "command grep",
        "command -v",
        "true",
        "[ -",
    ];
    let quiet = command.replace("2>/dev/null", "").replace("2>&1", "");
    let substitutes = quiet.contains("$(") || quiet.contains('>') || quiet.contains("-exec");
    let looks = |part: &str| {
        READ_ONLY_COMMANDS
            .iter()
            .any(|start| part.starts_with(start))
            || part.ends_with("--version")
    };
    !substitutes
        && quiet
            .split(['|', '&', ';'])
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .all(looks)
}

/// Looks at the keys of the frontmatter.
pub(crate) fn check(subject: &Subject<'_>, log: &mut FindingCollector<'_>) {
    if subject.frontmatter_keys.contains(&"hooks") {
        let weight = FindingWeight(ScanSeverity::High, Confidence::High);
        let message = "The frontmatter declares hooks, which are commands for the host to run";
        log.report_file(&EXEC_DECL, subject.skill_file, weight, "hooks:", message);
    }
}
