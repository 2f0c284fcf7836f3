//! `docs/configuration.md`: every section and key, of the definition.

use serde_json::Value;

use super::definition::{Definition, TableKeys};

/// What stands before the sections.
const HEAD: &str = include_str!("docs_head.md");

/// The whole page.
pub(super) fn render() -> String {
    let mut page = HEAD.to_owned();
    for (name, defined) in all_keys(Definition::file()).known {
        let about = defined.text("description").unwrap_or_default();
        push_table(&mut page, "##", name, defined, about);
    }
    page
}

/// One table of the file, and the tables below it.
fn push_table(page: &mut String, level: &str, path: &str, defined: Definition, about: &str) {
    let (header, table) = heading(path, defined);
    page.push_str(&format!("\n{level} `{header}`\n"));
    if !about.is_empty() {
        page.push_str(&format!("\n{}\n", one_line(about)));
    }
    let variants = tagged(table);
    let keys = all_keys(table).known;
    let is_common = |name: &str| {
        let mut variants = variants.iter();
        variants.all(|(_, _, variant)| all_keys(*variant).known.iter().any(|(key, _)| *key == name))
    };
    let own = table.field("properties").and_then(Value::as_object);
    let is_own = |name: &str| own.is_some_and(|own| own.contains_key(name));
    let common = keys
        .iter()
        .filter(|(name, _)| is_own(name) || is_common(name));
    push_rows(page, table, common.copied());
    // Kinds with the same keys of their own share a table.
    let mut tables: Vec<(String, Vec<String>)> = Vec::new();
    for (tag, value, variant) in &variants {
        let rest = all_keys(*variant).known;
        let rest = rest
            .iter()
            .filter(|(name, _)| !is_own(name) && !is_common(name));
        let mut rows = String::new();
        push_rows(&mut rows, *variant, rest.copied());
        let written = format!("`{tag} = \"{value}\"`");
        match tables.iter_mut().find(|(known, _)| *known == rows) {
            Some((_, kinds)) => kinds.push(written),
            None => tables.push((rows, vec![written])),
        }
    }
    for (rows, kinds) in tables.iter().filter(|(rows, _)| !rows.is_empty()) {
        page.push_str(&format!("\nWith {}:\n{rows}", kinds.join(", ")));
    }
    for (name, below) in keys {
        let (_, table) = heading(name, below);
        if !all_keys(table).known.is_empty() {
            let path = format!("{path}.{name}");
            push_table(page, &format!("{level}#"), &path, below, "");
        }
    }
}

/// A table of keys.
fn push_rows(
    page: &mut String,
    table: Definition,
    keys: impl Iterator<Item = (&'static str, Definition)>,
) {
    for (place, (name, defined)) in keys.enumerate() {
        if place == 0 {
            page.push_str("\n| key | value | default | |\n|---|---|---|---|\n");
        }
        let cells = [
            format!("`{name}`"),
            value(defined),
            default(table, name, defined),
            description(defined),
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        page.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

/// How a table is written, and its definition: `[name]`, `[name.NAME]` or `[[name]]`.
fn heading(path: &str, defined: Definition) -> (String, Definition) {
    if let Some(items) = defined.items() {
        return (format!("[[{path}]]"), items);
    }
    let keys = all_keys(defined);
    match keys.any.filter(|_| keys.known.is_empty()) {
        Some(any) => (format!("[{path}.NAME]"), any),
        None => (format!("[{path}]"), defined),
    }
}

fn all_keys(defined: Definition) -> TableKeys {
    defined.table_keys(&|_| None)
}

/// The alternatives of a table that a key tells apart: that key, its value, and the rest.
fn tagged(table: Definition) -> Vec<(&'static str, &'static str, Definition)> {
    let alternatives = table.alternatives().into_iter();
    let tagged = alternatives.filter_map(|one| one.tag().map(|(tag, value)| (tag, value, one)));
    tagged.collect()
}

/// What may be written.
fn value(defined: Definition) -> String {
    let words = defined.words();
    if !words.is_empty() {
        let words = words.iter().map(|(word, _)| format!("`\"{word}\"`"));
        return words.collect::<Vec<_>>().join(", ");
    }
    match (defined.text("x-value"), defined.text("x-plain-unit")) {
        (Some("duration"), Some("seconds")) => return "duration".to_owned(),
        (Some("duration"), Some(unit)) => return format!("duration; a number is in {unit}"),
        (Some(what), _) => return what.to_owned(),
        _ => {}
    }
    match defined.text("type") {
        Some("string") => "text".to_owned(),
        Some("boolean") => "`true` or `false`".to_owned(),
        Some("integer") => "whole number".to_owned(),
        Some("number") => "number".to_owned(),
        Some("array") => match defined.items() {
            Some(items) if !all_keys(items).known.is_empty() => "tables, see below".to_owned(),
            Some(items) => format!("list of {}", value(items)),
            None => "list".to_owned(),
        },
        Some("object") => {
            let keys = all_keys(defined);
            match keys.any.filter(|_| keys.known.is_empty()) {
                Some(any) => format!("table of {} by name", value(any)),
                None => "table, see below".to_owned(),
            }
        }
        _ => {
            let alternatives = defined.alternatives().into_iter().map(value);
            let mut alternatives: Vec<_> = alternatives.collect();
            alternatives.dedup();
            alternatives.join(" or ")
        }
    }
}

fn default(table: Definition, name: &str, defined: Definition) -> String {
    let required = table.field("required").and_then(Value::as_array);
    let is_required = required.is_some_and(|required| required.iter().any(|one| one == name));
    let (_, in_words) = about(defined);
    match (in_words, defined.field("default")) {
        (Some(words), _) => words,
        (None, _) if is_required => "required".to_owned(),
        // Lists and tables in JSON are the same in TOML as long as they hold no tables.
        (None, Some(default)) => format!("`{default}`"),
        (None, None) => "none".to_owned(),
    }
}

/// What the key means, and its default in words.
fn about(defined: Definition) -> (String, Option<String>) {
    let text = one_line(defined.text("description").unwrap_or_default());
    let (meaning, described) = match text.split_once(" Default: ") {
        Some((meaning, default)) => (meaning.to_owned(), Some(default.trim_end_matches('.'))),
        None => (text.clone(), None),
    };
    let default = defined.text("x-default").or(described);
    (meaning, default.map(str::to_owned))
}

/// What it means, what its words mean, and its earlier names.
fn description(defined: Definition) -> String {
    let (mut text, _) = about(defined);
    let words = defined.words().into_iter();
    for (word, about) in words.filter(|(_, about)| !about.is_empty()) {
        text.push_str(&format!(" `{word}`: {}", one_line(about)));
    }
    let old: Vec<_> = defined.old_names().map(|old| format!("`{old}`")).collect();
    if !old.is_empty() {
        text.push_str(&format!(" Earlier name: {}.", old.join(", ")));
    }
    text.trim().to_owned()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
