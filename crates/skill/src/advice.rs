//! Advice: nothing is wrong, but the skill could serve its reader better.

use std::sync::LazyLock;

use regex::Regex;

use crate::bundle::Bundle;
use crate::diagnostic::Diagnostic;
use crate::frontmatter::Frontmatter;
use crate::rules;

/// Maximum missing files that are reported individually.
const MAX_MISSING_REFERENCES: usize = 20;
/// The standard advises against longer bodies.
const MAX_BODY_LINES: usize = 500;

/// The target of a Markdown link or image.
static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\]\(([^()\s]+)\)").ok());

pub(crate) fn check(frontmatter: &Frontmatter, bundle: &Bundle, file: &str) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let body = frontmatter.body();
    let lines = 1 + memchr::memchr_iter(b'\n', body.as_bytes()).count();
    if body.is_empty() {
        found.push(rules::BODY_EMPTY.in_file(file, "there is nothing after the frontmatter"));
    } else if lines > MAX_BODY_LINES {
        let message =
            format!("the body has {lines} lines; it is read in full each time the skill is used");
        found.push(rules::BODY_LONG.in_file(file, message));
    }
    found.extend(missing_references(frontmatter, bundle, file));
    found
}

/// Links to files that are not there. A bare SKILL.md has left its files behind,
/// so nothing is said about it.
fn missing_references(frontmatter: &Frontmatter, bundle: &Bundle, file: &str) -> Vec<Diagnostic> {
    let Some(link) = LINK.as_ref().filter(|_| bundle.len() > 1) else {
        return Vec::new();
    };
    let text = frontmatter.source().text();
    let links = link.captures_iter(text).filter_map(|found| found.get(1));
    links
        .filter(|target| is_local(target.as_str()) && !exists(bundle, target.as_str()))
        .map(|target| {
            let place = frontmatter.location(&target.range());
            let message = format!(
                "`{}` is linked to, but is not in the skill",
                target.as_str()
            );
            rules::MISSING_REFERENCE.at(file, place, message)
        })
        .take(MAX_MISSING_REFERENCES)
        .collect()
}

/// Looks like a file of the skill: no scheme, no anchor, no placeholder, and an
/// extension.
fn is_local(target: &str) -> bool {
    let name = target.rsplit('/').next().unwrap_or_default();
    !target.contains([':', '#', '<', '{', '$', '?', '*', '%'])
        && !target.starts_with(['/', '~'])
        && !target.starts_with("..")
        && name.contains('.')
}

fn exists(bundle: &Bundle, target: &str) -> bool {
    let path = target.strip_prefix("./").unwrap_or(target);
    bundle.get(path).is_some()
}
