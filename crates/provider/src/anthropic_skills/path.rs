//! Paths of the skills API.

/// A path below `/v1/skills`. Its segments are only ids and fixed words: nothing in it leads
/// elsewhere in the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillsPath(String);

impl SkillsPath {
    /// Parses a path that begins with `/skills`; `None` if it could lead elsewhere.
    pub fn parse(path: &str) -> Option<Self> {
        let plain = |part: &str| {
            let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b':');
            !part.is_empty() && part.bytes().all(letter)
        };
        let below = path.strip_prefix("/skills")?;
        let mut segments = below.split('/');
        let is_exact = segments.next() == Some("");
        (is_exact && segments.all(plain)).then(|| SkillsPath(format!("/v1/skills{below}")))
    }

    /// The path at Anthropic.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_skills_are_sent_on() {
        let parse = |path: &str| SkillsPath::parse(path).map(|path| path.0);
        assert_eq!(parse("/skills").as_deref(), Some("/v1/skills"));
        let versions = "/skills/skill_1/versions";
        assert_eq!(parse(versions), Some(format!("/v1{versions}")));
        for hostile in [
            "/skills/../messages",
            "/skills/%2e%2e/messages",
            "/skills/a%2Fb",
            "/skills//",
            "/skills/",
            "/skillsets",
            "/files",
        ] {
            assert_eq!(parse(hostile), None, "{hostile}");
        }
    }
}
