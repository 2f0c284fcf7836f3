//! Finding hundreds of patterns in linear time.
//!
//! Every pattern names literal anchors, one of which is in every match. One
//! automaton finds all anchors of all patterns in a single pass; only around
//! an anchor is the regular expression tried, in a window of a few lines and
//! bounded size, so no stretch of text is handed to the same expression more
//! than a handful of times.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};

use super::collector::Collector;
use super::finding::{Severity, Weight};
use super::pattern::Pattern;
use super::report::GapReason;
use super::scanner::ScannerError;
use super::view::View;
use super::weigh::Hit;

/// Bytes looked at before an anchor, and lines of them.
const BEFORE: (usize, usize) = (512, 3);
/// Bytes after an anchor within which another one on the same line needs no
/// window of its own.
const STEP: usize = 1024;
/// Bytes looked at after an anchor, and lines of them.
const AFTER: (usize, usize) = (STEP + 512, 5);
/// What weighing one match costs, in bytes of pattern work.
const WEIGHING: usize = 4096;

/// A weighed match.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Index of the pattern.
    pub(crate) pattern: usize,
    pub(crate) span: Range<usize>,
    pub(crate) weight: Weight,
}

/// The compiled patterns.
pub(crate) struct Engine {
    patterns: Vec<&'static Pattern>,
    regexes: Vec<Regex>,
    anchors: AhoCorasick,
    /// For every anchor, the patterns that have it.
    owners: Vec<Vec<usize>>,
}

impl Engine {
    pub(crate) fn new(patterns: Vec<&'static Pattern>) -> Result<Engine, ScannerError> {
        let mut owners: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut regexes = Vec::with_capacity(patterns.len());
        for (index, pattern) in patterns.iter().enumerate() {
            regexes.push(compile(pattern)?);
            for anchor in pattern.anchors {
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
        Ok(Engine {
            patterns,
            regexes,
            anchors,
            owners,
        })
    }

    pub(crate) fn pattern(&self, index: usize) -> Option<&'static Pattern> {
        self.patterns.get(index).copied()
    }

    /// All weighed matches in a file, at most `keep` per pattern and severity;
    /// the log is told of the rest.
    pub(crate) fn find(
        &self,
        view: &View<'_>,
        keep: usize,
        work: &mut usize,
        log: &mut Collector<'_>,
    ) -> Vec<Found> {
        let mut search = Search {
            view,
            keep,
            cursors: vec![Cursor::default(); self.patterns.len()],
            found: Vec::new(),
        };
        for anchor in self.anchors.find_overlapping_iter(view.text.as_bytes()) {
            for &index in self
                .owners
                .get(anchor.pattern().as_usize())
                .into_iter()
                .flatten()
            {
                let (Some(&pattern), Some(regex)) =
                    (self.patterns.get(index), self.regexes.get(index))
                else {
                    continue;
                };
                let cost = search.around(index, pattern, regex, anchor.start());
                if cost > *work {
                    let detail = "too many near misses; the rest of this file was not matched";
                    log.gap(Some(view.path), GapReason::WorkExhausted, detail.to_owned());
                    return search.found;
                }
                *work -= cost;
            }
        }
        for (cursor, pattern) in search.cursors.iter().zip(&self.patterns) {
            for (&severity, &seen) in Severity::ALL.iter().zip(&cursor.seen) {
                if seen > keep {
                    log.omit(pattern.rule, severity, seen - keep);
                }
            }
        }
        search.found
    }
}

/// How far one pattern has come in the text.
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
    view: &'v View<'v>,
    keep: usize,
    cursors: Vec<Cursor>,
    found: Vec<Found>,
}

impl Search<'_> {
    /// Tries a pattern around an anchor; returns what that cost.
    fn around(
        &mut self,
        index: usize,
        pattern: &'static Pattern,
        regex: &Regex,
        at: usize,
    ) -> usize {
        let text: &str = &self.view.text;
        let Some(cursor) = self.cursors.get_mut(index) else {
            return 0;
        };
        if at < cursor.done || !pattern.applies(self.view.layout.at(at)) {
            return 0;
        }
        let (start, done, end) = window(text.as_bytes(), at);
        let start = start.max(cursor.from);
        cursor.done = done;
        let Some(window) = text.as_bytes().get(..end) else {
            return 0;
        };
        let mut from = start;
        let mut cost = end.saturating_sub(start);
        // `find_at` sees what is before `from`, so `^` and `\b` stay honest.
        while let Some(found) = (from <= end).then(|| regex.find_at(window, from)).flatten() {
            from = found.end().max(found.start() + 1);
            cursor.from = from;
            cost += WEIGHING;
            let span =
                text.floor_char_boundary(found.start())..text.ceil_char_boundary(found.end());
            let area = self.view.area(span.start);
            if !pattern.applies(area) {
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
                if *seen <= self.keep {
                    self.found.push(Found {
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

/// Where to start and to stop looking around an anchor, and between them the
/// place before which further anchors are covered.
fn window(text: &[u8], at: usize) -> (usize, usize, usize) {
    let floor = at.saturating_sub(BEFORE.0);
    let before = text.get(floor..at).unwrap_or_default();
    let newline = |byte: &u8| *byte == b'\n';
    let start =
        nth(before.iter().rev().enumerate(), BEFORE.1, newline).map_or(floor, |back| at - back);
    let ceiling = text.len().min(at + AFTER.0);
    let after = text.get(at..ceiling).unwrap_or_default();
    let end = nth(after.iter().enumerate(), AFTER.1, newline).map_or(ceiling, |on| at + on);
    let line = nth(after.iter().enumerate(), 1, newline).map_or(ceiling, |on| at + on);
    (start, line.min(at + STEP), end)
}

/// The position of the `count`-th element that fits.
fn nth<'t>(
    mut bytes: impl Iterator<Item = (usize, &'t u8)>,
    count: usize,
    fits: impl Fn(&u8) -> bool,
) -> Option<usize> {
    let mut left = count;
    bytes.find_map(|(position, byte)| {
        left -= usize::from(fits(byte));
        (left == 0).then_some(position)
    })
}

fn compile(pattern: &Pattern) -> Result<Regex, ScannerError> {
    RegexBuilder::new(pattern.regex)
        .case_insensitive(true)
        .multi_line(true)
        .unicode(false)
        .build()
        .map_err(|source| ScannerError::Pattern {
            rule: pattern.rule.id,
            regex: pattern.regex,
            source: Box::new(source),
        })
}
