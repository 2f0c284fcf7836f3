//! Every measured figure in the documentation is one of `bench/results/`.
//!
//! `bench/README.md` shows whole tables, which are generated. README.md, COMPARE.md and
//! docs/operations.md quote single figures; [`QUOTES`] names the cell of each. In the first
//! two, a figure with a unit that no quote covers fails.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod quotes;

use std::fs;
use std::path::{Path, PathBuf};

use prowess_bench_report::{Cell, Results, fill_tables, tables_outside_markers};

use quotes::Source::{self, Least, Most, One, OverLeast, OverMost};
use quotes::{Place, QUOTES, Quote};

/// The sections in which every figure with a unit must be a quote, and what is a condition of
/// a measurement there and not its result.
const SECTIONS: &[(&str, &str, &[&str])] = &[
    ("README.md", "## Why", &["8 skills of 1 MB"]),
    (
        "COMPARE.md",
        "## Numbers",
        &["60 files and 1 MB", "1 event each ms"],
    ),
];

/// What makes a number a figure.
const UNITS: [&str; 6] = ["ms", "µs", "MB", "×", "s", "KB"];

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap().to_owned()
}

fn results_folder() -> PathBuf {
    root().join("bench/results")
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

fn cell(place: Place) -> Cell {
    let Place(file, table, row, column) = place;
    let results = Results::read(&results_folder(), file).unwrap();
    let found = results
        .table(table)
        .and_then(|table| table.cell(row, column));
    let found = found.cloned();
    found.unwrap_or_else(|| panic!("bench/results/{file}.json has no {table}, {row}, {column}"))
}

fn value(source: Source) -> f64 {
    let least = |place| cell(place).min().unwrap();
    let most = |place| cell(place).max().unwrap();
    match source {
        One(place) => match cell(place) {
            Cell::Number(number) => number,
            other => panic!("not one number: {other:?}"),
        },
        Least(place) => least(place),
        Most(place) => most(place),
        OverMost(part, whole) => value(One(part)) / most(whole),
        OverLeast(part, whole) => value(One(part)) / least(whole),
    }
}

/// The numbers of a text that are words of their own, so neither `8a` nor `0.1.1`.
fn numbers(text: &str) -> Vec<&str> {
    text.split(|letter: char| letter.is_whitespace() || matches!(letter, ';' | '|'))
        .map(|word| word.trim_end_matches(','))
        .filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))
        .filter(|word| word.replace(',', "").parse::<f64>().is_ok())
        .collect()
}

/// A value with as many digits after the point as a number in a document has.
fn rounded_like(value: f64, shown: &str) -> String {
    let decimals = shown.split_once('.').map_or(0, |(_, digits)| digits.len());
    format!("{value:.decimals$}")
}

#[test]
fn the_tables_of_the_benchmarks_are_those_of_their_results() {
    let readme = document("bench/README.md");
    let filled = fill_tables(&readme, &results_folder()).unwrap();
    for (number, (shown, generated)) in readme.lines().zip(filled.lines()).enumerate() {
        let line = number + 1;
        assert_eq!(
            shown, generated,
            "bench/README.md:{line} (left) differs from bench/results (right); run `cargo xtask bench --write-only`"
        );
    }
    assert_eq!(readme, filled);
    assert_eq!(
        tables_outside_markers(&readme),
        Vec::<String>::new(),
        "these tables of bench/README.md have no results in bench/results"
    );
}

#[test]
fn every_file_of_results_is_shown() {
    let readme = document("bench/README.md");
    for entry in fs::read_dir(results_folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            readme.contains(&format!("<!-- results: {name}/")),
            "bench/README.md does not show {name}"
        );
        let results = Results::read(&results_folder(), name).unwrap();
        let is_named = name.starts_with(&results.benchmark);
        assert!(is_named, "{name}.json is of {}", results.benchmark);
    }
}

#[test]
fn quoted_figures_are_those_of_the_results() {
    let mut wrong = Vec::new();
    for Quote(file, text, sources) in QUOTES {
        assert!(
            document(file).contains(text),
            "{file} does not contain `{text}`"
        );
        let shown = numbers(text);
        assert_eq!(
            shown.len(),
            sources.len(),
            "`{text}` has other numbers than the list: {shown:?}"
        );
        for (shown, source) in shown.iter().zip(*sources) {
            let measured = rounded_like(value(*source), shown);
            if measured != shown.replace(',', "") {
                wrong.push(format!("{file}: `{text}`: {shown} should be {measured}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn no_figure_is_quoted_without_its_source() {
    for (file, heading, conditions) in SECTIONS {
        let text = document(file);
        let (_, section) = text.split_once(heading).unwrap();
        let end = section.find("\n## ").unwrap_or(section.len());
        let mut section = section.get(..end).unwrap().to_owned();
        let quotes = QUOTES.iter().filter(|quote| quote.0 == *file);
        for text in quotes
            .map(|quote| quote.1)
            .chain(conditions.iter().copied())
        {
            section = section.replace(text, " | ");
        }
        let words: Vec<&str> = section.split_whitespace().collect();
        for pair in words.windows(2) {
            let [number, unit] = pair else { continue };
            let unit = unit.trim_end_matches([',', ';', '.', ')', ':']);
            let is_figure = !numbers(number).is_empty() && UNITS.contains(&unit);
            assert!(
                !is_figure,
                "{file}, {heading}: no source for `{number} {unit}`"
            );
        }
    }
}
