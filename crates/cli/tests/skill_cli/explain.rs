//! `skill explain`: what rules mean.

use insta::assert_snapshot;

use crate::workdir::Workdir;

#[test]
fn rules_are_explained() {
    assert_snapshot!(Workdir::new().run(&["skill", "explain", "name-mismatch"]), @"
    exit 0
    --- stdout
    name-mismatch
      The name is the folder's name.

      Rename the folder or the skill.

      Severity: warning; an error with --strict, as for the reference validator.
    --- stderr
    ");
    assert_snapshot!(Workdir::new().run(&["skill", "explain", "no-such-rule"]), @"
    exit 2
    --- stdout
    --- stderr
    error: unknown rule `no-such-rule`; `prowess skill explain` lists all rules
    ");
    assert_snapshot!(Workdir::new().run(&["skill", "explain", "name-missmatch"]), @"
    exit 2
    --- stdout
    --- stderr
    error: unknown rule `name-missmatch`; similar: `name-mismatch`, `TOOL-MISMATCH`, `name-missing`; `prowess skill explain` lists all rules
    ");
    let all = Workdir::new().run(&["skill", "explain"]);
    assert!(all.contains("upload-reserved") && all.contains("EXEC-FETCH"));
}

#[test]
fn rules_of_the_scanner_are_explained() {
    assert_snapshot!(Workdir::new().run(&["skill", "explain", "exec-fetch"]), @"
    exit 0
    --- stdout
    EXEC-FETCH
      Runs code that is not in the skill

      A command downloads or decodes a program and runs it at once. What runs is not what was reviewed, and the server can send something else to each visitor.

      Ship the code in the skill, or install a pinned package whose hash is checked.

      Severity: critical, higher or lower depending on where it is found.
    --- stderr
    ");
}

#[test]
fn rules_are_listed_for_programs() {
    let explain = |code: &str| Workdir::new().json(&["skill", "explain", "--json", code]);
    let all = Workdir::new().json(&["skill", "explain", "--json"]);
    let all = all["rules"].as_array().unwrap();
    let kinds = |kind| all.iter().filter(|rule| rule["kind"] == kind).count();
    assert!(kinds("format") > 30 && kinds("scan") >= 30, "{}", all.len());
    let one = explain("name-mismatch");
    assert!(all.contains(&one));
    assert_eq!(one["strict"], true);
    assert_eq!(explain("SECRET")["kind"], "scan");
}
