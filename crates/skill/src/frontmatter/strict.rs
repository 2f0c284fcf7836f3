//! The strict reading: the verdict and the words of the reference validator.
//!
//! The reference reads a small part of YAML (no flow style, anchors, tags or
//! duplicate keys; tabs only inside text) and reports in the manner of Python's
//! YAML family: a context, a problem, and a snippet for each. The same parser
//! serves here; this module adds what the reference refuses and says everything
//! in its words, so that the two can be compared byte for byte.

use std::ops::Range;

use granit_parser::ErrorKind;

use super::node::{Kind, Node};
use super::yaml::{self, FeatureKind, Reading, YamlError};
use crate::limits::Limits;
use crate::python::repr;

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

/// A complaint in two parts, as Python's YAML readers make them.
#[derive(Debug)]
struct Complaint {
    context: Option<&'static str>,
    /// Where the context began; left out when it is the place of the problem.
    context_at: Option<usize>,
    problem: String,
    problem_at: usize,
    /// How far a reader had come when it met this: decides which complaint is first.
    met_at: usize,
}

impl Complaint {
    fn new(problem: impl Into<String>, problem_at: usize) -> Complaint {
        Complaint {
            context: None,
            context_at: None,
            problem: problem.into(),
            problem_at,
            met_at: problem_at,
        }
    }

    fn during(self, context: &'static str, context_at: impl Into<Option<usize>>) -> Complaint {
        let context_at = context_at.into().filter(|&at| at != self.problem_at);
        let met_at = context_at.map_or(self.met_at, |at| at.min(self.met_at));
        Complaint {
            context: Some(context),
            context_at,
            met_at,
            ..self
        }
    }

    fn met_at(self, met_at: usize) -> Complaint {
        Complaint { met_at, ..self }
    }

    fn refuse(self, text: &str) -> Refusal {
        let mut lines = Vec::new();
        lines.extend(self.context.map(str::to_owned));
        lines.extend(self.context_at.map(|at| mark(text, at)));
        lines.push(self.problem);
        lines.push(mark(text, self.problem_at));
        let end = text.get(self.problem_at..).and_then(|t| t.chars().next());
        Refusal {
            message: lines.join("\n"),
            range: self.problem_at..self.problem_at + end.map_or(0, char::len_utf8),
        }
    }
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

/// The bracket that opens the flow collection around `at`, as far as the line tells.
fn outermost_bracket(text: &str, at: usize) -> usize {
    let line = start_of_line(text, at);
    let before = text.get(line..at).unwrap_or_default();
    let opens = |(i, _): &(usize, &str)| {
        before
            .get(..*i)
            .is_none_or(|b| b.is_empty() || b.ends_with(' '))
    };
    let first = before.match_indices(['[', '{']).find(opens);
    first.map_or(at, |(i, _)| line + i)
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

/// Why the parser stopped, in the reference's words.
fn stop(text: &str, error: &YamlError, reading: &Reading) -> Complaint {
    let (kind, at) = match error {
        YamlError::Syntax { kind, at } => (kind, *at),
        YamlError::TooManyNodes(limit) => {
            return Complaint::new(format!("more than {limit} nodes"), text.len());
        }
        YamlError::TooDeep(limit) => {
            return Complaint::new(format!("nested deeper than {limit} levels"), text.len());
        }
    };
    let next = text.get(at..).unwrap_or_default();
    match kind {
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            Complaint::new("mapping values are not allowed here", at)
        }
        ErrorKind::MappingKeyNotAllowed => Complaint::new("mapping keys are not allowed here", at),
        ErrorKind::BlockSequenceEntryNotAllowed => {
            Complaint::new("sequence entries are not allowed here", at)
        }
        ErrorKind::InvalidBlockScalarHeader | ErrorKind::ZeroBlockScalarIndent => {
            block_scalar_header(text, at)
        }
        ErrorKind::CommentNotSeparated
            if text.get(..at).is_some_and(|t| t.ends_with(['|', '>'])) =>
        {
            block_scalar_header(text, at - 1)
        }
        ErrorKind::SimpleKeyExpected => {
            Complaint::new("could not find expected ':'", next_token(text, at))
                .during("while scanning a simple key", at)
        }
        ErrorKind::UnexpectedCharacter { .. } => unexpected_character(text)(at),
        ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => {
            let tab = next.find('\t').map_or(at, |tab| at + tab);
            unexpected_character(text)(tab)
        }
        ErrorKind::MissingAnchorOrAliasName => nameless(text, at),
        ErrorKind::UnknownAnchor => {
            let name: String = next
                .chars()
                .skip(1)
                .take_while(|c| !c.is_whitespace())
                .collect();
            Complaint::new(format!("found undefined alias {}", repr(&name)), at)
        }
        ErrorKind::UnclosedQuotedScalar => {
            Complaint::new("found unexpected end of stream", text.len())
                .during("while scanning a quoted scalar", at)
        }
        ErrorKind::UnknownQuotedScalarEscape | ErrorKind::InvalidQuotedScalarHexEscape => {
            bad_escape(text, at)
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::MismatchedFlowCollectionEnd { .. }
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator => flow(outermost_bracket(text, at)),
        ErrorKind::UnclosedVerbatimTag => {
            let stop = next.find([' ', '\n']).map_or(text.len(), |stop| at + stop);
            Complaint::new(
                format!("expected '>', but found {}", found(text, stop)),
                stop,
            )
            .during("while parsing a tag", at)
        }
        ErrorKind::ExpectedDocumentStart => {
            Complaint::new("expected '<document start>', but found '<stream end>'", at)
        }
        ErrorKind::MisplacedFlowCollectionEnd
        | ErrorKind::UnexpectedEofBlockMapping
        | ErrorKind::UnexpectedEofBlockSequence
        | ErrorKind::ExpectedNodeContent => misplaced_content(text, at),
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry => unexpected_token(text, at, reading),
        other => Complaint::new(other.to_string(), at),
    }
}

fn unexpected_character(text: &str) -> impl Fn(usize) -> Complaint {
    move |at| {
        let problem = format!(
            "found character {} that cannot start any token",
            found(text, at)
        );
        Complaint::new(problem, at).during("while scanning for the next token", None)
    }
}

/// What is wrong with the line that opens a block scalar at `at`.
fn block_scalar_header(text: &str, at: usize) -> Complaint {
    const CONTEXT: &str = "while scanning a block scalar";
    let mut stop = at + 1;
    let mut marks = text.get(stop..).unwrap_or_default().chars().peekable();
    let (mut chomped, mut sized) = (false, false);
    while let Some(&c) = marks.peek() {
        match c {
            '+' | '-' if !chomped => chomped = true,
            '0' if !sized => {
                let problem = "expected indentation indicator in the range 1-9, but found 0";
                return Complaint::new(problem, stop).during(CONTEXT, at);
            }
            '1'..='9' if !sized => sized = true,
            _ => break,
        }
        stop += 1;
        marks.next();
    }
    if !matches!(marks.peek(), None | Some(' ' | '\n')) {
        let problem = format!(
            "expected chomping or indentation indicators, but found {}",
            found(text, stop)
        );
        return Complaint::new(problem, stop).during(CONTEXT, at);
    }
    let rest = text.get(stop..).unwrap_or_default();
    stop += rest.len() - rest.trim_start_matches(' ').len();
    let problem = format!(
        "expected a comment or a line break, but found {}",
        found(text, stop)
    );
    Complaint::new(problem, stop).during(CONTEXT, at)
}

fn nameless(text: &str, at: usize) -> Complaint {
    let anchor = text.get(at..).is_some_and(|t| t.starts_with('&'));
    let context = if anchor {
        "while scanning an anchor"
    } else {
        "while scanning an alias"
    };
    let problem = format!(
        "expected alphabetic or numeric character, but found {}",
        found(text, at + 1)
    );
    Complaint::new(problem, at + 1).during(context, at)
}

/// The first escape that Python's readers do not know, in the double-quoted
/// text that starts at `at`.
fn bad_escape(text: &str, at: usize) -> Complaint {
    const CONTEXT: &str = "while scanning a double-quoted scalar";
    const SIMPLE: &str = "0abt\tnvfre \"/\\N_LP\n";
    let mut chars = text.get(at..).unwrap_or_default().char_indices().skip(1);
    while let Some((_, c)) = chars.next() {
        if c != '\\' {
            continue;
        }
        let Some((escape_at, escape)) = chars.next() else {
            break;
        };
        let digits = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            c if SIMPLE.contains(c) => continue,
            c => {
                let problem = format!("found unknown escape character {}", repr(&c.to_string()));
                return Complaint::new(problem, at + escape_at).during(CONTEXT, at);
            }
        };
        let first = at + escape_at + 1;
        let rest = text.get(first..).unwrap_or_default();
        if let Some(bad) = rest.chars().take(digits).find(|c| !c.is_ascii_hexdigit()) {
            let problem = format!(
                "expected escape sequence of {digits} hexdecimal numbers, but found {}",
                repr(&bad.to_string())
            );
            return Complaint::new(problem, first).during(CONTEXT, at);
        }
    }
    Complaint::new("found unexpected end of stream", text.len())
        .during("while scanning a quoted scalar", at)
}

fn misplaced_content(text: &str, at: usize) -> Complaint {
    let problem = format!(
        "expected the node content, but found '{}'",
        token_at(text, at, at)
    );
    Complaint::new(problem, at).during("while parsing a block node", None)
}

/// A token where a block collection should go on or end.
fn unexpected_token(text: &str, at: usize, reading: &Reading) -> Complaint {
    let line = start_of_line(text, at);
    let first = line + blanks(text, line);
    // Dashes and keys are reported after themselves; the token starts the line.
    let starts_line = text
        .get(first..at)
        .is_some_and(|t| t.trim_end() == "-" || t.is_empty());
    let at = if starts_line { first } else { at };
    let Some(start) = reading.open.last().copied() else {
        return Complaint::new("but found another document", at)
            .during("expected a single document in the stream", first)
            .met_at(at);
    };
    let token = token_at(text, at, start);
    if token == "<scalar>"
        && let Some(colon) = value_mark(text, at)
    {
        return Complaint::new("mapping values are not allowed here", colon);
    }
    let opened_by_dash = text.get(start..).is_some_and(|t| t.starts_with('-'));
    let context = if opened_by_dash {
        "while parsing a block collection"
    } else {
        "while parsing a block mapping"
    };
    let problem = format!("expected <block end>, but found '{token}'");
    Complaint::new(problem, at)
        .during(context, start)
        .met_at(at)
}

/// The reference's name for the token at `at`, in a collection that began at `start`.
fn token_at(text: &str, at: usize, start: usize) -> String {
    let rest = text.get(at..).unwrap_or_default();
    let starts_line = at == start_of_line(text, at) + blanks(text, start_of_line(text, at));
    let same_column = column(text, at) == column(text, start);
    match rest.chars().next() {
        Some('-') if rest.starts_with("- ") || rest.starts_with("-\n") => if same_column {
            "-"
        } else {
            "<block sequence start>"
        }
        .into(),
        Some(c @ ('[' | ']' | '{' | '}' | ',')) => c.to_string(),
        Some(_) if starts_line && value_mark(text, at).is_some() => if same_column {
            "?"
        } else {
            "<block mapping start>"
        }
        .into(),
        Some(_) => "<scalar>".into(),
        None => "<stream end>".into(),
    }
}

/// The colon that makes the text at `at` a key, on the same line.
fn value_mark(text: &str, at: usize) -> Option<usize> {
    let line = text.get(at..end_of_line(text, at))?;
    if line.starts_with(['"', '\'']) {
        return None;
    }
    let colon = line
        .find(": ")
        .or_else(|| line.strip_suffix(':').map(str::len))?;
    Some(at + colon)
}

/// Where the token after the one-line scalar at `at` begins.
fn next_token(text: &str, at: usize) -> usize {
    let indent = column(text, at);
    let mut line = end_of_line(text, at) + 1;
    while line < text.len() {
        let first = line + blanks(text, line);
        let rest = text.get(first..).unwrap_or_default();
        let skipped = rest.starts_with(['#', '\n']) || first - line > indent;
        if !skipped {
            return first;
        }
        line = end_of_line(text, line) + 1;
    }
    text.len()
}

/// What the reference refuses only once the whole document is read.
fn check_node(text: &str, node: &Node) -> Result<(), Complaint> {
    match &node.kind {
        Kind::Scalar { .. } => Ok(()),
        Kind::Sequence(items) => items.iter().try_for_each(|item| check_node(text, item)),
        Kind::Mapping(entries) => check_mapping(text, node, entries),
    }
}

fn check_mapping(text: &str, node: &Node, entries: &[(Node, Node)]) -> Result<(), Complaint> {
    let merge = entries.iter().find(|(key, _)| key.text() == Some("<<"));
    if let Some((_, value)) = merge.filter(|(_, value)| value.text().is_some()) {
        let problem = "expected a mapping or list of mappings for merging, but found scalar";
        return Err(Complaint::new(problem, value.range.start)
            .during("while constructing a mapping", node.range.start));
    }
    let mut seen = std::collections::HashSet::new();
    for (key, value) in entries {
        if key.text().is_none() {
            return Err(Complaint::new("found unhashable key", key.range.start)
                .during("while constructing a mapping", node.range.start));
        }
        check_node(text, value)?;
        let name = key.key_text();
        if !seen.insert(name.clone()) {
            let problem = format!("Duplicate key '{name}' found");
            return Err(
                Complaint::new(problem, key.range.end).during("While parsing", key.range.start)
            );
        }
    }
    check_indentation(text, entries)
}

/// The reference wants the mappings inside a mapping to begin in one column.
fn check_indentation(text: &str, entries: &[(Node, Node)]) -> Result<(), Complaint> {
    let mut inner = entries
        .iter()
        .map(|(_, value)| value)
        .filter(|value| matches!(value.kind, Kind::Mapping(_)));
    let Some(first) = inner.next() else {
        return Ok(());
    };
    let wanted = column(text, first.range.start);
    match inner.find(|value| column(text, value.range.start) != wanted) {
        None => Ok(()),
        Some(value) => {
            let problem = "Found mapping with indentation inconsistent with previous mapping";
            Err(Complaint::new(problem, value.range.end).during("While parsing", value.range.start))
        }
    }
}

/// `  in "<unicode string>", line L, column C:` and a snippet with a caret.
fn mark(text: &str, at: usize) -> String {
    let line = 1 + text.get(..at).unwrap_or_default().matches('\n').count();
    let column = 1 + column(text, at);
    format!(
        "  in \"<unicode string>\", line {line}, column {column}:\n{}",
        snippet(text, at, line)
    )
}

/// The line around `at`, cut to about 75 characters, and a caret under it.
fn snippet(text: &str, at: usize, line: usize) -> String {
    const INDENT: usize = 4;
    /// How far to either side of the caret the snippet reaches before it is cut.
    const REACH: usize = 36;
    /// What the cut gives up for its dots.
    const CUT: usize = 5;
    const DOTS: &str = " ... ";
    let before: Vec<char> = text
        .get(start_of_line(text, at)..at)
        .unwrap_or_default()
        .chars()
        .collect();
    let after: Vec<char> = text
        .get(at..end_of_line(text, at))
        .unwrap_or_default()
        .chars()
        .collect();
    let (head, before) = match before.len() > REACH {
        true => (
            DOTS,
            before
                .iter()
                .skip(before.len() - (REACH + 1) + CUT)
                .collect(),
        ),
        false => ("", before.iter().collect::<String>()),
    };
    let (tail, after) = match after.len() > REACH {
        true => (DOTS, after.iter().take(REACH + 1 - CUT).collect()),
        false => ("", after.iter().collect::<String>()),
    };
    let caret = INDENT + before.chars().count() + head.len();
    format!(
        "{:INDENT$}{head}{before}{after}{tail}\n{:caret$}^ (line: {line})",
        "", ""
    )
}

/// The character at `at` as Python would print it.
fn found(text: &str, at: usize) -> String {
    let c = text.get(at..).and_then(|t| t.chars().next());
    c.map_or_else(|| "'\\x00'".to_owned(), |c| repr(&c.to_string()))
}

fn start_of_line(text: &str, at: usize) -> usize {
    text.get(..at)
        .and_then(|t| t.rfind('\n'))
        .map_or(0, |end| end + 1)
}

fn end_of_line(text: &str, at: usize) -> usize {
    text.get(at..)
        .and_then(|t| t.find('\n'))
        .map_or(text.len(), |end| at + end)
}

fn column(text: &str, at: usize) -> usize {
    text.get(start_of_line(text, at)..at)
        .unwrap_or_default()
        .chars()
        .count()
}

fn blanks(text: &str, line_start: usize) -> usize {
    let rest = text.get(line_start..).unwrap_or_default();
    rest.len() - rest.trim_start_matches(' ').len()
}
