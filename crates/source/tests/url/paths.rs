//! One path rule: a path inside a skill means the same bytes wherever it came from.

use prowess_skill::disclose::{self, FileContent};
use prowess_source::SearchBounds;
use prowess_testkit::SkillFixture;

use super::site::Site;
use super::*;

fn bytes(skill: &Skill, path: &str) -> Option<Vec<u8>> {
    disclose::file(skill, path, usize::MAX).map(|content| match content {
        FileContent::Text(fragment) => fragment.text.into_bytes(),
        FileContent::Binary(bytes) => bytes.to_vec(),
    })
}

#[tokio::test]
async fn a_path_means_the_same_bytes_from_a_folder_an_archive_and_every_kind_of_url() {
    let fixture = SkillFixture::new("same")
        .file("a", "a")
        .file("docs/b.md", "b")
        .file("docs/caf\u{e9}.md", "composed")
        .file("Upper.TXT", "upper")
        .file("sp ace/100%.md", "percent")
        .file("raw.bin", &b"\0\xff"[..])
        .script("run.sh", "#!/bin/sh\n");
    let (site, folder) = (Site::start().await, tempfile::tempdir().unwrap());
    let place = fixture.write_to(folder.path());
    let archive = folder.path().join("same.zip");
    std::fs::write(&archive, zip(&fixture)).unwrap();
    site.put("/same.zip", zip(&fixture));
    site.put("/same.tar.gz", tar_gz(&fixture));
    site.put(
        INDEX,
        index(&[("same", "archive", "/same.tar.gz", &tar_gz(&fixture))]),
    );

    let mut skills = Vec::new();
    for path in [&place, &archive] {
        let (origins, _) = prowess_source::open(path, &SearchBounds::default()).unwrap();
        skills.push(load(&origins[0]));
    }
    for url in ["/same.zip", "/same.tar.gz", "/"] {
        let origins = open(local(), &site.url(url)).await.unwrap();
        skills.push(load(&origins[0]));
    }

    let found = [
        "SKILL.md",
        "a",
        "docs/b.md",
        "docs/caf\u{e9}.md",
        "Upper.TXT",
        "sp ace/100%.md",
        "raw.bin",
        "run.sh",
    ];
    let not_found = [
        "./a",
        "docs//b.md",
        "docs/../a",
        "../same/a",
        "/a",
        "/etc/passwd",
        "a/",
        "docs",
        "",
        "docs/cafe\u{301}.md",
        "upper.txt",
        "skill.md",
        "sp%20ace/100%.md",
        "docs\\b.md",
        "a\0",
    ];
    for skill in &skills {
        assert_eq!(skill.manifest, skills[0].manifest);
        for path in found {
            let expected = bytes(&skills[0], path);
            assert!(expected.is_some(), "{path}");
            assert_eq!(bytes(skill, path), expected, "{path}");
        }
        for path in not_found {
            assert_eq!(bytes(skill, path), None, "{path:?}");
        }
    }
}
