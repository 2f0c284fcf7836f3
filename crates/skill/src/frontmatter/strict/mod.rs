//! The strict reading: the verdict and the messages of the reference validator.
//!
//! The reference reads a small part of YAML (no flow style, anchors, tags or
//! duplicate keys; tabs only inside text) and reports in the manner of Python's
//! YAML family: a context, a problem, and a snippet for each. This module uses the same
//! parser as the lenient reading, refuses what the reference refuses, and gives its
//! messages, so that the two can be compared byte for byte.

mod marked_error;
mod syntax;
mod text;
mod tree;

use std::ops::Range;

use granit_parser::ErrorKind;

use super::node::Node;
use super::yaml::{self, FeatureKind, ParsedYaml, YamlError};
use crate::limits::BundleLimits;
use marked_error::MarkedYamlError;
use syntax::{syntax_error, unexpected_character_error};
use text::end_of_line;
use tree::check_node;

/// A YAML text that the reference refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StrictYamlError {
    /// The reference's message, snippets included.
    pub(super) message: String,
    /// The bytes of the YAML text at fault.
    pub(super) range: Range<usize>,
}

/// Reads a YAML text as the reference does. `Ok(None)` is an empty document.
pub(super) fn read(text: &str, limits: &BundleLimits) -> Result<Option<Node>, StrictYamlError> {
    let reading = yaml::read(text, limits);
    if let Some(complaint) = first_problem(text, &reading) {
        return Err(complaint.into_strict_error(text));
    }
    if let Some(root) = &reading.root {
        check_node(text, root).map_err(|complaint| complaint.into_strict_error(text))?;
    }
    Ok(reading.root)
}

/// The first thing the reference would stumble over while reading, if any.
fn first_problem(text: &str, reading: &ParsedYaml) -> Option<MarkedYamlError> {
    let stopped = reading
        .error
        .as_ref()
        .map(|error| syntax_error(text, error, reading));
    let refused = reading.features.iter().find_map(feature_error);
    let tab = find_stray_tab(text, reading).map(unexpected_character_error(text));
    let second = second_document_error(reading);
    [refused, tab, second, stopped]
        .into_iter()
        .flatten()
        .min_by_key(|complaint| complaint.met_at)
}

fn feature_error(feature: &yaml::Feature) -> Option<MarkedYamlError> {
    let Range { start, end } = feature.range;
    let complaint = match feature.kind {
        FeatureKind::Flow => flow_error(start),
        FeatureKind::Anchor => {
            let problem = "Found confusing disallowed anchor token \
                           (surround with ' and ' to make text appear literally)";
            MarkedYamlError::new(problem, end).during("While scanning", start)
        }
        FeatureKind::Tag => {
            let problem = "Found disallowed tag tokens (do not specify types in markup)";
            MarkedYamlError::new(problem, start).during("While scanning", end)
        }
        FeatureKind::Alias | FeatureKind::Text => return None,
    };
    Some(complaint.met_at(start))
}

fn flow_error(at: usize) -> MarkedYamlError {
    let problem = "Found ugly disallowed JSONesque flow mapping \
                   (surround with ' and ' to make text appear literally)";
    MarkedYamlError::new(problem, at + 1).during("While scanning", at)
}

/// The first tab that is not inside quoted or block text, or a comment.
fn find_stray_tab(text: &str, reading: &ParsedYaml) -> Option<usize> {
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

fn second_document_error(reading: &ParsedYaml) -> Option<MarkedYamlError> {
    let root = reading.root.as_ref()?;
    let second = match reading.error {
        // Content to the left of the first document's begins another one.
        Some(YamlError::Syntax {
            kind: ErrorKind::ExpectedDocumentStart,
            at,
        }) => at,
        _ => *reading.documents.get(1)?,
    };
    let complaint = MarkedYamlError::new("but found another document", second)
        .during("expected a single document in the stream", root.range.start);
    Some(complaint.met_at(second))
}
