//! URIs: `skill://NAME/PATH` for files of skills, `sandbox:/mnt/data/PATH` for files that
//! a session's code created.
//!
//! The parts of a URI are only looked up among known names and never used as paths on a
//! disk, so `..` has no effect.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use prowess_sandbox::LAYOUT;

/// All but RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The same within a path, without the slash.
const IN_PATH: &AsciiSet = &RESERVED.remove(b'/');

/// The index of skills that clients read before the extension had methods of its own.
pub(crate) const INDEX_URI: &str = "skill://index.json";

/// What a URI refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResourceUri {
    /// The index of all skills.
    Index,
    /// A skill's folder, or something in it.
    Skill {
        /// The skill's name.
        name: String,
        /// Relative to its folder; nothing for the folder itself.
        path: Option<String>,
    },
    /// A file in the session's `/mnt/data`, relative to that.
    SandboxFile(String),
}

/// A file of a skill.
pub(crate) fn skill_file(name: &str, path: &str) -> String {
    format!(
        "{}/{}",
        skill_folder(name),
        utf8_percent_encode(path, IN_PATH)
    )
}

/// The folder of a skill.
pub(crate) fn skill_folder(name: &str) -> String {
    format!("skill://{}", utf8_percent_encode(name, RESERVED))
}

/// A file of the session.
pub(crate) fn sandbox_file(path: &str) -> String {
    format!(
        "sandbox:{}/{}",
        LAYOUT.data,
        utf8_percent_encode(path, IN_PATH)
    )
}

/// What a URI refers to, if it is valid here.
pub(crate) fn parse(uri: &str) -> Option<ResourceUri> {
    if uri == INDEX_URI {
        return Some(ResourceUri::Index);
    }
    // Queries and fragments are not supported.
    if uri.contains(['?', '#']) {
        return None;
    }
    if let Some(rest) = uri.strip_prefix("skill://") {
        let (name, path) = match rest.split_once('/') {
            None => (rest, None),
            Some((_, "")) => return None,
            Some((name, path)) => (name, Some(decode(path)?)),
        };
        let name = decode(name).filter(|name| !name.is_empty())?;
        return Some(ResourceUri::Skill { name, path });
    }
    let rest = uri.strip_prefix("sandbox:")?;
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let path = decode(LAYOUT.below_data(rest)?)?;
    (!path.is_empty()).then_some(ResourceUri::SandboxFile(path))
}

fn decode(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

/// A URI for an error message: it is untrusted, so it is escaped and cut.
pub(crate) fn display_uri(uri: &str) -> String {
    uri.chars().take(200).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_looks_like_a_way_out_is_only_a_name() {
        let skill = |name: &str, path: &str| {
            Some(ResourceUri::Skill {
                name: name.into(),
                path: Some(path.into()),
            })
        };
        assert_eq!(parse("skill://x/../y"), skill("x", "../y"));
        assert_eq!(parse("skill://x/%2e%2e/y"), skill("x", "../y"));
        assert_eq!(parse("skill://../x"), skill("..", "x"));
        for nothing in [
            "skill://",
            "skill:///x",
            "skill://x/",
            "skill://x/a?b",
            "skill://x/a#b",
            "skill://x/%ff",
            "sandbox:/etc/passwd",
            "sandbox:/mnt/data/",
            "file:///etc/passwd",
            "",
        ] {
            assert_eq!(parse(nothing), None, "{nothing}");
        }
        let made = Some(ResourceUri::SandboxFile("a b.png".into()));
        assert_eq!(parse("sandbox:/mnt/data/a%20b.png"), made);
        assert_eq!(parse("sandbox:///mnt/data/a%20b.png"), made);
    }

    proptest! {
        #[test]
        fn every_name_and_path_comes_back_from_its_uri(name in "[^/]{1,20}", path in "[^/]{1,8}(/[^/]{1,8}){0,3}") {
            prop_assume!(skill_file(&name, &path) != INDEX_URI);
            let back = ResourceUri::Skill { name: name.clone(), path: Some(path.clone()) };
            prop_assert_eq!(parse(&skill_file(&name, &path)), Some(back));
            prop_assert_eq!(parse(&sandbox_file(&path)), Some(ResourceUri::SandboxFile(path)));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ".*") {
            let _ = parse(&text);
            let _ = parse(&format!("skill://{text}"));
        }
    }
}
