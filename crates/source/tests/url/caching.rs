//! What is cached, for how long, and when a host is queried again.

use prowess_source::url::{FetchOptions, FetchState};
use prowess_testkit::SkillFixture;

use super::site::{Page, Site};
use super::*;

/// A page with an ETag.
fn tagged(body: impl Into<Vec<u8>>, cache_control: &str) -> Page {
    Page {
        body: body.into(),
        headers: vec![("cache-control", cache_control.to_owned())],
        etag: true,
        ..Page::default()
    }
}

async fn state(options: FetchOptions, url: &str) -> Result<FetchState, &'static str> {
    match open(options, url).await {
        Err(error) => Err(error.code()),
        Ok(origins) => match &origins[0] {
            Origin::Url(remote) => Ok(remote.state),
            other => Err(other.path().to_str().map_or("?", |_| "a path")),
        },
    }
}

#[tokio::test]
async fn what_is_fresh_is_used_without_asking_and_what_is_not_is_confirmed() {
    let (site, folder) = (Site::start().await, tempfile::tempdir().unwrap());
    let text = SkillFixture::new("a").skill_md();
    let options = cached(folder.path());
    site.page("/fresh/SKILL.md", tagged(text.clone(), "max-age=600"));
    site.page("/old/SKILL.md", tagged(text.clone(), "max-age=0"));

    let fresh = site.url("/fresh/SKILL.md");
    assert_eq!(
        state(options.clone(), &fresh).await,
        Ok(FetchState::Fetched)
    );
    assert_eq!(state(options.clone(), &fresh).await, Ok(FetchState::Cached));
    assert_eq!(site.requested_paths(), ["/fresh/SKILL.md 200"]);

    let old = site.url("/old/SKILL.md");
    assert_eq!(state(options.clone(), &old).await, Ok(FetchState::Fetched));
    assert_eq!(
        state(options.clone(), &old).await,
        Ok(FetchState::Revalidated)
    );
    assert_eq!(
        site.requested_paths(),
        ["/old/SKILL.md 200", "/old/SKILL.md 304"]
    );

    let changed = SkillFixture::new("a").body("New.\n").skill_md();
    site.page("/old/SKILL.md", tagged(changed.clone(), "max-age=0"));
    let origins = open(options.clone(), &old).await.unwrap();
    assert_eq!(load(&origins[0]).bundle.skill_md(), changed.as_bytes());
    site.requested_paths();

    let refresh = FetchOptions {
        refresh: true,
        ..options
    };
    assert_eq!(state(refresh, &fresh).await, Ok(FetchState::Fetched));
    assert_eq!(site.requested_paths(), ["/fresh/SKILL.md 200"]);
}

#[tokio::test]
async fn a_host_that_knows_only_times_is_queried_by_time() {
    let upstream = prowess_testkit::upstream::MockUpstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let time = "Sat, 01 Nov 2025 00:00:00 GMT";
    let text = SkillFixture::new("a").skill_md();
    let answer = |status, text: &str| {
        prowess_testkit::upstream::MockResponse::bytes(status, "text/markdown", text)
            .header("last-modified", time)
            .header("cache-control", "no-cache")
    };
    upstream.respond(answer(200, &text));
    let url = format!("{}/SKILL.md", upstream.url());
    assert_eq!(
        state(cached(folder.path()), &url).await,
        Ok(FetchState::Fetched)
    );
    upstream.respond_always(prowess_testkit::upstream::MockResponse::hang_up());
    assert_eq!(
        upstream.next_request().await.header("if-modified-since"),
        None
    );
    assert_eq!(
        state(cached(folder.path()), &url).await,
        Err("url-unreachable")
    );
    assert_eq!(
        upstream.next_request().await.header("if-modified-since"),
        Some(time)
    );
}

#[tokio::test]
async fn what_must_not_be_stored_is_not() {
    let (site, folder) = (Site::start().await, tempfile::tempdir().unwrap());
    let text = SkillFixture::new("a").skill_md();
    site.page("/SKILL.md", tagged(text, "no-store"));
    for _ in 0..2 {
        let state = state(cached(folder.path()), &site.url("/SKILL.md")).await;
        assert_eq!(state, Ok(FetchState::Fetched));
    }
    assert_eq!(
        std::fs::read_dir(folder.path().join("bytes"))
            .unwrap()
            .count(),
        0
    );
}

#[tokio::test]
async fn offline_uses_what_is_fresh_and_reports_why_it_cannot_use_the_rest() {
    let (mut site, folder) = (Site::start().await, tempfile::tempdir().unwrap());
    let text = SkillFixture::new("a").skill_md();
    site.page("/fresh", tagged(text.clone(), "max-age=600"));
    site.page("/old.md", tagged(text, "max-age=0"));
    let online = cached(folder.path());
    for path in ["/fresh", "/old.md"] {
        state(online.clone(), &site.url(path)).await.unwrap();
    }
    site.stop().await;
    let offline = FetchOptions {
        offline: true,
        ..online.clone()
    };
    assert_eq!(
        state(offline.clone(), &site.url("/fresh")).await,
        Ok(FetchState::Cached)
    );
    assert_eq!(
        state(online, &site.url("/fresh")).await,
        Ok(FetchState::Cached)
    );
    for (path, why) in [
        (
            "/old.md",
            "the cached content is no longer fresh; use --stale to accept it",
        ),
        ("/never.md", "it is not in the cache"),
        ("/never", "it is not in the cache"),
    ] {
        let error = open(offline.clone(), &site.url(path)).await.unwrap_err();
        assert_eq!(error.code(), "url-offline");
        assert!(error.to_string().ends_with(why), "{error}");
    }
    let stale = FetchOptions {
        stale_if_error: true,
        ..offline
    };
    assert_eq!(
        state(stale, &site.url("/old.md")).await,
        Ok(FetchState::Stale)
    );
}

#[tokio::test]
async fn an_outage_is_bridged_by_what_is_kept_only_if_that_was_chosen() {
    let (mut site, folder) = (Site::start().await, tempfile::tempdir().unwrap());
    let skill = SkillFixture::new("a").file("x", "x");
    site.page(
        INDEX,
        tagged(
            index(&[("a", "archive", "a.zip", &zip(&skill))]),
            "max-age=0",
        ),
    );
    site.put("/.well-known/agent-skills/a.zip", zip(&skill));
    let strict = cached(folder.path());
    let lenient = FetchOptions {
        stale_if_error: true,
        ..strict.clone()
    };
    assert_eq!(
        names(&open(strict.clone(), &site.url("/")).await.unwrap()),
        ["a"]
    );
    site.page(
        INDEX,
        Page {
            status: Some(503),
            ..Page::default()
        },
    );
    assert_eq!(code(strict.clone(), &site.url("/")).await, "url-status");
    assert_eq!(
        names(&open(lenient.clone(), &site.url("/")).await.unwrap()),
        ["a"]
    );
    site.stop().await;
    assert_eq!(code(strict, &site.url("/")).await, "url-unreachable");
    assert_eq!(names(&open(lenient, &site.url("/")).await.unwrap()), ["a"]);
}

#[tokio::test]
async fn an_artifact_that_an_index_names_by_digest_is_fetched_once_wherever_it_lies() {
    let (site, folder) = (Site::start().await, tempfile::tempdir().unwrap());
    let skill = SkillFixture::new("a");
    let entry = |url| index(&[("a", "archive", url, &zip(&skill))]);
    site.page(INDEX, tagged(entry("a.zip"), "max-age=0"));
    site.page(
        "/.well-known/agent-skills/a.zip",
        tagged(zip(&skill), "max-age=0"),
    );
    assert_eq!(code(cached(folder.path()), &site.url("/")).await, "ok");
    site.page(
        INDEX,
        tagged(entry("https://elsewhere.test/a.zip"), "max-age=0"),
    );
    site.requested_paths();
    assert_eq!(code(cached(folder.path()), &site.url("/")).await, "ok");
    assert_eq!(
        site.requested_paths(),
        ["/.well-known/agent-skills/index.json 200"]
    );
}

#[tokio::test]
async fn what_was_approved_is_used_from_the_cache_whatever_its_host_has_now() {
    let (site, folder) = (Site::start().await, tempfile::tempdir().unwrap());
    let approved = SkillFixture::new("a").skill_md();
    site.page("/a", tagged(approved.clone(), "max-age=0"));
    let origins = open(cached(folder.path()), &site.url("/a")).await.unwrap();
    let pinned = FetchOptions {
        pin: Some(load(&origins[0]).manifest.digest()),
        ..cached(folder.path())
    };
    let evil = SkillFixture::new("a").body("Evil.\n").skill_md();
    site.page("/a", tagged(evil, "max-age=0"));
    site.requested_paths();
    let origins = open(pinned.clone(), &site.url("/a")).await.unwrap();
    assert_eq!(load(&origins[0]).bundle.skill_md(), approved.as_bytes());
    assert_eq!(site.requested_paths(), Vec::<String>::new());
    std::fs::remove_dir_all(folder.path()).unwrap();
    assert_eq!(code(pinned, &site.url("/a")).await, "url-changed");
}

#[tokio::test]
async fn what_came_from_a_private_address_is_not_for_those_to_whom_they_are_closed() {
    let (site, folder) = (Site::start().await, tempfile::tempdir().unwrap());
    site.put("/SKILL.md", SkillFixture::new("a").skill_md());
    let url = site.url("/SKILL.md").replace("127.0.0.1", "localhost");
    assert_eq!(
        state(cached(folder.path()), &url).await,
        Ok(FetchState::Fetched)
    );
    let closed = FetchOptions {
        allow_private: false,
        ..cached(folder.path())
    };
    assert_eq!(state(closed, &url).await, Err("url-private-address"));
}

#[tokio::test]
async fn a_cache_that_cannot_be_used_is_reported_and_not_worked_around() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Fetcher::new(cached(&file)).err().unwrap();
    assert_eq!(error.code(), "url-cache");
}

#[tokio::test]
async fn several_fetchers_share_a_cache_at_the_same_time() {
    let (site, folder) = (Site::start().await, tempfile::tempdir().unwrap());
    let skill = SkillFixture::new("a").file("x", vec![7; 100_000]);
    site.page("/a.zip", tagged(zip(&skill), "max-age=0"));
    let url = site.url("/a.zip");
    let one = || async { names(&open(cached(folder.path()), &url).await.unwrap()) };
    let all = futures_util::future::join_all((0..16).map(|_| one())).await;
    assert!(all.iter().all(|names| names == &["a"]));
}
