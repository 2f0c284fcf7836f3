//! The tables of archives that must be refused and of those that must be read.

use std::fmt::Write;

use prowess_skill::{Bundle, BundleLimits};
use prowess_testkit::{friendly, hostile};

#[test]
fn every_hostile_archive_is_refused_by_its_code() {
    let mut wrong = Vec::new();
    for archive in hostile::all() {
        let code = match Bundle::from_archive(&archive.bytes, &BundleLimits::default()) {
            Ok(_) => "accepted",
            Err(error) => error.code(),
        };
        if code != archive.code {
            wrong.push(format!("{}: {code}, not {}", archive.name, archive.code));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_refusal_names_what_is_wrong_and_where() {
    let mut messages = String::new();
    for archive in hostile::all() {
        let error = Bundle::from_archive(&archive.bytes, &BundleLimits::default()).unwrap_err();
        let message = error.to_string();
        assert!(message.len() < 600, "{message}");
        assert!(!message.contains(char::is_control), "{message}");
        writeln!(messages, "{}\n    {message}", archive.name).unwrap();
    }
    insta::assert_snapshot!("refusals", messages);
}

#[test]
fn names_in_the_hostile_table_are_distinct() {
    let mut names: Vec<_> = hostile::all().into_iter().map(|h| h.name).collect();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn every_archive_by_a_common_tool_is_read() {
    for archive in friendly::all() {
        let bundle = match Bundle::from_archive(&archive.bytes, &BundleLimits::default()) {
            Ok(bundle) => bundle,
            Err(error) => panic!("{}: {error}", archive.name),
        };
        let files: Vec<_> = bundle.files().map(|(path, _)| path.as_str()).collect();
        assert_eq!(files, archive.files, "{}", archive.name);
        assert_eq!(bundle.folder(), archive.folder, "{}", archive.name);
    }
}
