//! Hosts that mean harm, or do not work: each is refused, with a reason.

use std::time::Duration;

use prowess_source::url::{FetchLimits, FetchOptions};
use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::{MockResponse, MockUpstream};

use super::site::Site;
use super::*;

fn with(net: FetchLimits) -> FetchOptions {
    FetchOptions { net, ..local() }
}

#[tokio::test]
async fn a_private_address_is_refused_before_anything_is_sent() {
    let site = Site::start().await;
    site.put("/SKILL.md", SkillFixture::new("a").skill_md());
    let literal = open(FetchOptions::default(), &site.url("/SKILL.md"))
        .await
        .unwrap_err();
    assert_eq!(literal.code(), "url-private-address");
    let shown = literal.to_string().replace(&site.url(""), "http://host");
    insta::assert_snapshot!(shown, @"http://host/SKILL.md: 127.0.0.1 is at 127.0.0.1, which is not on the public internet; --allow-private lets it through");
    // By a name that has to be resolved.
    let named = site.url("/SKILL.md").replace("127.0.0.1", "localhost");
    assert_eq!(
        code(FetchOptions::default(), &named).await,
        "url-private-address"
    );
    assert_eq!(site.requested_paths(), Vec::<String>::new());
}

#[tokio::test]
async fn a_redirect_to_a_metadata_address_is_refused_even_where_private_ones_are_open() {
    let site = Site::start().await;
    site.redirect("/SKILL.md", "http://169.254.169.254/latest/meta-data");
    assert_eq!(
        code(local(), &site.url("/SKILL.md")).await,
        "url-metadata-address"
    );
}

#[tokio::test]
async fn redirects_are_followed_to_other_pages_but_not_to_other_schemes() {
    let site = Site::start().await;
    site.put("/there.md", SkillFixture::new("a").skill_md());
    site.redirect("/SKILL.md", "/there.md");
    assert_eq!(code(local(), &site.url("/SKILL.md")).await, "ok");
    for place in [
        "file:///etc/passwd",
        "ftp://host.test/x",
        "data:text/plain,x",
    ] {
        site.redirect("/SKILL.md", place);
        assert_eq!(
            code(local(), &site.url("/SKILL.md")).await,
            "url-scheme",
            "{place}"
        );
    }
    site.redirect("/SKILL.md", "http://user:pw@host.test/");
    assert_eq!(
        code(local(), &site.url("/SKILL.md")).await,
        "url-credentials"
    );
    site.redirect("/SKILL.md", "http://[half/");
    assert_eq!(
        code(local(), &site.url("/SKILL.md")).await,
        "url-redirect-broken"
    );
}

#[tokio::test]
async fn a_password_in_a_url_is_refused_and_not_repeated() {
    let error = open(local(), "https://me:secret@host.test/SKILL.md").await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), "url-credentials");
    assert!(
        error
            .to_string()
            .starts_with("https://host.test/SKILL.md: "),
        "{error}"
    );
    for other in ["ftp://host.test/x", "file:///etc/passwd"] {
        assert!(prowess_source::url::is_url(Path::new(other)));
        assert_eq!(code(local(), other).await, "url-scheme");
    }
}

#[tokio::test]
async fn redirects_that_never_end_are_not_followed_for_ever() {
    let site = Site::start().await;
    site.redirect("/SKILL.md", "/SKILL.md");
    assert_eq!(
        code(local(), &site.url("/SKILL.md")).await,
        "url-too-many-redirects"
    );
    assert_eq!(site.requested_paths().len(), 6);
}

#[tokio::test]
async fn an_archive_that_is_not_what_its_index_promises_is_not_used_or_kept() {
    let site = Site::start().await;
    let folder = tempfile::tempdir().unwrap();
    let (promised, sent) = (
        SkillFixture::new("a"),
        SkillFixture::new("a").body("Other.\n"),
    );
    site.put(INDEX, index(&[("a", "archive", "a.zip", &zip(&promised))]));
    site.put("/.well-known/agent-skills/a.zip", zip(&sent));
    let error = open(cached(folder.path()), &site.url("/"))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "url-digest-mismatch");
    for skill in [&promised, &sent] {
        let digest = prowess_skill::Digest::from_content(&zip(skill)).to_string();
        assert!(error.to_string().contains(&digest), "{error}");
    }
    let kept = std::fs::read_dir(folder.path().join("bytes"))
        .unwrap()
        .count();
    assert_eq!(kept, 1, "the index alone");
}

#[tokio::test]
async fn a_skill_that_calls_itself_something_else_than_its_index_does_is_refused() {
    let site = Site::start().await;
    let other = SkillFixture::new("other");
    site.put(INDEX, index(&[("a", "archive", "a.zip", &zip(&other))]));
    site.put("/.well-known/agent-skills/a.zip", zip(&other));
    let origins = open(local(), &site.url("/")).await.unwrap();
    let error = origins[0]
        .load(&BundleLimits::default(), Profile::Lenient)
        .unwrap_err();
    assert_eq!(error.code(), "url-name-mismatch");
}

#[tokio::test]
async fn content_that_changed_after_it_was_approved_is_refused_with_both_digests() {
    let site = Site::start().await;
    let (first, second) = (
        SkillFixture::new("a"),
        SkillFixture::new("a").body("Evil.\n"),
    );
    site.put("/a.zip", zip(&first));
    let approved = load(&open(local(), &site.url("/a.zip")).await.unwrap()[0]);
    let pinned = FetchOptions {
        pin: Some(approved.manifest.digest()),
        ..local()
    };
    // Another packing of the same content is the same content.
    site.put("/a.zip", tar_gz(&first));
    assert_eq!(code(pinned.clone(), &site.url("/a.zip")).await, "ok");

    site.put("/a.zip", zip(&second));
    let changed = load(&open(local(), &site.url("/a.zip")).await.unwrap()[0]);
    let error = open(pinned, &site.url("/a.zip")).await.unwrap_err();
    assert_eq!(error.code(), "url-changed");
    for skill in [&approved, &changed] {
        let digest = skill.manifest.digest().to_string();
        assert!(error.to_string().contains(&digest), "{error}");
    }
}

#[tokio::test]
async fn an_index_with_too_many_entries_is_refused() {
    let site = Site::start().await;
    site.put(
        INDEX,
        format!(r#"{{"skills":[{}{{}}]}}"#, "{},".repeat(1000)),
    );
    let error = open(local(), &site.url("/")).await.unwrap_err();
    assert_eq!(error.code(), "url-too-many-entries");
}

#[tokio::test]
async fn skills_that_are_too_large_together_are_refused() {
    let site = Site::start().await;
    let a = SkillFixture::new("a");
    site.put(INDEX, index(&[("a", "archive", "a.zip", &zip(&a))]));
    site.put("/.well-known/agent-skills/a.zip", zip(&a));
    let net = FetchLimits {
        source_bytes: 10,
        ..FetchLimits::default()
    };
    assert_eq!(
        code(with(net), &site.url("/")).await,
        "url-source-too-large"
    );
}

#[tokio::test]
async fn an_endless_body_is_cut_off_at_the_cap() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(
        MockResponse::bytes(200, "application/zip", vec![b'P'; 1 << 20]).then_endless(),
    );
    let url = format!("{}/a.zip", upstream.url());
    assert_eq!(code(local(), &url).await, "url-too-large");
    upstream.client_disconnected().await;
}

#[tokio::test]
async fn a_stated_length_over_the_cap_is_refused_before_the_body() {
    let site = Site::start().await;
    let net = FetchLimits {
        index_bytes: 10,
        ..FetchLimits::default()
    };
    site.put(INDEX, r#"{"skills":[]}"#);
    assert_eq!(code(with(net), &site.url("/")).await, "url-too-large");
}

#[tokio::test]
async fn a_host_that_sends_nothing_is_not_waited_for() {
    let soon = Duration::from_millis(50);
    let net = FetchLimits {
        idle: soon,
        ..FetchLimits::default()
    };
    let upstream = MockUpstream::start().await;
    let url = format!("{}/a.zip", upstream.url());
    upstream.respond(MockResponse::never());
    assert_eq!(code(with(net.clone()), &url).await, "url-idle");
    upstream.respond(MockResponse::bytes(200, "application/zip", "PK").then_hang());
    assert_eq!(code(with(net), &url).await, "url-idle");
}

#[tokio::test]
async fn a_host_that_drips_for_ever_runs_out_of_time() {
    let upstream = MockUpstream::start().await;
    let url = format!("{}/a.zip", upstream.url());
    upstream.respond(MockResponse::bytes(200, "application/zip", "P").then_endless());
    let net = FetchLimits {
        total: Duration::from_millis(50),
        grace: Duration::from_secs(60),
        ..FetchLimits::default()
    };
    let code = code(
        FetchOptions {
            limits: prowess_skill::BundleLimits {
                archive_bytes: u64::MAX / 2,
                ..prowess_skill::BundleLimits::default()
            },
            ..with(net)
        },
        &url,
    );
    assert_eq!(code.await, "url-timeout");
}

#[tokio::test]
async fn a_host_slower_than_the_least_rate_is_given_up() {
    let site = Site::start().await;
    site.put("/a.zip", zip(&SkillFixture::new("a")));
    let net = FetchLimits {
        grace: Duration::ZERO,
        min_bytes_per_second: u64::MAX,
        ..FetchLimits::default()
    };
    assert_eq!(code(with(net), &site.url("/a.zip")).await, "url-too-slow");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_taken_for_whole() {
    let upstream = MockUpstream::start().await;
    let url = format!("{}/SKILL.md", upstream.url());
    let text = SkillFixture::new("a").skill_md();
    upstream.respond(MockResponse::bytes(200, "text/markdown", text).cut_off());
    assert_eq!(code(local(), &url).await, "url-interrupted");
    upstream.respond(MockResponse::hang_up());
    assert_eq!(code(local(), &url).await, "url-unreachable");
}

#[tokio::test]
async fn an_unsolicited_answer_of_not_modified_is_an_error() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::bytes(304, "text/markdown", ""));
    let url = format!("{}/SKILL.md", upstream.url());
    assert_eq!(code(local(), &url).await, "url-status");
}

#[tokio::test]
async fn a_file_of_an_older_index_cannot_lead_out_of_its_skill() {
    let site = Site::start().await;
    for file in [
        "../../secret",
        "/etc/passwd",
        "a\\\\b",
        "http://other.test/x",
        "a/../../b",
    ] {
        site.put(
            OLD_INDEX,
            format!(r#"{{"skills":[{{"name":"a","files":["SKILL.md","{file}"]}}]}}"#),
        );
        assert_eq!(
            code(local(), &site.url("/")).await,
            "url-index-entry",
            "{file}"
        );
    }
    let beyond: Vec<_> = site
        .requested_paths()
        .into_iter()
        .filter(|line| !line.contains("index.json"))
        .collect();
    assert_eq!(beyond, Vec::<String>::new());
}

#[tokio::test]
async fn every_hostile_archive_is_refused_by_url_as_it_is_as_a_file() {
    let site = Site::start().await;
    let fetcher = Fetcher::new(local()).unwrap();
    for case in prowess_testkit::hostile::all() {
        // A bare SKILL.md is no archive, but by URL it is a skill.
        if case.bytes.starts_with(b"---") {
            continue;
        }
        site.put("/a.zip", case.bytes.clone());
        let opened = fetcher.open(&site.url("/a.zip")).await;
        // Refused as one skill; as a source, it is a folder of skills that was packed.
        if ["several-skills", "skill-too-deep", "stray-file"].contains(&case.code) {
            assert!(opened.is_ok(), "{}: {opened:?}", case.name);
            continue;
        }
        let error = opened.unwrap_err();
        // What is no archive at all is not judged as one.
        let other = ["url-not-a-source", "url-index-malformed"];
        let known = error.code() == case.code || other.contains(&error.code());
        assert!(known, "{}: {error}", case.name);
    }
}
