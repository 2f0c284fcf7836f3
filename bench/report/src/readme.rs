//! The places of a document that show tables of result files.
//!
//! A place begins with a comment that names file and table, `results: pack/times`, and ends
//! with `end of results`. What is between them is generated.

use std::path::Path;

use anyhow::Context as _;

use crate::results::Results;

const START: &str = "<!-- results: ";
const START_END: &str = " -->";
const END: &str = "<!-- end of results -->";
/// The longest line of generated text, apart from tables.
const LINE_WIDTH: usize = 95;

/// The document with every marked place as the files in `results` say.
pub fn fill_tables(document: &str, results: &Path) -> anyhow::Result<String> {
    let mut filled = String::new();
    let mut rest = document;
    while let Some((before, after)) = rest.split_once(START) {
        let (name, after) = after.split_once(START_END).context("a marker has no end")?;
        let (old, after) = after
            .split_once(END)
            .with_context(|| format!("`{name}` is not followed by `{END}`"))?;
        anyhow::ensure!(!old.contains(START), "`{name}` contains another marker");
        let table = place(name, results)?;
        filled += &format!("{before}{START}{name}{START_END}\n{table}{END}");
        rest = after;
    }
    Ok(filled + rest)
}

/// The first line of each table that no marker surrounds, so that nobody checks it.
pub fn tables_outside_markers(document: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    let mut before = "";
    for line in document.lines() {
        if line.starts_with(START) {
            inside = true;
        } else if line.starts_with(END) {
            inside = false;
        }
        if !inside && line.starts_with("|---") {
            found.push(before.to_owned());
        }
        before = line;
    }
    found
}

/// Conditions above the first table of a file, then caption and table.
fn place(name: &str, results: &Path) -> anyhow::Result<String> {
    let (file, table_name) = name
        .split_once('/')
        .with_context(|| format!("`{name}` does not name a file and a table"))?;
    let results = Results::read(results, file)?;
    let table = results.table(table_name);
    let table = table.with_context(|| format!("{file}.json has no table `{table_name}`"))?;
    let mut text = String::new();
    if results.tables.first() == Some(table) {
        text += &wrap(&results.conditions());
    }
    if !table.caption.is_empty() {
        text += &wrap(&table.caption);
    }
    Ok(format!("{text}{}", table.markdown()))
}

/// A paragraph in lines of bounded length, with an empty line after it.
fn wrap(paragraph: &str) -> String {
    let mut lines = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            *line += word;
        } else if line.chars().count() + 1 + word.chars().count() <= LINE_WIDTH {
            *line += " ";
            *line += word;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n") + "\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Machine;
    use crate::table::{Column, Table};

    #[test]
    fn wrapped_lines_keep_all_words() {
        let wrapped = wrap(&"word ".repeat(40));
        assert!(wrapped.lines().all(|line| line.len() <= LINE_WIDTH));
        assert_eq!(wrapped.split_whitespace().count(), 40);
    }

    #[test]
    fn marked_places_are_filled_from_files_and_others_are_found() {
        let folder = std::env::temp_dir().join(format!("bench-report-{}", std::process::id()));
        let mut table = Table::new("times", [Column::number("prowess", "ms", 1)]);
        table.push("unpack", [Some(2.5.into())]);
        let results = Results {
            benchmark: "pack".to_owned(),
            date: "2026-11-15".to_owned(),
            commit: None,
            profile: None,
            machine: Machine {
                cores: 2,
                kernel: None,
            },
            note: "Idle.".to_owned(),
            tables: vec![table],
        };
        results.write(&folder, "pack").unwrap();
        let document = |inside: &str| {
            format!("a\n<!-- results: pack/times -->\n{inside}<!-- end of results -->\nb\n")
        };
        let shown =
            "2 cores, 2026-11-15. Idle.\n\n| | prowess |\n|---|---:|\n| unpack | 2.5 ms |\n";
        let filled = fill_tables(&document("old\n"), &folder);
        let unknown = fill_tables(&document("").replace("times", "other"), &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(filled.unwrap(), document(shown));
        let error = unknown.unwrap_err().to_string();
        assert_eq!(error, "pack.json has no table `other`");
        assert_eq!(tables_outside_markers(&document(shown)), [""; 0]);
        assert_eq!(tables_outside_markers(shown), ["| | prowess |"]);
    }
}
