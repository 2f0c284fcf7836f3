//! Rules of the large hosts for uploaded skills, apart from the standard's.

use crate::diagnostic::Diagnostic;
use crate::frontmatter::Frontmatter;
use crate::rules::{self, DiagnosticRule};
use crate::skill::Skill;
use crate::standard::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};

/// Words that hosts reserve for their own skills.
const RESERVED_WORDS: [&str; 2] = ["anthropic", "claude"];

/// Checks for everything that would make an upload fail at other hosts.
pub(crate) fn check(skill: &Skill, frontmatter: &Frontmatter, file: &str) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut report = |rule: &'static DiagnosticRule, field: &str, message: String| {
        let place = frontmatter
            .get(field)
            .map(|entry| frontmatter.location(&entry.value.range));
        found.push(match place {
            Some(place) => rule.at(file, place, message),
            None => rule.in_file(file, message),
        });
    };
    let (name, description) = (&skill.name, &skill.description);
    if !is_portable_name(name) {
        report(
            &rules::UPLOAD_NAME,
            "name",
            format!("`{name}` is not a portable name for a skill"),
        );
    }
    if let Some(word) = RESERVED_WORDS
        .iter()
        .find(|word| name.to_lowercase().contains(**word))
    {
        report(
            &rules::UPLOAD_RESERVED,
            "name",
            format!("the name contains the reserved word `{word}`"),
        );
    }
    for (field, text) in [("name", name), ("description", description)] {
        if let Some(tag) = find_xml_tag(text) {
            report(
                &rules::UPLOAD_XML,
                field,
                format!("`{field}` contains an XML tag: `{tag}`"),
            );
        }
    }
    let length = description.chars().count();
    if length > MAX_DESCRIPTION_CHARS {
        let message = format!(
            "the description has {length} characters; at most {MAX_DESCRIPTION_CHARS} are allowed"
        );
        report(&rules::UPLOAD_DESCRIPTION, "description", message);
    }
    found
}

/// Lower-case ASCII letters and digits, with single hyphens inside: the name
/// every host, index and installer accepts.
pub fn is_portable_name(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.len() <= MAX_NAME_CHARS && name.split('-').all(part)
}

/// The first thing that reads as a tag.
fn find_xml_tag(text: &str) -> Option<&str> {
    text.match_indices('<').find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let tag = rest.get(..=rest.find('>')?)?;
        let opens = tag
            .get(1..)?
            .starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        opens.then_some(tag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portable_names_are_what_every_host_takes() {
        for name in ["a", "pdf-reader", "x2", "1-2-3"] {
            assert!(is_portable_name(name), "{name}");
        }
        let long = "a".repeat(65);
        for name in [
            "",
            "-a",
            "a-",
            "a--b",
            "A",
            "a_b",
            "café",
            "a.b",
            long.as_str(),
        ] {
            assert!(!is_portable_name(name), "{name}");
        }
    }

    #[test]
    fn tags_are_found_and_comparisons_are_not() {
        assert_eq!(find_xml_tag("a <b>c"), Some("<b>"));
        assert_eq!(find_xml_tag("x </system> y"), Some("</system>"));
        assert_eq!(find_xml_tag("if a < b and c > d"), None);
        assert_eq!(find_xml_tag("<3"), None);
    }
}
