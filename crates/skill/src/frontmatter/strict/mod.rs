//! The strict reading: the verdict and the words of the reference validator.
//!
//! The reference reads a small part of YAML (no flow style, anchors, tags or
//! duplicate keys; tabs only inside text) and reports in the manner of Python's
//! YAML family: a context, a problem, and a snippet for each. The same parser
//! serves here; this module adds what the reference refuses and says everything
//! in its words, so that the two can be compared byte for byte.

mod complaint;
mod syntax;
mod text;
mod tree;

use std::ops::Range;

use granit_parser::ErrorKind;

use super::node::Node;
use super::yaml::{self, FeatureKind, Reading, YamlError};
use crate::limits::Limits;
use complaint::Complaint;
use syntax::{stop, unexpected_character};
use text::end_of_line;
use tree::check_node;

/// A YAML text that the reference refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The reference's words, snippets included.
    pub(super) message: String,
    /// The bytes of the YAML text at fault.
    pub(super) range: Range<usize>,
}

/// Reads a YAML text as the reference does. `Ok(None)` is an empty document.
pub(super) fn read(text: &str, limits: &Limits) -> Result<Option<Node>, Refusal> {
    let reading = yaml::read(text, limits);
    if let Some(complaint) = complain(text, &reading) {
        return Err(complaint.refuse(text));
    }
    if let Some(root) = &reading.root {
        check_node(text, root).map_err(|complaint| complaint.refuse(text))?;
    }
    Ok(reading.root)
}

/// The first thing the reference would stumble over while reading, if any.
fn complain(text: &str, reading: &Reading) -> Option<Complaint> {
    let stopped = reading
        .error
        .as_ref()
        .map(|error| stop(text, error, reading));
    let refused = reading.features.iter().find_map(refuse_feature);
    let tab = stray_tab(text, reading).map(unexpected_character(text));
    let second = second_document(reading);
    [refused, tab, second, stopped]
        .into_iter()
        .flatten()
        .min_by_key(|complaint| complaint.met_at)
}

fn refuse_feature(feature: &yaml::Feature) -> Option<Complaint> {
    let Range { start, end } = feature.range;
    let complaint = match feature.kind {
        FeatureKind::Flow => flow(start),
        FeatureKind::Anchor => {
            let problem = "Found confusing disallowed anchor token \
                           (surround with ' and ' to make text appear literally)";
            Complaint::new(problem, end).during("While scanning", start)
        }
        FeatureKind::Tag => {
            let problem = "Found disallowed tag tokens (do not specify types in markup)";
            Complaint::new(problem, start).during("While scanning", end)
        }
        FeatureKind::Alias | FeatureKind::Text => return None,
    };
    Some(complaint.met_at(start))
}

fn flow(at: usize) -> Complaint {
    let problem = "Found ugly disallowed JSONesque flow mapping \
                   (surround with ' and ' to make text appear literally)";
    Complaint::new(problem, at + 1).during("While scanning", at)
}

/// The first tab that is not inside quoted or block text, or a comment.
fn stray_tab(text: &str, reading: &Reading) -> Option<usize> {
    let mut at = 0;
    let mut inside = reading
        .features
        .iter()
        .filter(|f| f.kind == FeatureKind::Text)
        .map(|f| f.range.clone())
        .peekable();
    while let Some(c) = text.get(at..)?.chars().next() {
        while inside.next_if(|range| range.end <= at).is_some() {}
        if let Some(range) = inside.next_if(|range| range.contains(&at)) {
            at = range.end;
            continue;
        }
        match c {
            '\t' => return Some(at),
            '#' if starts_comment(text, at) => at = end_of_line(text, at),
            c => at += c.len_utf8(),
        }
    }
    None
}

fn starts_comment(text: &str, at: usize) -> bool {
    text.get(..at)
        .and_then(|before| before.chars().next_back())
        .is_none_or(|before| matches!(before, ' ' | '\n'))
}

fn second_document(reading: &Reading) -> Option<Complaint> {
    let root = reading.root.as_ref()?;
    let second = match reading.error {
        // Content to the left of the first document's begins another one.
        Some(YamlError::Syntax {
            kind: ErrorKind::ExpectedDocumentStart,
            at,
        }) => at,
        _ => *reading.documents.get(1)?,
    };
    let complaint = Complaint::new("but found another document", second)
        .during("expected a single document in the stream", root.range.start);
    Some(complaint.met_at(second))
}
