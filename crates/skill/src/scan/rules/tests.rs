//! What holds the tables together: every pattern finds its own example, and
//! every rule is reachable.

use std::collections::BTreeSet;

use super::{RULES, patterns};
use crate::scan::{ScanLimits, Scanner, Subject, SubjectFile};

#[test]
fn the_built_in_rules_compile() {
    if let Err(error) = Scanner::new() {
        panic!("{error}");
    }
}

#[test]
fn every_pattern_finds_its_own_example() {
    let scanner = Scanner::new().unwrap();
    for pattern in patterns() {
        let (path, text) = pattern.example;
        let file = SubjectFile {
            path,
            data: text.as_bytes(),
            executable: false,
        };
        let subject = Subject {
            files: vec![file],
            skill_file: "SKILL.md",
            ..Subject::default()
        };
        let report = scanner.scan(&subject, &ScanLimits::default());
        let hit =
            |f: &&crate::scan::Finding| f.rule == pattern.rule.id && f.message == pattern.message;
        assert!(
            report.findings.iter().any(|f| hit(&f)),
            "{} `{}` does not find its example {text:?} in {path}: {:#?}",
            pattern.rule.id,
            pattern.regex,
            report.findings
        );
    }
}

#[test]
fn every_pattern_belongs_to_a_listed_rule_and_has_lower_case_anchors() {
    for pattern in patterns() {
        assert!(
            RULES.iter().any(|rule| rule.id == pattern.rule.id),
            "{}",
            pattern.rule.id
        );
        assert!(!pattern.anchors.is_empty(), "{}", pattern.regex);
        for anchor in pattern.anchors {
            assert_eq!(*anchor, anchor.to_lowercase(), "{}", pattern.regex);
        }
    }
}

#[test]
fn rule_identifiers_are_unique() {
    let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), RULES.len());
}
