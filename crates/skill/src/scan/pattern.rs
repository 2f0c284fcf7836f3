//! A pattern, as data.

use super::finding::{Confidence, FindingWeight, ScanSeverity};
use super::layout::{Lang, TextArea, TextRoles};
use super::rule::ScanRule;
use super::weigh::{self, Hit};

/// A pattern. Built by the `const` methods, so that a table of
/// patterns is data.
pub(crate) struct Pattern {
    pub(crate) rule: &'static ScanRule,
    pub(crate) message: &'static str,
    /// Works on bytes: case does not matter, classes know ASCII only, a byte
    /// of a longer character counts as any other byte. That compiles ten times
    /// faster and never leaves the automaton.
    pub(crate) regex: &'static str,
    /// In lower case; every match of `regex` holds at least one of them.
    pub(crate) anchors: &'static [&'static str],
    pub(crate) weight: FindingWeight,
    pub(crate) roles: TextRoles,
    /// Languages of code it applies to; empty for any.
    pub(crate) langs: &'static [Lang],
    /// Moves the weight by context, or drops the hit.
    pub(crate) weigh: fn(&Hit<'_>) -> Option<FindingWeight>,
    /// Whether every match is kept, because other evidence must not show it.
    pub(crate) masks: bool,
    /// Path and text of a file it must find something in; a test holds it to that.
    pub(crate) example: (&'static str, &'static str),
}

impl Pattern {
    pub(crate) const fn new(
        rule: &'static ScanRule,
        message: &'static str,
        anchors: &'static [&'static str],
        regex: &'static str,
    ) -> Pattern {
        Pattern {
            rule,
            message,
            regex,
            anchors,
            weight: FindingWeight(rule.severity, Confidence::Medium),
            roles: TextRoles::ALL,
            langs: &[],
            weigh: weigh::as_is,
            masks: false,
            example: ("", ""),
        }
    }

    pub(crate) const fn weight(
        mut self,
        severity: ScanSeverity,
        confidence: Confidence,
    ) -> Pattern {
        self.weight = FindingWeight(severity, confidence);
        self
    }

    pub(crate) const fn in_roles(mut self, roles: TextRoles) -> Pattern {
        self.roles = roles;
        self
    }

    pub(crate) const fn in_langs(mut self, langs: &'static [Lang]) -> Pattern {
        self.langs = langs;
        self
    }

    pub(crate) const fn weigh_with(
        mut self,
        weigh: fn(&Hit<'_>) -> Option<FindingWeight>,
    ) -> Pattern {
        self.weigh = weigh;
        self
    }

    pub(crate) const fn masking(mut self) -> Pattern {
        self.masks = true;
        self
    }

    pub(crate) const fn example(mut self, path: &'static str, text: &'static str) -> Pattern {
        self.example = (path, text);
        self
    }

    /// Whether the pattern applies in an area.
    pub(crate) fn applies_in(&self, area: TextArea) -> bool {
        self.roles.has(area.role) && (self.langs.is_empty() || self.langs.contains(&area.lang))
    }
}
