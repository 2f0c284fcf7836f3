//! Code of others that the skill pulls in.

use std::ops::Range;

use super::dependency_names::{self as names, imitated};
use super::manifest;
use crate::scan::collector::Collector;
use crate::scan::evidence;
use crate::scan::finding::{Confidence, Severity, Weight};
use crate::scan::layout::{Lang, Roles};
use crate::scan::pattern::Pattern;
use crate::scan::report::GapReason;
use crate::scan::rule::Rule;
use crate::scan::view::{Kind, View};
use crate::scan::weigh::{self, Hit};

pub(crate) static DEP: Rule = Rule {
    id: "DEP",
    title: "Risky dependency",
    description: "Packages without a version, from a repository or an address instead of an \
                  index, from another index, or with a name one slip away from a well-known one \
                  change or turn bad without the skill changing.",
    severity: Severity::Medium,
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
    .on(Roles::CODE)
    .weight(Severity::Medium, Confidence::Medium)
    .weigh(pinned_commit)
    .example("a.sh", "pip install git+https://github.com/someone/tool"),
    Pattern::new(
        &DEP,
        "Installs from another package index",
        &["index-url", "--registry"],
        r"--(?:extra-)?index-url[= ]\S+|\b(?:npm|pnpm|yarn)\s[^\n]{0,80}--registry[= ]\S+",
    )
    .weight(Severity::Low, Confidence::Medium)
    .weigh(other_index)
    .example("requirements.txt", "--extra-index-url http://pkgs.example.net/simple\n"),
    Pattern::new(
        &DEP,
        "Installs packages without a version",
        &["pip install", "pip3 install", "uv pip install", "uv add"],
        r"\b(?:pip3?|uv\s+pip)\s+install\s+[^\n#;&|]{1,200}|\buv\s+add\s+[^\n#;&|]{1,200}",
    )
    .on(Roles::CODE)
    .langs(COMMANDS)
    .weight(Severity::Info, Confidence::Medium)
    .weigh(python_install)
    .example("a.sh", "pip install requests"),
    Pattern::new(
        &DEP,
        "Installs a package whose name imitates a well-known one",
        &["pip install", "pip3 install", "uv add"],
        r"\b(?:pip3?|uv\s+pip)\s+install\s+[^\n#;&|]{1,200}|\buv\s+add\s+[^\n#;&|]{1,200}",
    )
    .on(Roles::CODE)
    .langs(COMMANDS)
    .weight(Severity::High, Confidence::Medium)
    .weigh(|hit| imitation(hit, names::PYTHON))
    .example("a.sh", "pip install reqeusts"),
    Pattern::new(
        &DEP,
        "Installs a package whose name imitates a well-known one",
        &["npm i", "pnpm add", "yarn add", "bun add", "npm add"],
        r"\b(?:npm|pnpm|yarn|bun)\s+(?:i|install|add)\s+[^\n#;&|]{1,200}",
    )
    .on(Roles::CODE)
    .langs(COMMANDS)
    .weight(Severity::High, Confidence::Medium)
    .weigh(|hit| imitation(hit, names::NPM))
    .example("a.sh", "npm install loadash"),
];

fn pinned_commit(hit: &Hit<'_>) -> Option<Weight> {
    let pinned = hit
        .text()
        .rsplit(['@', '#'])
        .next()
        .is_some_and(|tail| tail.len() >= 12 && tail.chars().all(|c| c.is_ascii_hexdigit()));
    match pinned {
        true => Some(Weight(Severity::Info, Confidence::Medium)),
        false => weigh::code(hit),
    }
}

/// Which indexes are sound is for the reader to know. One that anybody on the way
/// can rewrite is not.
fn other_index(hit: &Hit<'_>) -> Option<Weight> {
    match hit.text().contains("http://") {
        true => Some(Weight(Severity::High, Confidence::Medium)),
        false => Some(Weight(Severity::Low, Confidence::Medium)),
    }
}

fn python_install(hit: &Hit<'_>) -> Option<Weight> {
    let loose =
        packages(hit.text()).any(|package| !package.contains("==") && !package.contains("@"));
    loose.then_some(hit.weight)
}

fn imitation(hit: &Hit<'_>, known: &'static [&'static str]) -> Option<Weight> {
    packages(hit.text())
        .any(|package| imitated(&bare_name(package), known).is_some())
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
pub(crate) fn check(view: &View<'_>, log: &mut Collector<'_>) {
    let name = view.name();
    if name.starts_with("requirements") && name.ends_with(".txt") {
        requirements(view, log);
    } else if name == "package.json" {
        package_json(view, log);
    } else if view.kind == Kind::Script(Lang::Python) {
        inline_metadata(view, log);
    }
}

fn requirements(view: &View<'_>, log: &mut Collector<'_>) {
    let mut at = 0;
    for line in view.text.split_inclusive('\n') {
        let requirement = line.split(" #").next().unwrap_or_default().trim();
        let start = at + line.len() - line.trim_start().len();
        at += line.len();
        if requirement.is_empty() || requirement.starts_with(['#', '-']) {
            continue;
        }
        python_requirement(view, start..start + requirement.len(), requirement, log);
    }
}

fn python_requirement(
    view: &View<'_>,
    span: Range<usize>,
    requirement: &str,
    log: &mut Collector<'_>,
) {
    let (weight, message) = if let Some(known) = imitated(&bare_name(requirement), names::PYTHON) {
        let message = format!("The package's name imitates `{known}`");
        (Weight(Severity::High, Confidence::Medium), message)
    } else if requirement.contains("://") {
        let message = "A package from an address instead of an index".to_owned();
        (Weight(Severity::Medium, Confidence::High), message)
    } else if !requirement.contains("==") {
        let message = "A package without an exact version".to_owned();
        (Weight(Severity::Low, Confidence::High), message)
    } else {
        return;
    };
    let shown = evidence::masked(&view.text, span.clone(), &view.masks);
    log.told(&DEP, view, span, weight, &shown, message);
}

fn package_json(view: &View<'_>, log: &mut Collector<'_>) {
    let Some(manifest) = manifest::read(view, log) else {
        return;
    };
    let sections = ["dependencies", "devDependencies", "optionalDependencies"];
    let sections = sections
        .iter()
        .filter_map(|name| manifest.get(name)?.as_object());
    let mut packages = sections.flatten();
    for (name, version) in packages.by_ref().take(MANY_PACKAGES) {
        npm_package(view, name, version.as_str().unwrap_or_default(), log);
    }
    if packages.next().is_some() {
        let detail = format!("only the first {MANY_PACKAGES} packages were looked at");
        log.gap(Some(view.path), GapReason::FileTooLong, detail);
    }
}

fn npm_package(view: &View<'_>, name: &str, version: &str, log: &mut Collector<'_>) {
    let (weight, message) = if let Some(known) = imitated(name, names::NPM) {
        let message = format!("The package's name imitates `{known}`");
        (Weight(Severity::High, Confidence::Medium), message)
    } else if version.contains("://") || version.starts_with("github:") {
        let message = "A package from an address instead of the registry".to_owned();
        (Weight(Severity::Medium, Confidence::High), message)
    } else if matches!(version, "" | "*" | "latest" | "x" | "next") {
        (
            Weight(Severity::Low, Confidence::High),
            "A package without a version".to_owned(),
        )
    } else {
        return;
    };
    // The name alone: a version may be an address with a password in it.
    log.told(
        &DEP,
        view,
        manifest::place_of(view, name),
        weight,
        name,
        message,
    );
}

/// The dependencies a Python script declares in its own header.
fn inline_metadata(view: &View<'_>, log: &mut Collector<'_>) {
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
        quoted_requirements(view, offset, line, log);
    }
}

fn quoted_requirements(view: &View<'_>, offset: usize, line: &str, log: &mut Collector<'_>) {
    if line.contains("requires-python") {
        return;
    }
    let mut at = offset;
    for (index, piece) in line.split('"').enumerate() {
        if index % 2 == 1 && piece.starts_with(|c: char| c.is_ascii_alphabetic()) {
            python_requirement(view, at..at + piece.len(), piece, log);
        }
        at += piece.len() + 1;
    }
}
