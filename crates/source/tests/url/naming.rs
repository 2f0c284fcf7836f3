//! What a URL names.

use prowess_source::url::{FetchOptions, RepositoryHost};
use prowess_testkit::SkillFixture;
use prowess_testkit::raw_tar::RawTar;

use super::site::Site;
use super::*;

#[tokio::test]
async fn a_skill_md_and_each_kind_of_archive_are_taken_for_what_their_bytes_are() {
    let site = Site::start().await;
    let skill = SkillFixture::new("pdf").file("a.txt", "a");
    site.put("/pdf/SKILL.md", skill.skill_md());
    site.put("/pdf.zip", zip(&skill));
    site.put("/pdf.skill", zip(&skill));
    site.put("/pdf.tar.gz", tar_gz(&skill));
    // Both the extension and the content type are wrong.
    site.put("/wrong.zip", tar_gz(&skill));
    site.put("/download", zip(&skill));
    site.put("/raw", skill.skill_md());
    for (path, files) in [
        ("/pdf/SKILL.md", 1),
        ("/pdf.zip", 2),
        ("/pdf.skill", 2),
        ("/pdf.tar.gz", 2),
        ("/wrong.zip", 2),
        ("/download?version=1", 2),
        ("/raw", 1),
    ] {
        let origins = open(local(), &site.url(path)).await.unwrap();
        let skill = load(&origins[0]);
        assert_eq!(
            (skill.name.as_str(), skill.bundle.len()),
            ("pdf", files),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_host_or_a_path_with_an_index_gives_all_its_skills_or_the_one_that_is_named() {
    let site = Site::start().await;
    let (a, b) = (
        SkillFixture::new("a"),
        SkillFixture::new("b").file("x", "x"),
    );
    let listed = index(&[
        ("a", "skill-md", "a/SKILL.md", a.skill_md().as_bytes()),
        ("b", "archive", "b.tar.gz", &tar_gz(&b)),
    ]);
    for prefix in ["", "/team"] {
        site.put(&format!("{prefix}{INDEX}"), listed.clone());
        let at = format!("{prefix}/.well-known/agent-skills");
        site.put(&format!("{at}/a/SKILL.md"), a.skill_md());
        site.put(&format!("{at}/b.tar.gz"), tar_gz(&b));
        for url in [
            site.url(prefix),
            site.url(&format!("{prefix}/")),
            site.url(&format!("{prefix}{INDEX}")),
        ] {
            let origins = open(local(), &url).await.unwrap();
            assert_eq!(names(&origins), ["a", "b"], "{url}");
        }
    }
    site.requested_paths();
    let origins = open(local(), &site.url("/team#b")).await.unwrap();
    assert_eq!(names(&origins), ["b"]);
    assert_eq!(origins[0].path().to_str().unwrap(), site.url("/team#b"));
    assert_eq!(
        site.requested_paths(),
        [
            "/team/.well-known/agent-skills/b.tar.gz 200",
            "/team/.well-known/agent-skills/index.json 200"
        ]
    );
    let missing = open(local(), &site.url("/#c")).await.unwrap_err();
    assert_eq!(missing.code(), "url-no-such-skill");
    assert!(
        missing
            .to_string()
            .ends_with("has no skill called `c`; it has a, b"),
        "{missing}"
    );
}

#[tokio::test]
async fn the_older_index_is_read_file_by_file() {
    let site = Site::start().await;
    let skill = SkillFixture::new("old").file("docs/ü b.md", "text");
    site.put(
        OLD_INDEX,
        r#"{"skills":[{"name":"old","description":"d","files":["SKILL.md","docs/ü b.md"]}]}"#,
    );
    site.put("/.well-known/skills/old/SKILL.md", skill.skill_md());
    site.put("/.well-known/skills/old/docs/%C3%BC%20b.md", "text");
    let origins = open(local(), &site.url("")).await.unwrap();
    let loaded = load(&origins[0]);
    assert_eq!(loaded.name, "old");
    assert_eq!(loaded.bundle.get("docs/ü b.md").unwrap().data, "text");
}

#[tokio::test]
async fn a_bad_entry_of_an_index_is_reported_and_leaves_the_others() {
    let site = Site::start().await;
    let a = SkillFixture::new("a");
    site.put(
        INDEX,
        index(&[
            ("a", "skill-md", "a.md", a.skill_md().as_bytes()),
            ("gone", "skill-md", "gone.md", b"x"),
        ]),
    );
    site.put("/.well-known/agent-skills/a.md", a.skill_md());
    let fetcher = Fetcher::new(local()).unwrap();
    let (origins, discovery) = fetcher.open(&site.url("/")).await.unwrap();
    assert_eq!(names(&origins), ["a"]);
    let codes: Vec<_> = discovery.unreadable.iter().map(SourceError::code).collect();
    assert_eq!(codes, ["url-status"]);
    assert!(
        discovery.unreadable[0]
            .to_string()
            .contains("/#gone: answered with status 404")
    );
}

/// A repository as a code host packs it, with things in it that no skill may have.
fn repository(files: &[(&str, String)]) -> Vec<u8> {
    let mut tar = RawTar::new()
        .pax_global(&[("comment", "0123abc")])
        .header(b'2', "r-0123abc/skills/link", 0)
        .file("r-0123abc/odd:name", b"x")
        .file("r-0123abc/.git/SKILL.md", b"x");
    for (path, content) in files {
        tar = tar.file(format!("r-0123abc/{path}"), content.as_bytes());
    }
    tar.gz()
}

fn with_repositories(site: &Site) -> FetchOptions {
    FetchOptions {
        repository_hosts: vec![RepositoryHost {
            host: site.host().to_owned(),
            tree_segments: vec!["tree".to_owned(), "blob".to_owned()],
            archive: site.url("/pack/{owner}/{repo}/{ref}.tar.gz"),
        }],
        ..local()
    }
}

#[tokio::test]
async fn a_repository_gives_the_skills_of_the_folder_that_is_named() {
    let site = Site::start().await;
    let text = |name: &str| SkillFixture::new(name).skill_md();
    let archive = repository(&[
        ("README.md", "read me".to_owned()),
        ("skills/pdf/SKILL.md", text("pdf")),
        ("skills/pdf/a/b.txt", "b".to_owned()),
        ("skills/pdf/examples/SKILL.md", text("inner")),
        ("skills/xlsx/SKILL.md", text("xlsx")),
        ("skills/xlsx/node_modules/x.js", "x".to_owned()),
        ("more/docs/SKILL.md", text("docs")),
    ]);
    site.put("/pack/o/r/HEAD.tar.gz", archive.clone());
    site.put("/pack/o/r/v1.tar.gz", archive);
    let options = with_repositories(&site);
    for (path, expected) in [
        ("/o/r", vec!["docs", "pdf", "xlsx"]),
        ("/o/r/tree/v1/skills", vec!["pdf", "xlsx"]),
        ("/o/r/tree/v1/skills/pdf", vec!["pdf"]),
        ("/o/r/blob/v1/skills/pdf/SKILL.md", vec!["pdf"]),
        ("/o/r#xlsx", vec!["xlsx"]),
    ] {
        let origins = open(options.clone(), &site.url(path)).await.unwrap();
        assert_eq!(names(&origins), expected, "{path}");
    }
    let pdf = open(options.clone(), &site.url("/o/r#pdf")).await.unwrap();
    let files: Vec<_> = load(&pdf[0])
        .bundle
        .files()
        .map(|(path, _)| path.to_string())
        .collect();
    assert_eq!(files, ["SKILL.md", "a/b.txt", "examples/SKILL.md"]);
    let xlsx = open(options.clone(), &site.url("/o/r#xlsx")).await.unwrap();
    assert_eq!(load(&xlsx[0]).bundle.len(), 1);
    assert_eq!(
        code(options.clone(), &site.url("/o/r#nope")).await,
        "url-no-such-skill"
    );
    assert_eq!(
        code(options.clone(), &site.url("/o/r/tree/v1/skill")).await,
        "url-not-a-source"
    );
    assert_eq!(code(options, &site.url("/o/r/tree/v2")).await, "url-status");
}

#[tokio::test]
async fn what_is_no_skill_is_refused_with_the_places_that_were_tried() {
    let site = Site::start().await;
    site.put("/", "<html>Welcome</html>");
    let error = open(local(), &site.url("/")).await.unwrap_err();
    let shown = error.to_string().replace(&site.url(""), "http://host");
    insta::assert_snapshot!(shown, @"http://host/: is not a skill: it is neither a SKILL.md nor an archive, and there is no index at .well-known/agent-skills/index.json or .well-known/skills/index.json");
    assert_eq!(
        code(local(), &site.url("/nothing")).await,
        "url-not-a-source"
    );
    assert_eq!(code(local(), &site.url("/none.md")).await, "url-status");
    site.put("/bad.zip", b"PK\x03\x04 not really".to_vec());
    assert!(
        code(local(), &site.url("/bad.zip"))
            .await
            .starts_with("zip-")
    );
}

#[tokio::test]
async fn a_skill_that_no_host_would_take_is_not_there_to_be_used() {
    let site = Site::start().await;
    let skill = SkillFixture::new("claude-helper");
    site.put("/SKILL.md", skill.skill_md());
    let origins = open(local(), &site.url("/SKILL.md")).await.unwrap();
    let loaded = origins[0]
        .load(&BundleLimits::default(), Profile::Lenient)
        .unwrap();
    assert!(loaded.skill.is_none());
    let codes: Vec<_> = loaded.diagnostics.iter().map(|d| d.code).collect();
    assert!(codes.contains(&"upload-reserved"), "{codes:?}");
}
