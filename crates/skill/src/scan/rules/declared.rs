//! Commands that a host would run by itself when it loads the skill.

use crate::scan::collector::Collector;
use crate::scan::finding::{Confidence, Severity, Weight};
use crate::scan::layout::{Role, Roles};
use crate::scan::pattern::Pattern;
use crate::scan::rule::Rule;
use crate::scan::subject::Subject;
use crate::scan::weigh::Hit;

pub(crate) static EXEC_DECL: Rule = Rule {
    id: "EXEC-DECL",
    title: "Declares code that runs by itself",
    description: "Hooks in the frontmatter, commands that are replaced by their output when the \
                  body is read, install scripts, test set-up and similar files run without anyone \
                  asking for them, on the host rather than in a sandbox.",
    severity: Severity::High,
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
    .on(Roles(Role::Prose as u8))
    .weight(Severity::High, Confidence::Medium)
    .weigh(reading)
    .example("SKILL.md", "State: !`./collect.sh`"),
    Pattern::new(
        &EXEC_DECL,
        "A code block that some hosts run while reading the skill",
        &["```!", "~~~!"],
        r"^[ \t]*(?:```+|~~~+)!",
    )
    .on(Roles(Role::Block as u8))
    .weight(Severity::High, Confidence::High)
    .example("SKILL.md", "```!\n./collect.sh\n```"),
];

/// Commands that only look at the working folder and the tools are mild.
fn reading(hit: &Hit<'_>) -> Option<Weight> {
    let text = hit.text();
    let command = text
        .split_once('`')
        .map_or("", |(_, rest)| rest.trim_end_matches('`').trim());
    if only_looks(command) {
        return Some(Weight(Severity::Low, Confidence::Medium));
    }
    // One word in backticks after an exclamation mark is most often typography.
    if !command.contains([' ', '/']) {
        return Some(Weight(Severity::Low, Confidence::Low));
    }
    Some(hit.weight)
}

fn only_looks(command: &str) -> bool {
    const LOOKING: &[&str] = &[
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
        LOOKING.iter().any(|start| part.starts_with(start)) || part.ends_with("--version")
    };
    !substitutes
        && quiet
            .split(['|', '&', ';'])
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .all(looks)
}

/// Looks at the keys of the frontmatter.
pub(crate) fn check(subject: &Subject<'_>, log: &mut Collector<'_>) {
    if subject.frontmatter_keys.contains(&"hooks") {
        let weight = Weight(Severity::High, Confidence::High);
        let message = "The frontmatter declares hooks, which are commands for the host to run";
        log.whole(&EXEC_DECL, subject.skill_file, weight, "hooks:", message);
    }
}
