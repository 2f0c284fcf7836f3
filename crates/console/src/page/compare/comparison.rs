//! The difference of two versions, as pages show it: fields first, then files, then what the
//! checks say of one and not of the other.

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use crate::api::PageError;
use crate::format::{bytes, shorten};

/// Characters of a field's value that are shown.
const VALUE_CHARS: usize = 1_000;
/// Lines of all files together that are shown; pages stay small.
const MAX_LINES: usize = 2_500;
/// Files and remarks that are listed.
const MAX_FILES: usize = 200;
const MAX_REMARKS: usize = 100;

/// The difference of two versions. Templates show it by `{{ comparison|safe }}`: it escapes
/// itself.
#[derive(Debug, Deserialize, Template)]
#[template(path = "comparison.html")]
pub(in crate::page) struct Comparison {
    pub(in crate::page) identical: bool,
    frontmatter: Vec<FieldRow>,
    files: Vec<FileRow>,
    files_unchanged: u64,
    diagnostics: Remarks,
    findings: Remarks,
    /// Files that are not listed.
    #[serde(default)]
    left_out: usize,
}

#[derive(Debug, Deserialize)]
struct FieldRow {
    field: String,
    from: Value,
    to: Value,
}

#[derive(Debug, Deserialize)]
struct FileRow {
    path: String,
    change: String,
    from: Option<FileState>,
    to: Option<FileState>,
    binary: bool,
    diff: Option<FileDiff>,
}

#[derive(Debug, Deserialize)]
struct FileState {
    size: u64,
    #[serde(default)]
    executable: bool,
}

#[derive(Debug, Deserialize)]
struct FileDiff {
    truncated: bool,
    hunks: Vec<Hunk>,
}

#[derive(Debug, Deserialize)]
struct Hunk {
    from_line: u64,
    to_line: u64,
    lines: Vec<HunkLine>,
}

#[derive(Debug, Deserialize)]
struct HunkLine {
    op: String,
    text: String,
}

#[derive(Debug, Default, Deserialize)]
struct Remarks {
    added: Vec<Remark>,
    removed: Vec<Remark>,
}

/// A diagnostic or a finding.
#[derive(Debug, Deserialize)]
struct Remark {
    #[serde(alias = "rule")]
    code: String,
    severity: String,
    file: String,
    message: String,
    #[serde(alias = "remedy")]
    fix: Option<String>,
}

impl Comparison {
    /// Reads an answer of the API, or the same of an upload.
    pub(in crate::page) fn read(answer: Value) -> Result<Comparison, PageError> {
        let read: Result<Comparison, _> = serde_json::from_value(answer);
        let mut read = read.map_err(|error| {
            PageError::internal("the comparison from the API has an unexpected form", &error)
        })?;
        read.cut();
        Ok(read)
    }

    /// Leaves out what would make the page too large.
    fn cut(&mut self) {
        self.left_out = self.files.len().saturating_sub(MAX_FILES);
        self.files.truncate(MAX_FILES);
        let mut left = MAX_LINES;
        for diff in self.files.iter_mut().filter_map(|file| file.diff.as_mut()) {
            for hunk in &mut diff.hunks {
                diff.truncated |= hunk.lines.len() > left;
                hunk.lines.truncate(left);
                left -= hunk.lines.len();
            }
            diff.hunks.retain(|hunk| !hunk.lines.is_empty());
        }
        for remarks in [&mut self.diagnostics, &mut self.findings] {
            remarks.added.truncate(MAX_REMARKS);
            remarks.removed.truncate(MAX_REMARKS);
        }
    }
}

impl FieldRow {
    fn before(&self) -> Option<String> {
        shown(&self.from)
    }

    fn after(&self) -> Option<String> {
        shown(&self.to)
    }
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(shorten(text, VALUE_CHARS)),
        other => Some(shorten(&other.to_string(), VALUE_CHARS)),
    }
}

impl FileRow {
    /// The colour of the change.
    fn badge(&self) -> &'static str {
        match self.change.as_str() {
            "added" => "ok",
            "removed" => "bad",
            _ => "warn",
        }
    }

    /// How its size and mode changed.
    fn summary(&self) -> String {
        let size = |state: &Option<FileState>| state.as_ref().map(|state| bytes(state.size));
        let sizes = match (size(&self.from), size(&self.to)) {
            (Some(from), Some(to)) if from != to => format!("{from} → {to}"),
            (from, to) => to.or(from).unwrap_or_default(),
        };
        let executable = |state: &Option<FileState>| state.as_ref().is_some_and(|it| it.executable);
        let (was, is) = (executable(&self.from), executable(&self.to));
        match (self.from.is_some() && self.to.is_some(), was, is) {
            (true, false, true) => format!("{sizes}, executable now"),
            (true, true, false) => format!("{sizes}, not executable any more"),
            _ => sizes,
        }
    }

    /// Lines added and removed.
    fn counts(&self) -> (usize, usize) {
        let hunks = self.diff.iter().flat_map(|diff| &diff.hunks);
        let lines: Vec<&str> = hunks
            .flat_map(|hunk| &hunk.lines)
            .map(|line| line.op.as_str())
            .collect();
        let count = |op| lines.iter().filter(|own| **own == op).count();
        (count("+"), count("-"))
    }
}

impl HunkLine {
    fn class(&self) -> &'static str {
        match self.op.as_str() {
            "+" => "diff-add",
            "-" => "diff-del",
            _ => "diff-ctx",
        }
    }
}

impl Remarks {
    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

impl Remark {
    /// The colour of its severity.
    fn badge(&self) -> &'static str {
        match self.severity.as_str() {
            "error" | "critical" | "high" => "bad",
            "warning" | "medium" => "warn",
            _ => "muted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn comparison(lines: usize) -> Comparison {
        let line = json!({"op": "+", "text": "<script>alert(1)</script>"});
        let answer = json!({
            "identical": false,
            "frontmatter": [{"field": "description", "change": "changed", "from": "a", "to": "<b>"}],
            "files": [{
                "path": "<i>.md", "change": "changed", "binary": false,
                "from": {"size": 10, "digest": "sha256:0", "executable": false},
                "to": {"size": 1200, "digest": "sha256:1", "executable": true},
                "diff": {"truncated": false, "hunks": [{
                    "from_line": 1, "from_count": 0, "to_line": 1, "to_count": 1,
                    "lines": vec![line; lines],
                }]},
            }],
            "files_unchanged": 2,
            "files_truncated": false,
            "diagnostics": {"added": [{"code": "x", "severity": "warning", "file": "a", "message": "<u>"}], "removed": []},
            "findings": {"added": [], "removed": [{"rule": "y", "severity": "high", "file": "a", "message": "m", "remedy": "r"}]},
        });
        Comparison::read(answer).unwrap()
    }

    #[test]
    fn a_difference_is_shown_and_nothing_of_it_is_html() {
        let html = comparison(2).render().unwrap();
        for bad in ["<script", "<b>", "<i>", "<u>"] {
            assert!(!html.contains(bad), "{html}");
        }
        for good in ["+2", "executable now", "diff-add", "10 B → 1.2 KB"] {
            assert!(html.contains(good), "{good}: {html}");
        }
    }

    #[test]
    fn long_differences_are_cut_visibly() {
        let cut = comparison(10_000);
        assert!(cut.files[0].diff.as_ref().unwrap().truncated);
        assert_eq!(cut.files[0].counts(), (MAX_LINES, 0));
    }
}
