//! The workflow that makes a release: it calls `cargo xtask dist` and nothing else that builds or
//! publishes, with options that the command has, and CONTRIBUTING.md shows the same call.

use clap::Parser as _;

use super::platform::Platform;
use super::{Args, Artefact};
use crate::Task;
use crate::run::root;

const WORKFLOW: &str = ".github/workflows/release.yml";
const PAGE: &str = "CONTRIBUTING.md";

/// What the page has in place of the tag that started the workflow.
const TAG: &str = "\"$GITHUB_REF_NAME\"";
const TAG_ON_PAGE: &str = "vVERSION";

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The text without comments.
fn commands(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.starts_with('#')).collect()
}

/// The words of the call that names a tag, over lines that end with a backslash.
fn call(text: &str) -> Vec<&str> {
    let (_, rest) = text.split_once("cargo xtask dist --tag").unwrap();
    let mut words = vec!["cargo", "xtask", "dist", "--tag"];
    for line in rest.lines() {
        let (line, goes_on) = match line.trim_end().strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line, false),
        };
        words.extend(line.split_whitespace());
        if !goes_on {
            break;
        }
    }
    words
}

fn dist_args(words: &[&str]) -> Args {
    // Cargo's alias adds the first.
    let words = words.iter().skip(1);
    match Task::try_parse_from(words).unwrap() {
        Task::Dist(args) => args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_workflow_makes_all_that_can_be_made_for_every_platform() {
    let workflow = read(WORKFLOW);
    let args = dist_args(&call(&workflow));
    let host = Platform::X86Gnu;
    let mut platforms = args.platforms(host).unwrap();
    platforms.sort_by_key(|platform| platform.triple());
    let mut all = Platform::ALL;
    all.sort_by_key(|platform| platform.triple());
    assert_eq!(platforms, all);
    for artefact in [
        Artefact::Deb,
        Artefact::Tarball,
        Artefact::Wheel,
        Artefact::Npm,
    ] {
        assert!(args.makes(artefact), "{artefact:?}");
    }
    // Those of this host run on other hosts, too.
    assert!(args.glibc.is_some());
    assert_eq!(args.profile, "dist");
    assert_eq!(args.tag.as_deref(), Some(TAG));
    for platform in all.iter().filter(|platform| **platform != host) {
        let installed = commands(&workflow)
            .into_iter()
            .any(|line| line.contains("rustup target add") && line.contains(platform.triple()));
        assert!(installed, "{}", platform.triple());
    }
}

#[test]
fn the_workflow_builds_and_publishes_nothing_else() {
    let workflow = read(WORKFLOW);
    let lines = commands(&workflow);
    let building = lines.iter().filter(|line| line.contains("cargo "));
    assert_eq!(building.count(), 1);
    let text = lines.join("\n");
    for word in [
        "publish", "secrets.", "twine", "npm ", "docker", "password", "id-token",
    ] {
        assert!(!text.contains(word), "{word}");
    }
    let uploads = lines.iter().filter(|line| line.contains("gh release"));
    assert_eq!(uploads.count(), 1);
    assert!(text.contains("target/dist/artefacts/*"));
}

#[test]
fn the_workflow_has_the_oldest_compiler_that_the_workspace_accepts() {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let oldest = manifest["workspace"]["package"]["rust-version"].as_str();
    let expected = format!("RUSTUP_TOOLCHAIN: \"{}.0\"", oldest.unwrap());
    assert!(read(WORKFLOW).contains(&expected), "{expected}");
}

#[test]
fn the_page_for_contributors_shows_the_same_call() {
    let (workflow, page) = (read(WORKFLOW), read(PAGE));
    assert!(page.contains(WORKFLOW));
    let expected: Vec<&str> = call(&workflow)
        .into_iter()
        .map(|word| if word == TAG { TAG_ON_PAGE } else { word })
        .collect();
    assert_eq!(call(&page), expected);
}
