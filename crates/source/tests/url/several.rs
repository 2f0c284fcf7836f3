//! Archives of several skills, from a disk and by URL: what a code host gives as the zip
//! of a repository, and what people get who pack their folder of skills.

use prowess_source::{Discovery, SearchBounds};
use prowess_testkit::SkillFixture;
use prowess_testkit::raw_tar::RawTar;
use prowess_testkit::raw_zip::{RawEntry, RawZip};

use super::site::Site;
use super::*;

fn skill_md(name: &str) -> Vec<u8> {
    SkillFixture::new(name).skill_md().into_bytes()
}

/// A repository with two skills, as a code host packs it.
fn repository() -> Vec<u8> {
    RawZip::from_entries([
        RawEntry::folder("repo-main/"),
        RawEntry::deflated("repo-main/README.md", b"# Skills"),
        // Outside of skills anything may lie: a link, a name that no skill may have.
        RawEntry::stored("repo-main/latest", b"skills/pdf").mode(0o120_777),
        RawEntry::stored("repo-main/a:b", b"x"),
        RawEntry::deflated("repo-main/skills/pdf/SKILL.md", &skill_md("pdf")),
        RawEntry::deflated("repo-main/skills/pdf/forms/a.md", b"a"),
        RawEntry::deflated("repo-main/skills/xlsx/SKILL.md", &skill_md("xlsx")),
        RawEntry::stored("repo-main/skills/xlsx/run.sh", b"#!/bin/sh\n").mode(0o100_755),
    ])
    .bytes()
}

/// The same as a gzipped tar of the folder of skills alone.
fn tar_of_skills() -> Vec<u8> {
    RawTar::new()
        .file("pdf/SKILL.md", &skill_md("pdf"))
        .file("pdf/forms/a.md", b"a")
        .file("xlsx/SKILL.md", &skill_md("xlsx"))
        .file("xlsx/run.sh", b"#!/bin/sh\n")
        .gz()
}

fn open_file(name: &str, bytes: &[u8]) -> Result<(Vec<Origin>, Discovery), SourceError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    prowess_source::open(&path, &SearchBounds::default())
}

/// Why an archive that is no skill, and holds none, cannot be read.
fn refused(name: &str, bytes: &[u8]) -> &'static str {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let (origins, _) = prowess_source::open(&path, &SearchBounds::default()).unwrap();
    let read = origins[0].load(&BundleLimits::default(), Profile::Lenient);
    read.unwrap_err().code()
}

#[test]
fn an_archive_of_several_skills_gives_each_of_them() {
    for (name, bytes) in [("main.zip", repository()), ("main.tgz", tar_of_skills())] {
        let (origins, discovery) = open_file(name, &bytes).unwrap();
        assert!(discovery.unreadable.is_empty());
        let skills: Vec<Skill> = origins.iter().map(load).collect();
        let seen: Vec<_> = skills
            .iter()
            .map(|skill| (skill.name.as_str(), skill.bundle.len()))
            .collect();
        assert_eq!(seen, [("pdf", 2), ("xlsx", 2)], "{name}");
        let shown = origins[0].path().display().to_string();
        assert!(shown.ends_with("/pdf"), "{shown}");
        if name == "main.zip" {
            assert!(skills[1].bundle.get("run.sh").unwrap().executable);
        }
    }
}

#[test]
fn one_skill_deep_in_a_repository_is_found_too() {
    let bytes = RawZip::from_entries([
        RawEntry::deflated("repo-main/README.md", b"# Skill"),
        RawEntry::deflated("repo-main/skills/pdf/SKILL.md", &skill_md("pdf")),
    ])
    .bytes();
    let (origins, _) = open_file("main.zip", &bytes).unwrap();
    assert_eq!(names(&origins), ["pdf"]);
}

#[test]
fn what_is_wrong_with_one_skill_of_an_archive_is_reported_and_the_others_are_taken() {
    let bytes = RawZip::from_entries([
        RawEntry::deflated("good/SKILL.md", &skill_md("good")),
        RawEntry::deflated("bad/SKILL.md", &skill_md("bad")),
        RawEntry::deflated("bad/a:b", b"x"),
    ])
    .bytes();
    let (origins, discovery) = open_file("main.zip", &bytes).unwrap();
    assert_eq!(names(&origins), ["good"]);
    let codes: Vec<_> = discovery.unreadable.iter().map(SourceError::code).collect();
    assert_eq!(codes, ["path-colon"]);
}

#[test]
fn a_skill_whose_files_cannot_be_read_is_refused_and_not_taken_without_them() {
    let encrypted = RawEntry::stored("bad/data.bin", b"x").change_both(|header| header.flags |= 1);
    let linked = RawEntry::stored("linked/passwd", b"/etc/passwd").mode(0o120_777);
    let bytes = RawZip::from_entries([
        RawEntry::deflated("good/SKILL.md", &skill_md("good")),
        RawEntry::deflated("bad/SKILL.md", &skill_md("bad")),
        encrypted,
        RawEntry::deflated("linked/SKILL.md", &skill_md("linked")),
        linked,
    ])
    .bytes();
    let (origins, discovery) = open_file("main.zip", &bytes).unwrap();
    assert_eq!(names(&origins), ["good"]);
    let codes: Vec<_> = discovery.unreadable.iter().map(SourceError::code).collect();
    assert_eq!(codes, ["encrypted", "link"]);
}

#[test]
fn what_lies_outside_of_the_only_skill_of_a_repository_does_not_refuse_it() {
    let bytes = RawZip::from_entries([
        RawEntry::stored("repo-main/CLAUDE.md", b"AGENTS.md").mode(0o120_777),
        RawEntry::deflated("repo-main/AGENTS.md", b"# Agents"),
        RawEntry::deflated("repo-main/skills/pdf/SKILL.md", &skill_md("pdf")),
    ])
    .bytes();
    let (origins, discovery) = open_file("main.zip", &bytes).unwrap();
    assert_eq!(names(&origins), ["pdf"]);
    assert!(discovery.unreadable.is_empty());
}

#[test]
fn a_skills_own_archive_is_not_repaired_by_leaving_out_what_is_refused() {
    let linked = [
        RawEntry::deflated("pdf/SKILL.md", &skill_md("pdf")),
        RawEntry::stored("pdf/link", b"/etc/passwd").mode(0o120_777),
    ];
    assert_eq!(
        refused("pdf.zip", &RawZip::from_entries(linked).bytes()),
        "link"
    );
    let none = [RawEntry::deflated("a/README.md", b"x")];
    assert_eq!(
        refused("a.zip", &RawZip::from_entries(none).bytes()),
        "no-skill-file"
    );
}

#[test]
fn an_archive_that_changes_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.zip");
    std::fs::write(&path, repository()).unwrap();
    let open = || {
        prowess_source::open(&path, &SearchBounds::default())
            .unwrap()
            .0
    };
    assert_eq!(names(&open()), ["pdf", "xlsx"]);
    assert_eq!(open(), open());
    let other = RawZip::from_entries([
        RawEntry::deflated("docx/SKILL.md", &skill_md("docx")),
        RawEntry::deflated("pptx/SKILL.md", &skill_md("pptx")),
    ]);
    std::fs::write(&path, other.bytes()).unwrap();
    assert_eq!(names(&open()), ["docx", "pptx"]);
}

#[tokio::test]
async fn a_url_of_such_an_archive_gives_all_its_skills_or_the_one_that_is_named() {
    let site = Site::start().await;
    site.put("/main.zip", repository());
    site.put("/skills.tar.gz", tar_of_skills());
    for path in ["/main.zip", "/skills.tar.gz"] {
        let all = open(local(), &site.url(path)).await.unwrap();
        assert_eq!(names(&all), ["pdf", "xlsx"], "{path}");
        let one = format!("{}#xlsx", site.url(path));
        let named = open(local(), &one).await.unwrap();
        assert_eq!(names(&named), ["xlsx"], "{path}");
        let none = format!("{}#docx", site.url(path));
        assert_eq!(code(local(), &none).await, "url-no-such-skill", "{path}");
    }
}
