//! Version selectors.

use std::fmt;

use super::LabelName;
use crate::error::{Error, Result};

/// Epoch microseconds reached this value in January 1970; no skill has that many
/// versions.
const MIN_EPOCH_NUMBER: i64 = 1_000_000_000_000;

/// Selects a version of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum VersionSelector {
    /// The newest.
    Latest,
    /// The default version.
    Default,
    /// By id: `skver_…`.
    Id(String),
    /// By epoch microseconds.
    Number(i64),
    /// By its ordinal in the skill.
    Ordinal(i64),
    /// The one that a label points to.
    Label(LabelName),
}

impl VersionSelector {
    /// Parses the forms of all dialects: `latest`, `default`, a version id, epoch
    /// microseconds, a small integer or a label.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "latest" => return Ok(VersionSelector::Latest),
            "default" => return Ok(VersionSelector::Default),
            _ => {}
        }
        if text.starts_with("skver_") || text.starts_with("skill_version_") {
            return Ok(VersionSelector::Id(text.to_owned()));
        }
        match text.parse::<i64>() {
            Ok(number) if number >= MIN_EPOCH_NUMBER => Ok(VersionSelector::Number(number)),
            Ok(ordinal) if ordinal > 0 => Ok(VersionSelector::Ordinal(ordinal)),
            _ => LabelName::parse(text)
                .map(VersionSelector::Label)
                .map_err(|_| Error::InvalidSelector {
                    text: text.escape_debug().take(80).collect(),
                }),
        }
    }
}

impl fmt::Display for VersionSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VersionSelector::Latest => f.write_str("latest"),
            VersionSelector::Default => f.write_str("default"),
            VersionSelector::Id(id) => f.write_str(id),
            VersionSelector::Number(number) | VersionSelector::Ordinal(number) => {
                write!(f, "{number}")
            }
            VersionSelector::Label(name) => f.write_str(name.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_version_is_understood() {
        let parse = |text| VersionSelector::parse(text).unwrap();
        assert_eq!(parse("latest"), VersionSelector::Latest);
        assert_eq!(parse("skver_1"), VersionSelector::Id("skver_1".to_owned()));
        assert_eq!(parse("2"), VersionSelector::Ordinal(2));
        assert_eq!(
            parse("1790000000000000"),
            VersionSelector::Number(1_790_000_000_000_000)
        );
        let label = LabelName::parse("production").unwrap();
        assert_eq!(parse("production"), VersionSelector::Label(label));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "0", "-1", "Newest", "99999999999999999999", "1.5"] {
            assert!(VersionSelector::parse(text).is_err(), "{text}");
        }
    }
}
