//! The line about a skill that a server has stored, or has already: for uploads and imports.

/// What is said of a skill whose latest version has the same files.
pub(super) const UNCHANGED: &str = "nothing changed";

/// A skill, what became of it, and its version.
pub(super) fn stored_line(
    name: &str,
    what: &str,
    version: &str,
    skill_id: &str,
    version_id: &str,
) -> String {
    format!("{name}: {what}, version {version} ({skill_id}, {version_id})")
}
