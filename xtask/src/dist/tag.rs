//! The tag that a release is made from: it must name the version that is made, and the changelog
//! must describe it.

use super::release::VERSION;
use super::tarball::read;

/// Refuses a tag that is not this version's, before anything is built.
pub(super) fn check(tag: &str) -> anyhow::Result<()> {
    let changelog = String::from_utf8(read("CHANGELOG.md")?)?;
    check_version(tag, VERSION, &changelog).map_err(anyhow::Error::msg)
}

fn check_version(tag: &str, version: &str, changelog: &str) -> Result<(), String> {
    if tag != format!("v{version}") {
        return Err(format!(
            "the tag {tag} is not v{version}: change `version` in Cargo.toml, or the tag"
        ));
    }
    let heading = format!("## {version} - ");
    if !changelog.lines().any(|line| line.starts_with(&heading)) {
        return Err(format!(
            "CHANGELOG.md has no heading `{heading}DATE`: rename \"Unreleased\""
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_version;

    #[test]
    fn a_tag_names_the_version_that_the_changelog_describes() {
        let changelog = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2027-01-02\n";
        assert_eq!(check_version("v0.2.0", "0.2.0", changelog), Ok(()));
        let cases = [
            ("0.2.0", "0.2.0", "is not v0.2.0"),
            ("v0.2.1", "0.2.0", "is not v0.2.0"),
            ("v0.2", "0.2", "no heading `## 0.2 - DATE`"),
            ("v0.3.0", "0.3.0", "no heading `## 0.3.0 - DATE`"),
        ];
        for (tag, version, part) in cases {
            let refused = check_version(tag, version, changelog).unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
    }
}
