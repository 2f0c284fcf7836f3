//! Names that borrow somebody else's reputation.

use crate::scan::collector::FindingCollector;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::rule::ScanRule;
use crate::scan::similar::differs_by_one_slip;
use crate::scan::subject::Subject;

pub(crate) static IMPERSONATE: ScanRule = ScanRule {
    id: "IMPERSONATE",
    title: "Imitates another author's skill",
    description: "A name that is almost that of a well-known skill, a reserved brand in the name, \
                  or a claim to be official makes users and models trust the wrong author.",
    severity: ScanSeverity::High,
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
pub(crate) fn check(subject: &Subject<'_>, log: &mut FindingCollector<'_>) {
    if let Some(name) = subject.name {
        let name = name.to_lowercase();
        check_near_known(subject, &name, log);
        check_reserved(subject, &name, log);
    }
    if let Some(description) = subject.description {
        check_official(subject, &description.to_lowercase(), log);
    }
}

fn check_near_known(subject: &Subject<'_>, name: &str, log: &mut FindingCollector<'_>) {
    if WELL_KNOWN.contains(&name) {
        return;
    }
    let squeezed = name.replace(['-', '_'], "");
    let near =
        |known: &&&str| differs_by_one_slip(name, known) || squeezed == known.replace('-', "");
    if let Some(known) = WELL_KNOWN.iter().find(near) {
        let message = format!("The name differs by a typo from the well-known `{known}`");
        log.report_file(
            &IMPERSONATE,
            subject.skill_file,
            FindingWeight(ScanSeverity::High, Confidence::Medium),
            name,
            message,
        );
    }
}

fn check_reserved(subject: &Subject<'_>, name: &str, log: &mut FindingCollector<'_>) {
    let words: Vec<&str> = name.split(['-', '_']).collect();
    if let Some(word) = RESERVED.iter().find(|word| words.contains(*word)) {
        let message = format!("The name contains the reserved word `{word}`");
        log.report_file(
            &IMPERSONATE,
            subject.skill_file,
            FindingWeight(ScanSeverity::Low, Confidence::Medium),
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
        log.report_file(
            &IMPERSONATE,
            subject.skill_file,
            FindingWeight(ScanSeverity::Medium, Confidence::Medium),
            name,
            message,
        );
    }
}

fn check_official(subject: &Subject<'_>, description: &str, log: &mut FindingCollector<'_>) {
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
            log.report_file(
                &IMPERSONATE,
                subject.skill_file,
                FindingWeight(ScanSeverity::High, Confidence::Medium),
                claim,
                message,
            );
        }
    }
}
