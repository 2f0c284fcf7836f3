//! The rules: one file per family.
//!
//! A family has the definitions of its rules, their patterns for the matcher, and the checks
//! that need more than a pattern.

use super::collector::FindingCollector;
use super::layout::{Lang, TextRole};
use super::pattern::Pattern;
use super::rule::ScanRule;
use super::subject::Subject;
use super::view::{FileKind, FileView};

mod active;
mod autorun;
mod code;
mod control_tokens;
pub(crate) mod coverage;
pub(crate) mod credentials;
mod declared;
mod dependencies;
mod dependency_names;
mod description;
mod fetch;
mod files;
mod hidden;
mod homoglyph;
mod impersonation;
mod injection;
mod manifest;
mod money;
mod persistence;
mod privilege;
pub(crate) mod secrets;
#[cfg(test)]
mod tests;
mod tools;
mod unicode;
mod urls;

/// Every rule, by family. A rule that is not listed here does not exist.
pub static RULES: &[&ScanRule] = &[
    &unicode::UNI_TAG,
    &unicode::UNI_HIDDEN,
    &injection::INJ_OVERRIDE,
    &injection::INJ_MODE,
    &injection::INJ_POLICY,
    &injection::INJ_REVEAL,
    &injection::INJ_CONCEAL,
    &hidden::INJ_HIDDEN,
    &control_tokens::INJ_TOKEN,
    &fetch::EXEC_FETCH,
    &declared::EXEC_DECL,
    &urls::URL_SUSP,
    &credentials::EXF_CRED,
    &secrets::SECRET,
    &secrets::SECRET_FLOW,
    &code::CODE_DANGER,
    &persistence::PERSIST,
    &privilege::PRIV,
    &dependencies::DEP,
    &files::FILE_MAGIC,
    &files::FILE_BIN,
    &files::FILE_HIDDEN,
    &files::ARCH_NESTED,
    &active::FILE_ACTIVE,
    &tools::TOOL_MISMATCH,
    &description::TRIG_BROAD,
    &description::TRIG_BAIT,
    &impersonation::IMPERSONATE,
    &money::FIN,
    &coverage::COVERAGE,
];

/// The rule with this identifier.
pub(crate) fn find(id: &str) -> Option<&'static ScanRule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}

/// The patterns of all families.
pub(crate) fn patterns() -> impl Iterator<Item = &'static Pattern> {
    [
        injection::PATTERNS,
        hidden::PATTERNS,
        fetch::PATTERNS,
        declared::PATTERNS,
        urls::PATTERNS,
        credentials::PATTERNS,
        secrets::PATTERNS,
        code::PATTERNS,
        persistence::PATTERNS,
        privilege::PATTERNS,
        dependencies::PATTERNS,
        money::PATTERNS,
    ]
    .into_iter()
    .flatten()
}

/// The checks on one file that are not patterns.
pub(super) fn check_file(
    view: &FileView<'_>,
    subject: &Subject<'_>,
    log: &mut FindingCollector<'_>,
) {
    unicode::check(view, log);
    homoglyph::check(view, log);
    hidden::check(view, log);
    control_tokens::check(view, subject, log);
    autorun::check(view, subject, log);
    dependencies::check(view, log);
    files::check(view, log);
    active::check(view, log);
}

/// The checks on the skill as a whole.
pub(super) fn check_skill(
    subject: &Subject<'_>,
    facts: &SkillFacts,
    log: &mut FindingCollector<'_>,
) {
    declared::check(subject, log);
    tools::check(subject, facts, log);
    description::check(subject, log);
    control_tokens::check_description(subject, log);
    impersonation::check(subject, log);
    homoglyph::check_name(subject, log);
}

/// What the files of a skill show about its needs.
#[derive(Debug, Default)]
pub(crate) struct SkillFacts {
    /// The first script, if there is one.
    pub(crate) script: Option<String>,
    /// The first script that talks to the network.
    pub(crate) network: Option<String>,
    /// Whether a Markdown file shows shell commands.
    pub(crate) commands: bool,
}

impl SkillFacts {
    pub(super) fn record_file(&mut self, view: &FileView<'_>) {
        if view.is_script() {
            self.script.get_or_insert_with(|| view.path.to_owned());
            if view.has_sink() {
                self.network.get_or_insert_with(|| view.path.to_owned());
            }
        }
        if view.kind == FileKind::Markdown {
            let end = view.text.len();
            let shell = |(start, _): (usize, usize)| view.layout.area_at(start).lang == Lang::Shell;
            self.commands |= view.layout.spans(TextRole::Block, end).any(shell);
        }
    }
}
