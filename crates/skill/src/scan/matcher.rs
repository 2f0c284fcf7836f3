//! Finding hundreds of patterns in linear time.
//!
//! Every pattern names literal anchors, one of which is in every match. One
//! automaton finds all anchors of all patterns in a single pass; only around
//! an anchor is the regular expression tried, in a window of a few lines and
//! bounded size, so no stretch of text is handed to the same expression more
//! than a handful of times.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::{memchr_iter, memrchr_iter};
use regex::bytes::{Regex, RegexBuilder};

use super::collector::FindingCollector;
use super::coverage::GapReason;
use super::finding::{FindingWeight, ScanSeverity};
use super::pattern::Pattern;
use super::scanner_error::ScannerError;
use super::view::FileView;
use super::weigh::Hit;

/// Bytes and lines searched before an anchor.
const WINDOW_BEFORE: (usize, usize) = (512, 3);
/// Bytes after an anchor within which another one on the same line needs no
/// window of its own.
const WINDOW_STEP_BYTES: usize = 1024;
/// Bytes and lines searched after an anchor.
const WINDOW_AFTER: (usize, usize) = (WINDOW_STEP_BYTES + 512, 5);
/// What weighing one match costs, in bytes of pattern work.
const WEIGHING_COST_BYTES: usize = 4096;

/// A weighed match.
#[derive(Debug, Clone)]
pub(crate) struct PatternMatch {
    /// Index of the pattern.
    pub(crate) pattern: usize,
    pub(crate) span: Range<usize>,
    pub(crate) weight: FindingWeight,
}

/// A pattern ready to run.
struct CompiledPattern {
    pattern: &'static Pattern,
    regex: Regex,
}

/// All patterns, ready to run together.
pub(crate) struct Matcher {
    patterns: Vec<CompiledPattern>,
    anchors: AhoCorasick,
    /// For every anchor, the patterns that have it.
    owners: Vec<Vec<usize>>,
}

impl Matcher {
    pub(crate) fn new(
        patterns: impl Iterator<Item = &'static Pattern>,
    ) -> Result<Matcher, ScannerError> {
        let patterns = patterns.map(compile).collect::<Result<Vec<_>, _>>()?;
        let mut owners: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, compiled) in patterns.iter().enumerate() {
            for anchor in compiled.pattern.anchors {
                owners.entry(anchor).or_default().push(index);
            }
        }
        let anchors = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(owners.keys())
            .map_err(|e| ScannerError::Anchors {
                reason: e.to_string(),
            })?;
        let owners = owners.into_values().collect();
        Ok(Matcher {
            patterns,
            anchors,
            owners,
        })
    }

    pub(crate) fn pattern(&self, index: usize) -> Option<&'static Pattern> {
        self.patterns.get(index).map(|compiled| compiled.pattern)
    }

    /// The weighed matches in a file, at most `keep` per pattern and severity
    /// unless they mask; the rest is reported to the log. Also returns up to where the
    /// text was searched before the work ran out.
    pub(crate) fn find_matches(
        &self,
        view: &FileView<'_>,
        keep: usize,
        work: &mut usize,
        log: &mut FindingCollector<'_>,
    ) -> (Vec<PatternMatch>, usize) {
        let mut search = Search {
            view,
            keep,
            cursors: vec![Cursor::default(); self.patterns.len()],
            found: Vec::new(),
        };
        for anchor in self.anchors.find_overlapping_iter(view.text.as_bytes()) {
            let at = anchor.start();
            let window = LazyCell::new(|| window_around(view.text.as_bytes(), at));
            for &index in self
                .owners
                .get(anchor.pattern().as_usize())
                .into_iter()
                .flatten()
            {
                let cost = match self.patterns.get(index) {
                    Some(compiled) if search.is_due(index, compiled.pattern, at) => {
                        search.match_in_window(index, compiled, *window)
                    }
                    _ => 0,
                };
                let Some(left) = work.checked_sub(cost) else {
                    let detail = "too many near misses; the rest of this file was not matched";
                    log.report_gap(Some(view.path), GapReason::WorkExhausted, detail.to_owned());
                    return (search.found, at);
                };
                *work = left;
            }
        }
        self.report_omitted(&search, log);
        (search.found, view.text.len())
    }

    fn report_omitted(&self, search: &Search<'_>, log: &mut FindingCollector<'_>) {
        let all = search.cursors.iter().zip(&self.patterns);
        for (cursor, compiled) in all.filter(|(_, compiled)| !compiled.pattern.masks) {
            for (&severity, &seen) in ScanSeverity::ALL.iter().zip(&cursor.seen) {
                log.omit(
                    compiled.pattern.rule,
                    severity,
                    seen.saturating_sub(search.keep),
                );
            }
        }
    }
}

/// The progress of one pattern in the text.
#[derive(Clone, Default)]
struct Cursor {
    /// Anchors before this offset need no window any more.
    done: usize,
    /// The end of the last match.
    from: usize,
    /// Matches so far by severity.
    seen: [usize; 5],
}

struct Search<'v> {
    view: &'v FileView<'v>,
    keep: usize,
    cursors: Vec<Cursor>,
    found: Vec<PatternMatch>,
}

impl Search<'_> {
    /// Whether a pattern has not been tried around this anchor yet, and means
    /// anything there.
    fn is_due(&self, index: usize, pattern: &Pattern, at: usize) -> bool {
        let new = self
            .cursors
            .get(index)
            .is_some_and(|cursor| at >= cursor.done);
        new && pattern.applies_in(self.view.layout.area_at(at))
    }

    /// Tries a pattern in a window; returns what that cost.
    fn match_in_window(
        &mut self,
        index: usize,
        compiled: &CompiledPattern,
        window: Window,
    ) -> usize {
        let CompiledPattern { pattern, regex } = compiled;
        let text: &str = &self.view.text;
        let (Some(cursor), Some(seen_text)) = (
            self.cursors.get_mut(index),
            text.as_bytes().get(..window.end),
        ) else {
            return 0;
        };
        let (start, end) = (window.start.max(cursor.from), window.end);
        cursor.done = window.done;
        let mut from = start;
        let mut cost = end.saturating_sub(start);
        // `find_at` sees what is before `from`, so `^` and `\b` stay honest.
        while let Some(found) = (from <= end)
            .then(|| regex.find_at(seen_text, from))
            .flatten()
        {
            from = found.end().max(found.start() + 1);
            cursor.from = from;
            cost += WEIGHING_COST_BYTES;
            let span = trim_span(text, found.range());
            let area = self.view.area(span.start);
            if !pattern.applies_in(area) {
                continue;
            }
            let hit = Hit {
                view: self.view,
                span: span.clone(),
                area,
                weight: pattern.weight,
            };
            let Some(weight) = (pattern.weigh)(&hit) else {
                continue;
            };
            if let Some(seen) = cursor.seen.get_mut(weight.0 as usize) {
                *seen += 1;
                if *seen <= self.keep || pattern.masks {
                    self.found.push(PatternMatch {
                        pattern: index,
                        span,
                        weight,
                    });
                }
            }
        }
        cost
    }
}

/// A match on whole characters, without the blanks before it.
fn trim_span(text: &str, found: Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(found.start);
    let end = text.ceil_char_boundary(found.end);
    let matched = text.get(start..end).unwrap_or_default();
    start + matched.len() - matched.trim_start().len()..end
}

/// The part of a text that is searched because of one anchor.
#[derive(Clone, Copy)]
struct Window {
    start: usize,
    /// Further anchors before this place are covered.
    done: usize,
    end: usize,
}

fn window_around(text: &[u8], at: usize) -> Window {
    let floor = at.saturating_sub(WINDOW_BEFORE.0);
    let before = text.get(floor..at).unwrap_or_default();
    let start = memrchr_iter(b'\n', before).nth(WINDOW_BEFORE.1 - 1);
    let ceiling = text.len().min(at + WINDOW_AFTER.0);
    let after = text.get(at..ceiling).unwrap_or_default();
    let mut newlines = memchr_iter(b'\n', after).map(|on| at + on);
    let line = newlines.next().unwrap_or(ceiling);
    Window {
        start: start.map_or(floor, |on| floor + on + 1),
        done: line.min(at + WINDOW_STEP_BYTES),
        end: newlines.nth(WINDOW_AFTER.1 - 2).unwrap_or(ceiling),
    }
}

fn compile(pattern: &'static Pattern) -> Result<CompiledPattern, ScannerError> {
    let regex = RegexBuilder::new(pattern.regex)
        .case_insensitive(true)
        .multi_line(true)
        .unicode(false)
        .build()
        .map_err(|source| ScannerError::Pattern {
            rule: pattern.rule.id,
            regex: pattern.regex,
            source: Box::new(source),
        })?;
    Ok(CompiledPattern { pattern, regex })
}
