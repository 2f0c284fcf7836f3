//! Code of others that the skill pulls in.

use std::ops::Range;

use super::dependency_names::{self as names, imitated_package};
use super::manifest;
use crate::scan::collector::FindingCollector;
use crate::scan::coverage::GapReason;
use crate::scan::evidence;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::layout::{Lang, TextRoles};
use crate::scan::pattern::Pattern;
use crate::scan::rule::ScanRule;
use crate::scan::view::{FileKind, FileView};
use crate::scan::weigh::{self, Hit};

pub(crate) static DEP: ScanRule = ScanRule {
    id: "DEP",
    title: "Risky dependency",
    description: "Packages without a version, from a repository, an address or another index, or \
                  named like a well-known package with a typo, can change or turn malicious \
                  without any change to the skill.",
    severity: ScanSeverity::Medium,
    help: "Pin exact versions from the official index, and check the spelling of names.",
    hostile: false,
};

/// Packages of one manifest that are looked at.
const MANY_PACKAGES: usize = 1_000;

const COMMANDS: &[Lang] = &[Lang::Shell, Lang::Unknown, Lang::PowerShell, Lang::Python];

pub(crate) const PATTERNS: &[Pattern] = &[
    Pattern::new(
        &DEP,
        "Installs from a repository or an address instead of an index",
        &["git+", "install http", "add http", "github:", "npx http", "install -e git"],
        r"\b(?:pip3?|uv|pipx|poetry)\s[^\n]{0,80}\b(?:install|add|run)\s[^\n]{0,120}(?:git\+(?:https?|ssh)://|https?://)\S+|\b(?:npm|pnpm|yarn|bun)\s+(?:i|install|add)\s[^\n]{0,80}(?:git\+|https?://|github:)\S+|\b(?:npx|bunx|uvx)\s[^\n]{0,60}(?:git\+|github:|https?://)\S+",
    )
    .in_roles(TextRoles::CODE)
    .weight(ScanSeverity::Medium, Confidence::Medium)
    .weigh_with(weigh_pinned_commit)
    .example("a.sh", "pip install git+https://github.com/someone/tool"),
    Pattern::new(
        &DEP,
        "Installs from another package index",
        &["index-url", "--registry"],
        r"--(?:extra-)?index-url[= ]\S+|\b(?:npm|pnpm|yarn)\s[^\n]{0,80}--registry[= ]\S+",
    )
    .weight(ScanSeverity::Low, Confidence::Medium)
    .weigh_with(weigh_other_index)
    .example("requirements.txt", "--extra-index-url http://pkgs.example.net/simple\n"),
    Pattern::new(
        &DEP,
        "Installs packages without a version",
        &["pip install", "pip3 install", "uv pip install", "uv add"],
        r"\b(?:pip3?|uv\s+pip)\s+install\s+[^\n#;&|]{1,200}|\buv\s+add\s+[^\n#;&|]{1,200}",
    )
    .in_roles(TextRoles::CODE)
    .in_langs(COMMANDS)
    .weight(ScanSeverity::Info, Confidence::Medium)
    .weigh_with(weigh_python_install)
    .example("a.sh", "pip install requests"),
    Pattern::new(
        &DEP,
        "Installs a package whose name imitates a well-known one",
        &["pip install", "pip3 install", "uv add"],
        r"\b(?:pip3?|uv\s+pip)\s+install\s+[^\n#;&|]{1,200}|\buv\s+add\s+[^\n#;&|]{1,200}",
    )
    .in_roles(TextRoles::CODE)
    .in_langs(COMMANDS)
    .weight(ScanSeverity::High, Confidence::Medium)
    .weigh_with(|hit| weigh_imitation(hit, names::PYTHON_PACKAGES))
    .example("a.sh", "pip install reqeusts"),
    Pattern::new(
        &DEP,
        "Installs a package whose name imitates a well-known one",
        &["npm i", "pnpm add", "yarn add", "bun add", "npm add"],
        r"\b(?:npm|pnpm|yarn|bun)\s+(?:i|install|add)\s+[^\n#;&|]{1,200}",
    )
    .in_roles(TextRoles::CODE)
    .in_langs(COMMANDS)
    .weight(ScanSeverity::High, Confidence::Medium)
    .weigh_with(|hit| weigh_imitation(hit, names::NPM_PACKAGES))
    .example("a.sh", "npm install loadash"),
];

fn weigh_pinned_commit(hit: &Hit<'_>) -> Option<FindingWeight> {
    let pinned = hit
        .text()
        .rsplit(['@', '#'])
        .next()
        .is_some_and(|tail| tail.len() >= 12 && tail.chars().all(|c| c.is_ascii_hexdigit()));
    if pinned {
        Some(FindingWeight(ScanSeverity::Info, Confidence::Medium))
    } else {
        weigh::code(hit)
    }
}

/// Whether an index is trustworthy is up to the reader. One over plain HTTP, which anybody on
/// the network can modify, is not.
fn weigh_other_index(hit: &Hit<'_>) -> Option<FindingWeight> {
    if hit.text().contains("http://") {
        Some(FindingWeight(ScanSeverity::High, Confidence::Medium))
    } else {
        Some(FindingWeight(ScanSeverity::Low, Confidence::Medium))
    }
}

fn weigh_python_install(hit: &Hit<'_>) -> Option<FindingWeight> {
    let loose =
        packages(hit.text()).any(|package| !package.contains("==") && !package.contains("@"));
    loose.then_some(hit.weight)
}

fn weigh_imitation(hit: &Hit<'_>, known: &'static [&'static str]) -> Option<FindingWeight> {
    packages(hit.text())
        .any(|package| imitated_package(&bare_name(package), known).is_some())
        .then_some(hit.weight)
}

/// The packages an install command names.
fn packages(command: &str) -> impl Iterator<Item = &str> {
    command
        .split_whitespace()
        .skip_while(|word| !matches!(*word, "install" | "add" | "i"))
        .skip(1)
        .map(|word| word.trim_matches(['"', '\'', '`', ',', ')', '(']))
        .take_while(|word| word.chars().all(|c| c.is_ascii_graphic()))
        .filter(|word| {
            word.starts_with(|c: char| c.is_ascii_alphabetic())
                && !word.contains(['/', '$'])
                && !word.ends_with(".txt")
        })
}

/// A requirement's name in the form indexes compare.
fn bare_name(requirement: &str) -> String {
    let end =
        requirement.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')));
    let name = requirement
        .get(..end.unwrap_or(requirement.len()))
        .unwrap_or_default();
    name.trim_end_matches('.')
        .to_ascii_lowercase()
        .replace('_', "-")
}

/// Looks into the manifests that name packages.
pub(crate) fn check(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    let name = view.name();
    if name.starts_with("requirements") && name.ends_with(".txt") {
        check_requirements(view, log);
    } else if name == "package.json" {
        check_package_json(view, log);
    } else if view.kind == FileKind::Script(Lang::Python) {
        check_inline_metadata(view, log);
    }
}

fn check_requirements(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    let mut at = 0;
    for line in view.text.split_inclusive('\n') {
        let requirement = line.split(" #").next().unwrap_or_default().trim();
        let start = at + line.len() - line.trim_start().len();
        at += line.len();
        if requirement.is_empty() || requirement.starts_with(['#', '-']) {
            continue;
        }
        check_python_requirement(view, start..start + requirement.len(), requirement, log);
    }
}

fn check_python_requirement(
    view: &FileView<'_>,
    span: Range<usize>,
    requirement: &str,
    log: &mut FindingCollector<'_>,
) {
    let (weight, message) =
        if let Some(known) = imitated_package(&bare_name(requirement), names::PYTHON_PACKAGES) {
            let message = format!("The package's name imitates `{known}`");
            (
                FindingWeight(ScanSeverity::High, Confidence::Medium),
                message,
            )
        } else if requirement.contains("://") {
            let message = "A package from an address instead of an index".to_owned();
            (
                FindingWeight(ScanSeverity::Medium, Confidence::High),
                message,
            )
        } else if !requirement.contains("==") {
            let message = "A package without an exact version".to_owned();
            (FindingWeight(ScanSeverity::Low, Confidence::High), message)
        } else {
            return;
        };
    let shown = evidence::mask_secrets(&view.text, span.clone(), &view.masks);
    log.report_with_evidence(&DEP, view, span, weight, &shown, message);
}

fn check_package_json(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    let Some(manifest) = manifest::read(view, log) else {
        return;
    };
    let sections = ["dependencies", "devDependencies", "optionalDependencies"];
    let sections = sections
        .iter()
        .filter_map(|name| manifest.get(name)?.as_object());
    let mut packages = sections.flatten();
    for (name, version) in packages.by_ref().take(MANY_PACKAGES) {
        check_npm_package(view, name, version.as_str().unwrap_or_default(), log);
    }
    if packages.next().is_some() {
        let detail = format!("only the first {MANY_PACKAGES} packages were scanned");
        log.report_gap(Some(view.path), GapReason::FileTooLong, detail);
    }
}

fn check_npm_package(
    view: &FileView<'_>,
    name: &str,
    version: &str,
    log: &mut FindingCollector<'_>,
) {
    let (weight, message) = if let Some(known) = imitated_package(name, names::NPM_PACKAGES) {
        let message = format!("The package's name imitates `{known}`");
        (
            FindingWeight(ScanSeverity::High, Confidence::Medium),
            message,
        )
    } else if version.contains("://") || version.starts_with("github:") {
        let message = "A package from an address instead of the registry".to_owned();
        (
            FindingWeight(ScanSeverity::Medium, Confidence::High),
            message,
        )
    } else if matches!(version, "" | "*" | "latest" | "x" | "next") {
        (
            FindingWeight(ScanSeverity::Low, Confidence::High),
            "A package without a version".to_owned(),
        )
    } else {
        return;
    };
    // The name alone: a version may be an address with a password in it.
    log.report_with_evidence(
        &DEP,
        view,
        manifest::key_span(view, name),
        weight,
        name,
        message,
    );
}

/// The dependencies a Python script declares in its own header.
fn check_inline_metadata(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    let Some(start) = view.text.find("# /// script") else {
        return;
    };
    let mut at = start;
    for line in view
        .text
        .get(start..)
        .unwrap_or_default()
        .split_inclusive('\n')
    {
        let offset = at;
        at += line.len();
        if offset > start && (line.trim_end() == "# ///" || !line.starts_with('#')) {
            break;
        }
        check_quoted_requirements(view, offset, line, log);
    }
}

fn check_quoted_requirements(
    view: &FileView<'_>,
    offset: usize,
    line: &str,
    log: &mut FindingCollector<'_>,
) {
    if line.contains("requires-python") {
        return;
    }
    let mut at = offset;
    for (index, piece) in line.split('"').enumerate() {
        if index % 2 == 1 && piece.starts_with(|c: char| c.is_ascii_alphabetic()) {
            check_python_requirement(view, at..at + piece.len(), piece, log);
        }
        at += piece.len() + 1;
    }
}
