//! A comparison of two skills for people: fields first, then files with their lines. It is read
//! from JSON, as a server and this program describe comparisons in the same way.

use serde_json::Value;

use crate::output::{DIM, ERROR, GOOD, STRONG, format_count, format_size};

pub(super) fn render(compared: &Value) -> String {
    let mut text = String::new();
    if let (Some(from), Some(to)) = (side(compared, "from"), side(compared, "to")) {
        let name = string(compared, "name");
        text.push_str(&format!(
            "{STRONG}{name}{STRONG:#} version {from} -> {to}\n"
        ));
    }
    if compared.get("identical") == Some(&Value::Bool(true)) {
        text.push_str("nothing changed\n");
        return text;
    }
    for field in list(compared, "frontmatter") {
        let (from, to) = (field.get("from"), field.get("to"));
        let name = string(field, "field");
        text.push_str(&format!(
            "{STRONG}{name}{STRONG:#}: {}\n",
            string(field, "change")
        ));
        for (mark, value) in [("-", from), ("+", to)] {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                push_line(&mut text, mark, &shown_value(value));
            }
        }
    }
    for file in list(compared, "files") {
        push_file(&mut text, file);
    }
    for (key, noun) in [("diagnostics", "diagnostic"), ("findings", "finding")] {
        for (list_key, mark) in [("removed", "-"), ("added", "+")] {
            let remarks = compared.get(key).map(|both| list(both, list_key));
            for remark in remarks.unwrap_or_default() {
                push_line(&mut text, mark, &describe_remark(noun, remark));
            }
        }
    }
    let unchanged = compared.get("files_unchanged").and_then(Value::as_u64);
    let unchanged = usize::try_from(unchanged.unwrap_or_default()).unwrap_or_default();
    let count = format_count(unchanged, "file");
    text.push_str(&format!("{DIM}{count} unchanged{DIM:#}\n"));
    text
}

fn push_file(text: &mut String, file: &Value) {
    let size = |side: &str| {
        let size = file.get(side)?.get("size")?.as_u64()?;
        Some(format_size(size))
    };
    let sizes = match (size("from"), size("to")) {
        (Some(from), Some(to)) if from != to => format!("{from} -> {to}"),
        (Some(size), _) | (None, Some(size)) => size,
        (None, None) => String::new(),
    };
    let is = |side: &str, key: &str| file.get(side)?.get(key)?.as_bool();
    let mut remarks = vec![string(file, "change").to_owned(), sizes];
    if file.get("binary") == Some(&Value::Bool(true)) {
        remarks.push("binary".to_owned());
    }
    match (is("from", "executable"), is("to", "executable")) {
        (Some(false), Some(true)) => remarks.push("now executable".to_owned()),
        (Some(true), Some(false)) => remarks.push("no longer executable".to_owned()),
        _ => {}
    }
    let path = string(file, "path");
    text.push_str(&format!(
        "{STRONG}{path}{STRONG:#}: {}\n",
        remarks.join(", ")
    ));
    let Some(diff) = file.get("diff").filter(|diff| !diff.is_null()) else {
        return;
    };
    for hunk in list(diff, "hunks") {
        let number = |key: &str| hunk.get(key).and_then(Value::as_u64).unwrap_or_default();
        text.push_str(&format!(
            "{DIM}@@ -{},{} +{},{} @@{DIM:#}\n",
            number("from_line"),
            number("from_count"),
            number("to_line"),
            number("to_count")
        ));
        for line in list(hunk, "lines") {
            push_line(text, string(line, "op"), string(line, "text"));
        }
    }
    if diff.get("truncated") == Some(&Value::Bool(true)) {
        text.push_str(&format!("{DIM}(truncated){DIM:#}\n"));
    }
}

/// A line with the mark in front of it. Control characters of a skill do not reach the terminal.
fn push_line(text: &mut String, mark: &str, line: &str) {
    let line: String = line
        .chars()
        .map(|c| match c {
            '\t' => ' ',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect();
    let styled = match mark {
        "-" => format!("{ERROR}-{line}{ERROR:#}\n"),
        "+" => format!("{GOOD}+{line}{GOOD:#}\n"),
        mark => format!("{mark}{line}\n"),
    };
    text.push_str(&styled);
}

fn describe_remark(noun: &str, remark: &Value) -> String {
    let code = match string(remark, "code") {
        "" => string(remark, "rule"),
        code => code,
    };
    let (file, severity) = (string(remark, "file"), string(remark, "severity"));
    let message = string(remark, "message");
    format!("{noun} {severity} {code} in {file}: {message}")
}

fn shown_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace('\n', " "),
        other => other.to_string(),
    }
}

fn side<'a>(compared: &'a Value, key: &str) -> Option<&'a str> {
    compared.get(key)?.get("version")?.as_str()
}

fn string<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let list = value.get(key).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
