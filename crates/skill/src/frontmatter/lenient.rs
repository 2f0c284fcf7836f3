//! The lenient reading: loads what can be loaded, and reports every deviation.

use std::ops::Range;

use super::fences::{self, FenceError};
use super::node::Node;
use super::repair::{self, RepairKind, RepairedYaml};
use super::source::SourceText;
use super::yaml::{self, YamlError};
use super::{Frontmatter, entries, shift_range};
use crate::diagnostic::{Diagnostic, SourceLocation};
use crate::limits::BundleLimits;
use crate::rules::{self, DiagnosticRule};

pub(super) fn read(
    source: SourceText,
    limits: &BundleLimits,
    file: &str,
) -> (Option<Frontmatter>, Vec<Diagnostic>) {
    let mut reader = LenientReader {
        file,
        limits,
        diagnostics: Vec::new(),
    };
    let frontmatter = reader.read(source);
    (frontmatter, reader.diagnostics)
}

/// Remarks about what precedes the frontmatter.
pub(super) fn lead_notes(source: &SourceText, lead: &Range<usize>, file: &str) -> Vec<Diagnostic> {
    let text = source.slice(lead.clone());
    let mut notes = Vec::new();
    if text.starts_with('\u{feff}') {
        let message = "the file begins with a byte-order mark";
        notes.push(rules::BYTE_ORDER_MARK.at(file, source.location(0..3), message));
    }
    if !text.trim_start_matches('\u{feff}').is_empty() {
        let message = "blank lines precede the frontmatter";
        notes.push(rules::LEADING_LINES.at(file, source.line_location(1), message));
    }
    if source.had_carriage_returns {
        let message = "lines end in carriage returns";
        notes.push(rules::CARRIAGE_RETURNS.at(file, source.line_location(1), message));
    }
    notes
}

struct LenientReader<'a> {
    file: &'a str,
    limits: &'a BundleLimits,
    diagnostics: Vec<Diagnostic>,
}

impl LenientReader<'_> {
    fn read(&mut self, source: SourceText) -> Option<Frontmatter> {
        let fences = match fences::lenient(&source) {
            Ok(fences) => fences,
            Err(error) => {
                self.report_no_fences(&source, error);
                return None;
            }
        };
        self.diagnostics
            .extend(lead_notes(&source, &fences.lead, self.file));
        if fences.yaml.len() > self.limits.frontmatter_bytes {
            let message = format!(
                "the frontmatter has {} bytes; at most {} are read",
                fences.yaml.len(),
                self.limits.frontmatter_bytes
            );
            self.report(
                &rules::FRONTMATTER_TOO_LARGE,
                source.location(0..3),
                message,
            );
            return None;
        }
        let (root, repaired) = self.read_yaml(&source, &fences.yaml)?;
        let root_range = root.range.clone();
        let Some((entries, doubled)) = entries(root) else {
            let message = "the frontmatter is not a mapping of fields";
            self.report(&rules::NOT_A_MAPPING, source.location(root_range), message);
            return None;
        };
        let frontmatter = Frontmatter {
            source,
            entries,
            body: fences.body,
            repaired,
            duplicate_keys: doubled,
        };
        self.note_duplicate_keys(&frontmatter);
        Some(frontmatter)
    }

    fn read_yaml(&mut self, source: &SourceText, range: &Range<usize>) -> Option<(Node, bool)> {
        let text = source.slice(range.clone());
        let reading = yaml::read(text, self.limits);
        self.note_features(source, range.start, &reading);
        let error = match reading.error {
            None => {
                let Some(mut root) = reading.root else {
                    let message = "the frontmatter is empty";
                    self.report(&rules::NOT_A_MAPPING, source.location(0..3), message);
                    return None;
                };
                root.for_each_range(&mut |r| *r = shift_range(r.clone(), range.start));
                return Some((root, false));
            }
            Some(error) => error,
        };
        let repaired = match error {
            YamlError::Syntax { .. } => repair::repair(text, self.limits),
            _ => None,
        };
        let reread = repaired.and_then(|repaired| {
            let reading = yaml::read(&repaired.text, self.limits);
            let root = reading.root.filter(|_| reading.error.is_none())?;
            Some((repaired, root))
        });
        let Some((repaired, mut root)) = reread else {
            self.report_yaml(source, range.start, error);
            return None;
        };
        self.note_repairs(source, range.start, &repaired);
        let map = LineMap::new(source, range.start, &repaired);
        root.for_each_range(&mut |r| *r = map.original_range(r));
        Some((root, true))
    }

    fn report_no_fences(&mut self, source: &SourceText, error: FenceError) {
        let place = source.line_location(1);
        match error {
            FenceError::NotOpened => {
                let message = "the file does not begin with a frontmatter (`---`)";
                self.report(&rules::NO_FRONTMATTER, place, message);
            }
            FenceError::NotClosed => {
                let message = "the frontmatter is not closed: no later line begins with `---`";
                self.report(&rules::UNCLOSED_FRONTMATTER, place, message);
            }
        }
    }

    /// Valid YAML features that strict readers refuse: reported once each.
    fn note_features(&mut self, source: &SourceText, start: usize, reading: &yaml::ParsedYaml) {
        use yaml::FeatureKind as K;
        let kinds = [
            (K::Flow, &rules::FLOW_STYLE, "values in brackets or braces"),
            (K::Anchor, &rules::ANCHORS, "an anchor"),
            (K::Tag, &rules::TAGS, "a type tag"),
        ];
        for (kind, rule, what) in kinds {
            if let Some(feature) = reading.features.iter().find(|f| f.kind == kind) {
                let end = feature.range.end.max(feature.range.start + 1);
                let place = source.location(shift_range(feature.range.start..end, start));
                self.report(rule, place, format!("{what}: some readers reject this"));
            }
        }
    }

    fn note_duplicate_keys(&mut self, frontmatter: &Frontmatter) {
        for key in &frontmatter.duplicate_keys {
            if let Some(entry) = frontmatter.get(key) {
                let message = format!("`{key}` is written more than once; the last one counts");
                self.report(
                    &rules::DUPLICATE_KEY,
                    frontmatter.location(&entry.key_range),
                    message,
                );
            }
        }
    }

    fn note_repairs(&mut self, source: &SourceText, start: usize, repaired: &RepairedYaml) {
        let first_line = source.line_of(start);
        for repair in &repaired.repairs {
            let place = source.line_location(first_line + repair.line);
            match repair.kind {
                RepairKind::Quoted => {
                    let message = "the value needs quotes to be valid YAML; read as text";
                    self.report(&rules::REPAIRED_QUOTES, place, message);
                }
                RepairKind::BlockText => {
                    let message = "text follows a block indicator (`|` or `>`) on its line; read as its first line";
                    self.report(&rules::REPAIRED_BLOCK, place, message);
                }
            }
        }
    }

    fn report_yaml(&mut self, source: &SourceText, start: usize, error: YamlError) {
        match error {
            YamlError::Syntax { kind, at } => {
                let place = source.location(shift_range(at..at + 1, start));
                self.report(
                    &rules::YAML_SYNTAX,
                    place,
                    format!("the YAML cannot be read: {kind}"),
                );
            }
            YamlError::TooManyNodes(limit) => {
                let message =
                    format!("the frontmatter has more than {limit} values, with aliases expanded");
                self.report(&rules::YAML_BUDGET, source.location(start..start), message);
            }
            YamlError::TooMuchText(limit) => {
                let message =
                    format!("aliases in the frontmatter repeat more than {limit} bytes of text");
                self.report(&rules::YAML_BUDGET, source.location(start..start), message);
            }
            YamlError::KeysTooDeep(limit) => {
                let message = format!(
                    "keys of the frontmatter are collections inside one another, more than \
                     {limit} levels deep"
                );
                self.report(&rules::YAML_BUDGET, source.location(start..start), message);
            }
            YamlError::TooDeep(limit) => {
                let message = format!("the frontmatter is nested deeper than {limit} levels");
                self.report(&rules::YAML_BUDGET, source.location(start..start), message);
            }
        }
    }

    fn report(
        &mut self,
        rule: &'static DiagnosticRule,
        place: SourceLocation,
        message: impl Into<String>,
    ) {
        self.diagnostics.push(rule.at(self.file, place, message));
    }
}

/// Maps locations in a repaired text to the original lines.
struct LineMap<'a> {
    source: &'a SourceText,
    first_line: usize,
    repaired_source: SourceText,
    lines: &'a [usize],
}

impl<'a> LineMap<'a> {
    fn new(source: &'a SourceText, start: usize, repaired: &'a RepairedYaml) -> Self {
        LineMap {
            source,
            first_line: source.line_of(start),
            repaired_source: SourceText::new(&repaired.text),
            lines: &repaired.lines,
        }
    }

    /// The location of a repaired range in the original: exact on a line that was
    /// left alone, else the whole line.
    fn original_range(&self, range: &Range<usize>) -> Range<usize> {
        let line = self.repaired_source.line_of(range.start);
        let repaired_range = self.repaired_source.line_range(line);
        let number = self.lines.get(line - 1).copied().unwrap_or_default();
        let original = self.source.line_range(self.first_line + number);
        if self.repaired_source.slice(repaired_range.clone()) == self.source.slice(original.clone())
        {
            let start = original.start + (range.start - repaired_range.start);
            return start..start + range.len();
        }
        let place = self.source.line_location(self.first_line + number);
        place.start..place.end
    }
}
