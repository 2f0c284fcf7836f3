//! Turns parser errors into the reference's messages.
//!
//! The parser names the kind of fault and its place; the reference adds where the
//! thing began, and which token or character it met instead.

use granit_parser::ErrorKind;

use super::flow_error;
use super::marked_error::MarkedYamlError;
use super::text::{column, describe_found, end_of_line, leading_blanks, start_of_line};
use crate::frontmatter::yaml::{ParsedYaml, YamlError};
use crate::python::repr;

/// The bracket that opens the flow collection around `at`, as far as its line shows.
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

/// The reference's message for a parser error.
pub(super) fn syntax_error(text: &str, error: &YamlError, reading: &ParsedYaml) -> MarkedYamlError {
    let (kind, at) = match error {
        YamlError::Syntax { kind, at } => (kind, *at),
        YamlError::TooManyNodes(limit) => {
            return MarkedYamlError::new(format!("more than {limit} nodes"), text.len());
        }
        YamlError::TooMuchText(limit) => {
            let problem = format!("aliases of more than {limit} bytes");
            return MarkedYamlError::new(problem, text.len());
        }
        YamlError::KeysTooDeep(limit) => {
            let problem = format!("keys nested deeper than {limit} levels");
            return MarkedYamlError::new(problem, text.len());
        }
        YamlError::TooDeep(limit) => {
            return MarkedYamlError::new(format!("nested deeper than {limit} levels"), text.len());
        }
    };
    let next = text.get(at..).unwrap_or_default();
    match kind {
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            MarkedYamlError::new("mapping values are not allowed here", at)
        }
        ErrorKind::MappingKeyNotAllowed => {
            MarkedYamlError::new("mapping keys are not allowed here", at)
        }
        ErrorKind::BlockSequenceEntryNotAllowed => {
            MarkedYamlError::new("sequence entries are not allowed here", at)
        }
        ErrorKind::InvalidBlockScalarHeader | ErrorKind::ZeroBlockScalarIndent => {
            block_scalar_header_error(text, at)
        }
        ErrorKind::CommentNotSeparated
            if text.get(..at).is_some_and(|t| t.ends_with(['|', '>'])) =>
        {
            block_scalar_header_error(text, at - 1)
        }
        ErrorKind::SimpleKeyExpected => {
            MarkedYamlError::new("could not find expected ':'", next_token(text, at))
                .during("while scanning a simple key", at)
        }
        ErrorKind::UnexpectedCharacter { .. } => unexpected_character_error(text)(at),
        ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => {
            let tab = next.find('\t').map_or(at, |tab| at + tab);
            unexpected_character_error(text)(tab)
        }
        ErrorKind::MissingAnchorOrAliasName => nameless_error(text, at),
        ErrorKind::UnknownAnchor => {
            let name: String = next
                .chars()
                .skip(1)
                .take_while(|c| !c.is_whitespace())
                .collect();
            MarkedYamlError::new(format!("found undefined alias {}", repr(&name)), at)
        }
        ErrorKind::UnclosedQuotedScalar => {
            MarkedYamlError::new("found unexpected end of stream", text.len())
                .during("while scanning a quoted scalar", at)
        }
        ErrorKind::UnknownQuotedScalarEscape | ErrorKind::InvalidQuotedScalarHexEscape => {
            bad_escape_error(text, at)
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::MismatchedFlowCollectionEnd { .. }
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator => flow_error(outermost_bracket(text, at)),
        ErrorKind::UnclosedVerbatimTag => {
            let stop = next.find([' ', '\n']).map_or(text.len(), |stop| at + stop);
            MarkedYamlError::new(
                format!("expected '>', but found {}", describe_found(text, stop)),
                stop,
            )
            .during("while parsing a tag", at)
        }
        ErrorKind::ExpectedDocumentStart => {
            MarkedYamlError::new("expected '<document start>', but found '<stream end>'", at)
        }
        ErrorKind::MisplacedFlowCollectionEnd
        | ErrorKind::UnexpectedEofBlockMapping
        | ErrorKind::UnexpectedEofBlockSequence
        | ErrorKind::ExpectedNodeContent => misplaced_content_error(text, at),
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry => unexpected_token_error(text, at, reading),
        other => MarkedYamlError::new(other.to_string(), at),
    }
}

pub(super) fn unexpected_character_error(text: &str) -> impl Fn(usize) -> MarkedYamlError {
    move |at| {
        let problem = format!(
            "found character {} that cannot start any token",
            describe_found(text, at)
        );
        MarkedYamlError::new(problem, at).during("while scanning for the next token", None)
    }
}

/// What is wrong with the line that opens a block scalar at `at`.
fn block_scalar_header_error(text: &str, at: usize) -> MarkedYamlError {
    const CONTEXT: &str = "while scanning a block scalar";
    let mut stop = at + 1;
    let mut marks = text.get(stop..).unwrap_or_default().chars().peekable();
    let (mut chomped, mut sized) = (false, false);
    while let Some(&c) = marks.peek() {
        match c {
            '+' | '-' if !chomped => chomped = true,
            '0' if !sized => {
                let problem = "expected indentation indicator in the range 1-9, but found 0";
                return MarkedYamlError::new(problem, stop).during(CONTEXT, at);
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
            describe_found(text, stop)
        );
        return MarkedYamlError::new(problem, stop).during(CONTEXT, at);
    }
    let rest = text.get(stop..).unwrap_or_default();
    stop += rest.len() - rest.trim_start_matches(' ').len();
    let problem = format!(
        "expected a comment or a line break, but found {}",
        describe_found(text, stop)
    );
    MarkedYamlError::new(problem, stop).during(CONTEXT, at)
}

fn nameless_error(text: &str, at: usize) -> MarkedYamlError {
    let anchor = text.get(at..).is_some_and(|t| t.starts_with('&'));
    let context = if anchor {
        "while scanning an anchor"
    } else {
        "while scanning an alias"
    };
    let problem = format!(
        "expected alphabetic or numeric character, but found {}",
        describe_found(text, at + 1)
    );
    MarkedYamlError::new(problem, at + 1).during(context, at)
}

/// The first escape that Python's readers do not know, in the double-quoted
/// text that starts at `at`.
fn bad_escape_error(text: &str, at: usize) -> MarkedYamlError {
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
                return MarkedYamlError::new(problem, at + escape_at).during(CONTEXT, at);
            }
        };
        let first = at + escape_at + 1;
        let rest = text.get(first..).unwrap_or_default();
        if let Some(bad) = rest.chars().take(digits).find(|c| !c.is_ascii_hexdigit()) {
            let problem = format!(
                "expected escape sequence of {digits} hexdecimal numbers, but found {}",
                repr(&bad.to_string())
            );
            return MarkedYamlError::new(problem, first).during(CONTEXT, at);
        }
    }
    MarkedYamlError::new("found unexpected end of stream", text.len())
        .during("while scanning a quoted scalar", at)
}

fn misplaced_content_error(text: &str, at: usize) -> MarkedYamlError {
    let problem = format!(
        "expected the node content, but found '{}'",
        token_at(text, at, at)
    );
    MarkedYamlError::new(problem, at).during("while parsing a block node", None)
}

/// A token where a block collection should go on or end.
fn unexpected_token_error(text: &str, at: usize, reading: &ParsedYaml) -> MarkedYamlError {
    let line = start_of_line(text, at);
    let first = line + leading_blanks(text, line);
    // Dashes and keys are reported after themselves; the token starts the line.
    let starts_line = text
        .get(first..at)
        .is_some_and(|t| t.trim_end() == "-" || t.is_empty());
    let at = if starts_line { first } else { at };
    let Some(start) = reading.open.last().copied() else {
        return MarkedYamlError::new("but found another document", at)
            .during("expected a single document in the stream", first)
            .met_at(at);
    };
    let token = token_at(text, at, start);
    if token == "<scalar>"
        && let Some(colon) = find_value_mark(text, at)
    {
        return MarkedYamlError::new("mapping values are not allowed here", colon);
    }
    let opened_by_dash = text.get(start..).is_some_and(|t| t.starts_with('-'));
    let context = if opened_by_dash {
        "while parsing a block collection"
    } else {
        "while parsing a block mapping"
    };
    let problem = format!("expected <block end>, but found '{token}'");
    MarkedYamlError::new(problem, at)
        .during(context, start)
        .met_at(at)
}

/// The reference's name for the token at `at`, in a collection that began at `start`.
fn token_at(text: &str, at: usize, start: usize) -> String {
    let rest = text.get(at..).unwrap_or_default();
    let starts_line = at == start_of_line(text, at) + leading_blanks(text, start_of_line(text, at));
    let same_column = column(text, at) == column(text, start);
    match rest.chars().next() {
        Some('-') if rest.starts_with("- ") || rest.starts_with("-\n") => if same_column {
            "-"
        } else {
            "<block sequence start>"
        }
        .into(),
        Some(c @ ('[' | ']' | '{' | '}' | ',')) => c.to_string(),
        Some(_) if starts_line && find_value_mark(text, at).is_some() => if same_column {
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
fn find_value_mark(text: &str, at: usize) -> Option<usize> {
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
        let first = line + leading_blanks(text, line);
        let rest = text.get(first..).unwrap_or_default();
        let skipped = rest.starts_with(['#', '\n']) || first - line > indent;
        if !skipped {
            return first;
        }
        line = end_of_line(text, line) + 1;
    }
    text.len()
}
