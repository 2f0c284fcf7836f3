//! The condition of a requirement: variables of the environment compared with strings.

use super::cursor::{RequirementCursor, Result};
use std::fmt;

/// Maximum nesting of parentheses.
const MAX_DEPTH: usize = 16;

/// Names of variables, as they may be written and as they are rendered: older spellings
/// are replaced by newer ones.
const VARIABLES: [(&str, &str); 18] = [
    ("python_version", "python_version"),
    ("python_full_version", "python_full_version"),
    ("os_name", "os_name"),
    ("os.name", "os_name"),
    ("sys_platform", "sys_platform"),
    ("sys.platform", "sys_platform"),
    ("platform_release", "platform_release"),
    ("platform_system", "platform_system"),
    ("platform_version", "platform_version"),
    ("platform.version", "platform_version"),
    ("platform_machine", "platform_machine"),
    ("platform.machine", "platform_machine"),
    (
        "platform_python_implementation",
        "platform_python_implementation",
    ),
    (
        "platform.python_implementation",
        "platform_python_implementation",
    ),
    ("python_implementation", "platform_python_implementation"),
    ("implementation_name", "implementation_name"),
    ("implementation_version", "implementation_version"),
    ("extra", "extra"),
];

const COMPARISONS: [&str; 8] = ["===", "~=", "==", "!=", "<=", ">=", "<", ">"];

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Marker {
    /// All of these.
    And(Vec<Marker>),
    /// Any of these.
    Or(Vec<Marker>),
    Compare {
        left: Operand,
        operator: &'static str,
        right: Operand,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operand {
    Variable(&'static str),
    Text(String),
}

impl Marker {
    pub(super) fn parse(cursor: &mut RequirementCursor<'_>) -> Result<Self> {
        parse_any(cursor, 0)
    }
}

fn parse_any(cursor: &mut RequirementCursor<'_>, depth: usize) -> Result<Marker> {
    if depth > MAX_DEPTH {
        return Err("its marker has parentheses too deep");
    }
    let mut parts = vec![parse_all(cursor, depth)?];
    while take_keyword(cursor, "or") {
        parts.push(parse_all(cursor, depth)?);
    }
    Ok(one_or(parts, Marker::Or))
}

fn parse_all(cursor: &mut RequirementCursor<'_>, depth: usize) -> Result<Marker> {
    let mut parts = vec![parse_single(cursor, depth)?];
    while take_keyword(cursor, "and") {
        parts.push(parse_single(cursor, depth)?);
    }
    Ok(one_or(parts, Marker::And))
}

fn take_keyword(cursor: &mut RequirementCursor<'_>, word: &str) -> bool {
    cursor.skip_space();
    cursor.take_word(&[(word, ())]).is_some()
}

fn one_or(mut parts: Vec<Marker>, many: fn(Vec<Marker>) -> Marker) -> Marker {
    match parts.pop() {
        Some(last) if parts.is_empty() => last,
        Some(last) => {
            parts.push(last);
            many(parts)
        }
        None => many(parts),
    }
}

fn parse_single(cursor: &mut RequirementCursor<'_>, depth: usize) -> Result<Marker> {
    cursor.skip_space();
    if cursor.take("(") {
        let inner = parse_any(cursor, depth + 1)?;
        cursor.skip_space();
        return if cursor.take(")") {
            Ok(inner)
        } else {
            Err("a parenthesis of its marker is not closed")
        };
    }
    let left = parse_operand(cursor)?;
    let operator = parse_operator(cursor)?;
    let right = parse_operand(cursor)?;
    match (&left, &right) {
        (Operand::Text(_), Operand::Text(_)) | (Operand::Variable(_), Operand::Variable(_)) => {
            Err("a marker compares a variable with a string")
        }
        _ => Ok(Marker::Compare {
            left,
            operator,
            right,
        }),
    }
}

fn parse_operator(cursor: &mut RequirementCursor<'_>) -> Result<&'static str> {
    cursor.skip_space();
    if let Some(comparison) = cursor.take_any(&COMPARISONS) {
        return Ok(comparison);
    }
    match cursor.take_word(&[("in", true), ("not", false)]) {
        Some(true) => Ok("in"),
        Some(false) if cursor.skip_space() && cursor.take_word(&[("in", ())]).is_some() => {
            Ok("not in")
        }
        _ => Err("a marker compares by ==, !=, <, <=, >, >=, ~=, ===, in or not in"),
    }
}

fn parse_operand(cursor: &mut RequirementCursor<'_>) -> Result<Operand> {
    cursor.skip_space();
    for quote in ["'", "\""] {
        if cursor.take(quote) {
            // No white space: a word after it could be read as an option.
            let fine = |c: char| c.is_ascii_alphanumeric() || "._-+*!".contains(c);
            let text = cursor.take_while(fine);
            return if cursor.take(quote) {
                Ok(Operand::Text(text.to_owned()))
            } else {
                Err("a string of its marker may hold letters, digits and ._-+*! only")
            };
        }
    }
    let variable = cursor.take_word(&VARIABLES);
    variable
        .map(Operand::Variable)
        .ok_or("its marker names a variable that PEP 508 does not have")
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, between) = match self {
            Self::And(parts) => (parts, " and "),
            Self::Or(parts) => (parts, " or "),
            Self::Compare {
                left,
                operator,
                right,
            } => return write!(f, "{left} {operator} {right}"),
        };
        for (index, part) in parts.iter().enumerate() {
            f.write_str(if index > 0 { between } else { "" })?;
            match part {
                Self::Compare { .. } => write!(f, "{part}")?,
                Self::And(_) | Self::Or(_) => write!(f, "({part})")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.write_str(name),
            Self::Text(text) => write!(f, "\"{text}\""),
        }
    }
}
