//! Names that borrow somebody else's reputation.

use crate::scan::collector::Collector;
use crate::scan::finding::{Confidence, Severity, Weight};
use crate::scan::rule::Rule;
use crate::scan::similar::one_slip;
use crate::scan::subject::Subject;

pub(crate) static IMPERSONATE: Rule = Rule {
    id: "IMPERSONATE",
    title: "Poses as somebody else's skill",
    description: "A name that is almost that of a well-known skill, a reserved brand in the name, \
                  or a claim to be official makes users and models trust the wrong author.",
    severity: Severity::High,
    help: "Choose a name of your own, and leave claims of origin to signatures.",
    hostile: false,
};

/// Skills that many install by name.
const WELL_KNOWN: &[&str] = &[
    "algorithmic-art",
    "brand-guidelines",
    "canvas-design",
    "doc-coauthoring",
    "frontend-design",
    "internal-comms",
    "mcp-builder",
    "skill-creator",
    "slack-gif-creator",
    "template-skill",
    "theme-factory",
    "web-artifacts-builder",
    "webapp-testing",
    "web-design-guidelines",
    "vercel-react-best-practices",
    "systematic-debugging",
    "test-driven-development",
    "find-skills",
    "agent-browser",
    "skill-installer",
    "remotion-best-practices",
    "code-review",
    "gh-fix-ci",
];

/// Words a name may not carry, by the rules of the large hosts.
const RESERVED: &[&str] = &["anthropic", "claude"];

const BRANDS: &[&str] = &[
    "anthropic",
    "openai",
    "claude",
    "google",
    "microsoft",
    "github",
    "stripe",
    "vercel",
    "aws",
    "slack",
    "notion",
];

/// Looks at name and description.
pub(crate) fn check(subject: &Subject<'_>, log: &mut Collector<'_>) {
    if let Some(name) = subject.name {
        let name = name.to_lowercase();
        near_known(subject, &name, log);
        reserved(subject, &name, log);
    }
    if let Some(description) = subject.description {
        official(subject, &description.to_lowercase(), log);
    }
}

fn near_known(subject: &Subject<'_>, name: &str, log: &mut Collector<'_>) {
    if WELL_KNOWN.contains(&name) {
        return;
    }
    let squeezed = name.replace(['-', '_'], "");
    let near = |known: &&&str| one_slip(name, known) || squeezed == known.replace('-', "");
    if let Some(known) = WELL_KNOWN.iter().find(near) {
        let message = format!("The name is one slip away from the well-known `{known}`");
        log.whole(
            &IMPERSONATE,
            subject.skill_file,
            Weight(Severity::High, Confidence::Medium),
            name,
            message,
        );
    }
}

fn reserved(subject: &Subject<'_>, name: &str, log: &mut Collector<'_>) {
    let words: Vec<&str> = name.split(['-', '_']).collect();
    if let Some(word) = RESERVED.iter().find(|word| words.contains(*word)) {
        let message = format!("The name carries the reserved word `{word}`");
        log.whole(
            &IMPERSONATE,
            subject.skill_file,
            Weight(Severity::Low, Confidence::Medium),
            name,
            message,
        );
    }
    let ends = [words.first(), words.last()];
    if ends
        .into_iter()
        .flatten()
        .any(|word| matches!(*word, "official" | "verified"))
    {
        let message = "The name claims to be official";
        log.whole(
            &IMPERSONATE,
            subject.skill_file,
            Weight(Severity::Medium, Confidence::Medium),
            name,
            message,
        );
    }
}

fn official(subject: &Subject<'_>, description: &str, log: &mut Collector<'_>) {
    for brand in BRANDS {
        let claims = [
            format!("official {brand} skill"),
            format!("verified by {brand}"),
            format!("approved by {brand}"),
            format!("official skill by {brand}"),
            format!("official skill from {brand}"),
            format!("endorsed by {brand}"),
        ];
        if let Some(claim) = claims.iter().find(|claim| description.contains(*claim)) {
            let message = "The description claims somebody's approval";
            log.whole(
                &IMPERSONATE,
                subject.skill_file,
                Weight(Severity::High, Confidence::Medium),
                claim,
                message,
            );
        }
    }
}
