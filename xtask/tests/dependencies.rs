//! Licences, duplicates and sources of dependencies, as deny.toml allows them, and what two
//! builds share of them.
//!
//! cargo-deny reads the same file and checks the same, and advisories besides. It takes
//! minutes to build, so what can be checked without it is checked here.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use toml::{Table, Value};

/// A package of another project.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dependency {
    name: String,
    version: String,
    licence: String,
    /// Empty for a package from the default registry.
    source: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// All that is built for any system, with all features, tests included.
fn dependencies() -> BTreeSet<Dependency> {
    let lines = tree(&[
        "--workspace",
        "--all-features",
        "--target=all",
        "--edges=normal,build,dev",
        "--format={p}|{l}",
    ]);
    let found: BTreeSet<Dependency> = lines.iter().map(|line| dependency(line)).collect();
    assert!(found.len() > 300, "the search found only {}", found.len());
    found
}

/// What `cargo tree` lists of other projects, a package per line. Its format has a `|`.
fn tree(arguments: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--prefix=none"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout).unwrap();
    let own = format!("({}/", root().display());
    let lines = text.lines().filter(|line| line.contains('|'));
    lines
        .filter(|line| !line.contains(&own))
        .map(str::to_owned)
        .collect()
}

/// `name v1.2.3 (proc-macro) (source)|licence (*)`; the star is for a package whose own
/// dependencies were listed before.
fn dependency(line: &str) -> Dependency {
    let (package, licence) = line.split_once('|').unwrap();
    let package = package.replace(" (proc-macro)", "");
    let mut words = package.splitn(3, ' ');
    Dependency {
        name: words.next().unwrap().to_owned(),
        version: words.next().unwrap().trim_start_matches('v').to_owned(),
        source: words.next().unwrap_or_default().to_owned(),
        licence: licence.trim_end_matches(" (*)").to_owned(),
    }
}

fn rules(section: &str) -> Table {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let rules: Table = text.parse().unwrap();
    rules.get(section).unwrap().as_table().unwrap().clone()
}

fn list(section: &str, key: &str) -> Vec<Value> {
    rules(section).get(key).unwrap().as_array().unwrap().clone()
}

/// Whether an SPDX expression can be met with these licences, and which of them it names.
/// `AND` binds closer than `OR`; old packages write `/` for `OR`.
struct Expression<'a> {
    words: Vec<&'a str>,
    allowed: &'a BTreeSet<String>,
    named: BTreeSet<String>,
}

impl Expression<'_> {
    fn is_allowed(text: &str, allowed: &BTreeSet<String>) -> (bool, BTreeSet<String>) {
        let spaced = text
            .replace('(', " ( ")
            .replace(')', " ) ")
            .replace('/', " OR ");
        let mut words: Vec<&str> = spaced.split_whitespace().collect();
        words.reverse();
        let mut expression = Expression {
            words,
            allowed,
            named: BTreeSet::new(),
        };
        let met = expression.any() && expression.words.is_empty();
        (met, expression.named)
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = self.words.last() == Some(&word);
        if found {
            self.words.pop();
        }
        found
    }

    fn any(&mut self) -> bool {
        let mut met = self.all();
        while self.takes("OR") {
            met |= self.all();
        }
        met
    }

    fn all(&mut self) -> bool {
        let mut met = self.one();
        while self.takes("AND") {
            met &= self.one();
        }
        met
    }

    fn one(&mut self) -> bool {
        if self.takes("(") {
            let met = self.any();
            return self.takes(")") && met;
        }
        let mut licence = self.words.pop().unwrap_or_default().to_owned();
        if self.takes("WITH") {
            licence = format!("{licence} WITH {}", self.words.pop().unwrap_or_default());
        }
        let met = self.allowed.contains(&licence);
        self.named.insert(licence);
        met
    }
}

#[test]
fn expressions_of_licences_are_read() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "A WITH B".to_owned()]);
    let is_allowed = |text| Expression::is_allowed(text, &allowed).0;
    assert!(is_allowed("MIT"));
    assert!(is_allowed("Zlib OR MIT"));
    assert!(is_allowed("Zlib/MIT"));
    assert!(is_allowed("Zlib AND ISC OR MIT"));
    assert!(is_allowed("(Zlib OR MIT) AND A WITH B"));
    assert!(!is_allowed(""));
    assert!(!is_allowed("A"));
    assert!(!is_allowed("MIT AND Zlib"));
    assert!(!is_allowed("(MIT OR Zlib) AND ISC"));
    assert!(!is_allowed("MIT MIT"));
}

#[test]
fn every_licence_is_allowed_and_every_allowed_licence_is_used() {
    let allowed = list("licenses", "allow");
    let allowed: BTreeSet<String> = allowed
        .iter()
        .map(|licence| licence.as_str().unwrap().to_owned())
        .collect();
    let mut named = BTreeSet::new();
    for dependency in dependencies() {
        let (met, own) = Expression::is_allowed(&dependency.licence, &allowed);
        assert!(
            met,
            "deny.toml does not allow the licence of {dependency:?}"
        );
        named.extend(own);
    }
    let unused: Vec<_> = allowed.difference(&named).collect();
    assert_eq!(unused, Vec::<&String>::new(), "deny.toml allows them");
}

#[test]
fn no_package_is_built_twice_without_a_reason() {
    let skipped = list("bans", "skip");
    let skipped = skipped.iter().map(|entry| {
        let text = |key| entry.get(key).and_then(Value::as_str).unwrap();
        assert!(!text("reason").is_empty());
        text("crate").split_once('@').unwrap()
    });
    let skipped: Vec<(&str, &str)> = skipped.collect();
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for dependency in dependencies() {
        let all = versions.entry(dependency.name).or_default();
        all.insert(dependency.version);
    }
    versions.retain(|_, all| all.len() > 1);
    let is_skipped = |name: &str, version: &str| {
        let matches = |prefix: &str| format!("{version}.").starts_with(&format!("{prefix}."));
        let mut entries = skipped.iter();
        entries.any(|(skipped, prefix)| *skipped == name && matches(prefix))
    };
    for (name, all) in &versions {
        let left = all.iter().filter(|version| !is_skipped(name, version));
        assert!(left.count() <= 1, "{name} is built in versions {all:?}");
    }
    for (name, _) in skipped {
        assert!(
            versions.contains_key(name),
            "deny.toml skips {name}, needlessly"
        );
    }
}

/// A package with other features would be compiled once for the tests and once for the wheel.
#[test]
fn the_wheel_of_the_tests_shares_their_packages() {
    let with_features = |arguments: &[&str]| -> BTreeSet<String> {
        let lines = tree(&[arguments, &["--format={p}|{f}"]].concat());
        let lines = lines.iter().map(|line| line.trim_end_matches(" (*)"));
        lines.map(str::to_owned).collect()
    };
    let wheel = [
        "--package=prowess-python",
        "--features=as-in-tests",
        "--edges=normal,build",
    ];
    let wheel = with_features(&wheel);
    assert!(wheel.len() > 200, "the wheel has only {}", wheel.len());
    let tests = with_features(&["--workspace", "--edges=normal,build,dev"]);
    let unshared: Vec<_> = wheel.difference(&tests).collect();
    let expected = Vec::<&String>::new();
    assert_eq!(unshared, expected, "see python/prowess/Cargo.toml");
}

#[test]
fn every_package_is_from_the_default_registry() {
    for dependency in dependencies() {
        assert_eq!(dependency.source, "", "{dependency:?}");
    }
    let mut sources = BTreeSet::new();
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let text = std::fs::read_to_string(root().join(lock)).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("source = "));
        sources.extend(lines.map(str::to_owned));
    }
    assert_eq!(sources.len(), 1, "{sources:?}");
    assert!(sources.iter().all(|source| source.contains("\"registry+")));
}
