//! One requirement, parsed by the grammar of PEP 508 and rendered from its parts.
//!
//! The installer never gets the original text: only parsed parts are rendered, in one
//! form. So a requirement cannot smuggle in an option, a URL, a path, a comment or a second
//! line, however an installer would read them. Direct references (`name @ url`) are not
//! supported on purpose: they name a file instead of a package of the operator's index.

mod cursor;
mod marker;

use cursor::{RequirementCursor, Result};
use marker::Marker;
use std::fmt;

/// Longest requirement, in bytes.
pub(super) const MAX_REQUIREMENT_BYTES: usize = 4096;

/// Longest name of a package or an extra, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// Comparisons of versions, the longer before their own beginnings.
const OPERATORS: [&str; 8] = ["===", "~=", "==", "!=", "<=", ">=", "<", ">"];

/// Prefix of the digest of a file that may be installed.
const HASH: &str = "--hash=sha256:";

/// Hexadecimal digits of a SHA-256.
const HASH_DIGITS: usize = 64;

/// Endings of package files. A name with such an ending was meant as a file, but would be
/// rendered as a package name without dots. Other names with dots are packages, such as
/// `backports.lzma`.
const FILES: [&str; 12] = [
    ".whl",
    ".zip",
    ".tar",
    ".tgz",
    ".tbz",
    ".txz",
    ".tlz",
    ".tar.gz",
    ".tar.bz2",
    ".tar.xz",
    ".tar.lz",
    ".tar.lzma",
];

/// Endings of archives: installers treat a line with such an ending as a file. As names are
/// rendered without dots, only a version could have one.
const ARCHIVES: [&str; 12] = [
    ".whl", ".zip", ".tar", ".gz", ".tgz", ".bz2", ".tbz", ".xz", ".txz", ".lz", ".tlz", ".lzma",
];

/// A package, which versions of it, when, and of which content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement {
    /// Normalised by PEP 503.
    name: String,
    /// As they were written, because some installers compare them without normalising;
    /// unique and sorted by their normalised names.
    extras: Vec<String>,
    /// Operator and version.
    versions: Vec<(&'static str, String)>,
    marker: Option<Marker>,
    /// SHA-256 of files, in lower-case hex, sorted.
    hashes: Vec<String>,
}

impl Requirement {
    /// Parses a requirement of PEP 508.
    pub(super) fn parse(text: &str) -> Result<Self> {
        check_characters(text)?;
        let mut cursor = RequirementCursor::new(text);
        cursor.skip_space();
        if cursor.starts_with(['-', '.', '/']) {
            return Err("only package requirements are allowed: no options, paths or URLs");
        }
        let written = parse_name(&mut cursor, "it must begin with the name of a package")?;
        let mut requirement = Self {
            name: normalised(written),
            extras: parse_extras(&mut cursor)?,
            versions: parse_versions(&mut cursor)?,
            marker: None,
            hashes: Vec::new(),
        };
        cursor.skip_space();
        if cursor.take(";") {
            requirement.marker = Some(Marker::parse(&mut cursor)?);
            cursor.skip_space();
        }
        if !cursor.is_at_end() {
            return Err(unexpected(&cursor));
        }
        let plain = Self {
            marker: None,
            ..requirement.clone()
        };
        if ends_with_any(written, &FILES) || ends_with_any(&plain.to_string(), &ARCHIVES) {
            return Err("it must be the name of a package, not of a file");
        }
        Ok(requirement)
    }

    /// Parses a line of a `requirements.txt`, without its comment: a requirement, and
    /// digests of the files that may satisfy it.
    pub(super) fn parse_line(line: &str) -> Result<Self> {
        check_characters(line)?;
        let Some(first) = first_option(line).filter(|first| *first > 0) else {
            return Self::parse(line);
        };
        let (requirement, options) = line.split_at_checked(first).unwrap_or((line, ""));
        let mut requirement = Self::parse(requirement)?;
        for option in options.split_ascii_whitespace() {
            let digest = option.strip_prefix(HASH).ok_or(
                "the only option it can have is --hash=sha256: and the 64 digits of a digest",
            )?;
            if digest.len() != HASH_DIGITS || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err("a --hash=sha256: takes the 64 hexadecimal digits of a digest");
            }
            requirement.hashes.push(digest.to_ascii_lowercase());
        }
        requirement.hashes.sort();
        requirement.hashes.dedup();
        Ok(requirement)
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.extras.is_empty() {
            write!(f, "[{}]", self.extras.join(","))?;
        }
        for (index, (operator, version)) in self.versions.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{operator}{version}")?;
        }
        if let Some(marker) = &self.marker {
            write!(f, " ; {marker}")?;
        }
        for hash in &self.hashes {
            write!(f, " {HASH}{hash}")?;
        }
        Ok(())
    }
}

/// Checks that a requirement is not too long, is ASCII, and has no white space but spaces
/// and tabs.
fn check_characters(text: &str) -> Result<()> {
    if text.len() > MAX_REQUIREMENT_BYTES {
        return Err("it is longer than 4096 bytes");
    }
    if text
        .bytes()
        .any(|byte| byte != b'\t' && byte.is_ascii_control())
        || !text.is_ascii()
    {
        return Err("it holds a control character, or one that is not ASCII");
    }
    Ok(())
}

/// The position of the first word that installers read as an option.
fn first_option(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    (0..bytes.len()).find(|at| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        bytes.get(*at) == Some(&b'-') && before.is_none_or(blank)
    })
}

/// A name: letters, digits and, between them, `.`, `-` and `_`.
fn parse_name<'a>(cursor: &mut RequirementCursor<'a>, missing: &'static str) -> Result<&'a str> {
    let name = cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    if name.len() > MAX_NAME_BYTES || !ends(name.chars().next()) || !ends(name.chars().last()) {
        return Err(missing);
    }
    Ok(name)
}

/// The normalised spelling of a name (PEP 503).
fn normalised(name: &str) -> String {
    let parts = name.split(['.', '-', '_']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn parse_extras(cursor: &mut RequirementCursor<'_>) -> Result<Vec<String>> {
    let mut extras = Vec::new();
    cursor.skip_space();
    if !cursor.take("[") {
        return Ok(extras);
    }
    cursor.skip_space();
    while !cursor.take("]") {
        if !extras.is_empty() && !cursor.take(",") {
            return Err("extras are names with commas between them, in brackets");
        }
        cursor.skip_space();
        let extra = parse_name(
            cursor,
            "extras are names with commas between them, in brackets",
        )?;
        extras.push(extra.to_owned());
        cursor.skip_space();
    }
    extras.sort_by_cached_key(|extra| (normalised(extra), extra.clone()));
    extras.dedup_by_key(|extra| normalised(extra));
    Ok(extras)
}

fn parse_versions(cursor: &mut RequirementCursor<'_>) -> Result<Vec<(&'static str, String)>> {
    cursor.skip_space();
    let parenthesis = cursor.take("(");
    let mut versions = Vec::new();
    cursor.skip_space();
    while let Some(operator) = cursor.take_any(&OPERATORS) {
        cursor.skip_space();
        let fine = |c: char| c.is_ascii_alphanumeric() || "-_.*+!".contains(c);
        let version = cursor.take_while(fine);
        if !version.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err("a version must follow each comparison");
        }
        versions.push((operator, version.to_owned()));
        cursor.skip_space();
        if !cursor.take(",") {
            break;
        }
        cursor.skip_space();
        if !cursor.starts_with(['<', '>', '=', '!', '~']) {
            return Err("another version must follow each comma");
        }
    }
    if parenthesis && (versions.is_empty() || !cursor.take(")")) {
        return Err("what is in parentheses must be versions");
    }
    Ok(versions)
}

fn ends_with_any(text: &str, endings: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    endings.iter().any(|ending| text.ends_with(ending))
}

/// The likely error in the text after a package and its versions.
fn unexpected(cursor: &RequirementCursor<'_>) -> &'static str {
    if cursor.starts_with(['@', '/', ':', '+', '\\', '#']) {
        "it must come from the package index, not from an address or path"
    } else {
        "a package is its name, extras, versions and a marker (PEP 508), and this is more"
    }
}

#[cfg(test)]
mod tests;
