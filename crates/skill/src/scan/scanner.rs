//! A scan from end to end.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::collector::FindingCollector;
use super::coverage::GapReason;
use super::evidence;
use super::limits::ScanLimits;
use super::matcher::{Matcher, PatternMatch};
use super::report::ScanReport;
use super::rules;
use super::scanner_error::ScannerError;
use super::subject::{Subject, SubjectFile};
use super::view::FileView;

/// The compiled rules; create one and reuse it.
pub struct Scanner {
    matcher: Matcher,
}

/// Scans with the built-in rules, compiled once per process.
pub fn scan(subject: &Subject<'_>, limits: &ScanLimits) -> ScanReport {
    #[expect(
        clippy::expect_used,
        reason = "the tables are constants, and a test compiles them"
    )]
    static SCANNER: LazyLock<Scanner> =
        LazyLock::new(|| Scanner::new().expect("the built-in rules compile"));
    SCANNER.scan(subject, limits)
}

impl Scanner {
    /// Compiles the built-in rules.
    pub fn new() -> Result<Scanner, ScannerError> {
        let engine = Matcher::new(rules::patterns())?;
        Ok(Scanner { matcher: engine })
    }

    /// Scans a skill.
    pub fn scan(&self, subject: &Subject<'_>, limits: &ScanLimits) -> ScanReport {
        let mut log = FindingCollector::new(limits);
        let mut facts = rules::SkillFacts::default();
        let (mut bytes, mut work) = (limits.total_bytes, limits.work_bytes);
        let mut files = subject.files.clone();
        // The SKILL.md comes first, before other files can exhaust the limits.
        files.sort_by_key(|file| (file.path != subject.skill_file, file.path));
        for file in &files {
            let Some(part) = limit_file(*file, limits, &mut bytes, &mut log) else {
                continue;
            };
            let (mut view, gap) = FileView::open(part);
            log.add_gaps(gap);
            let (found, reached) =
                self.matcher
                    .find_matches(&view, limits.per_rule, &mut work, &mut log);
            self.report_matches(&mut view, found, reached, &mut log);
            rules::check_file(&view, subject, &mut log);
            facts.record_file(&view);
        }
        rules::check_skill(subject, &facts, &mut log);
        ScanReport::from_collected(log.finish())
    }

    /// Logs what the patterns found: of several hits of one rule on one line
    /// only the worst, and of secrets every one, but none in the clear. What was
    /// not reached may hold secrets too, so no evidence shows any of it.
    fn report_matches(
        &self,
        view: &mut FileView<'_>,
        found: Vec<PatternMatch>,
        reached: usize,
        log: &mut FindingCollector<'_>,
    ) {
        let mut worst: BTreeMap<(&str, usize), PatternMatch> = BTreeMap::new();
        let mut secrets = Vec::new();
        for found in found {
            let Some(pattern) = self.matcher.pattern(found.pattern) else {
                continue;
            };
            if pattern.masks {
                secrets.push(found);
                continue;
            }
            let line = view.location(found.span.clone()).line;
            worst
                .entry((pattern.rule.id, line))
                .and_modify(|kept| {
                    if outweighs(&found, kept) {
                        *kept = found.clone();
                    }
                })
                .or_insert(found);
        }
        let secrets = rules::secrets::merge_matches(&view.text, secrets);
        view.masks = secrets.iter().map(|found| found.span.clone()).collect();
        if reached < view.text.len() {
            view.masks.push(reached..view.text.len());
        }
        for PatternMatch {
            pattern,
            span,
            weight,
        } in secrets
        {
            if let Some(pattern) = self.matcher.pattern(pattern) {
                let shown = evidence::redact(view.text.get(span.clone()).unwrap_or_default());
                log.report_with_evidence(pattern.rule, view, span, weight, &shown, pattern.message);
            }
        }
        for found in worst.into_values() {
            if let Some(pattern) = self.matcher.pattern(found.pattern) {
                log.report_at(
                    pattern.rule,
                    view,
                    found.span,
                    found.weight,
                    pattern.message,
                );
            }
        }
    }
}

fn outweighs(new: &PatternMatch, old: &PatternMatch) -> bool {
    (new.weight.0, new.weight.1) > (old.weight.0, old.weight.1)
}

/// The part of a file within the limits.
fn limit_file<'a>(
    file: SubjectFile<'a>,
    limits: &ScanLimits,
    left: &mut usize,
    log: &mut FindingCollector<'_>,
) -> Option<SubjectFile<'a>> {
    let (length, allowed) = (file.data.len(), limits.file_bytes.min(*left));
    if length > allowed {
        let reason = if allowed == *left {
            GapReason::TotalTooLong
        } else {
            GapReason::FileTooLong
        };
        let detail = format!("{allowed} of {length} bytes were scanned");
        log.report_gap(Some(file.path), reason, detail);
    }
    let seen = length.min(allowed);
    *left -= seen;
    if seen == 0 && length > 0 {
        return None;
    }
    let data = file.data.get(..seen)?;
    Some(SubjectFile { data, ..file })
}
