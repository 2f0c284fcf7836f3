//! What holds for every page: accessible in light and dark, on wide and narrow screens; no
//! error and no request to elsewhere; no wider than the screen; small.

use crate::accessible::Rules;
use crate::browser::{Browser, Scheme};
use crate::pictures;
use crate::stage::{OPERATOR, Stage};
use crate::story::{SCRIPT, Story};

/// Bytes of a page with everything it loads, compressed.
const MAX_PAGE_BYTES: usize = 60 << 10;

const LOOKS: [(Scheme, u32); 4] = [
    (Scheme::Light, 1280),
    (Scheme::Light, 360),
    (Scheme::Dark, 1280),
    (Scheme::Dark, 360),
];

pub(crate) async fn sign_in(browser: &Browser, key: &str) {
    browser.open("/console").await;
    browser.fill("API key", key).await;
    browser.press("Sign in").await;
    browser.expect("//nav", "navigation").await;
}

/// Looks at the current page in every way, and gives what is wrong with it.
pub(crate) async fn inspect(browser: &Browser, rules: &Rules, name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (scheme, width) in LOOKS {
        browser.look(scheme, width).await;
        let look = format!("{name}-{}-{width}", scheme.name());
        pictures::save(&look, &browser.picture().await);
        let found = rules.violations(browser).await;
        wrong.extend(found.iter().map(|it| format!("{look}: {it}")));
        let wide = "document.documentElement.scrollWidth";
        let wide = browser.value(wide).await.as_u64().unwrap();
        if wide > u64::from(width) {
            wrong.push(format!("{look}: {wide} pixels wide"));
        }
    }
    browser.look(Scheme::Light, 1280).await;
    let quiet = browser.problems(&[]).await;
    wrong.extend(quiet.iter().map(|it| format!("{name}: {it}")));
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_accessible_and_quiet_in_every_look() {
    let story = Story::prepare().await;
    let browser = Browser::start(story.stage.url()).await;
    let rules = Rules::read();
    browser.open("/console").await;
    let mut wrong = inspect(&browser, &rules, "sign-in").await;
    sign_in(&browser, OPERATOR).await;
    for (name, path) in story.pages() {
        browser.open(&path).await;
        wrong.extend(inspect(&browser, &rules, name).await);
    }
    browser.open("/console/nothing/here").await;
    // The browser notes the status of the page.
    wrong.extend(browser.problems(&["404"]).await);
    wrong.extend(inspect(&browser, &rules, "not-found").await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_without_anything_to_show_name_the_next_step() {
    let stage = Stage::start(SCRIPT);
    let key = stage.key("new", "empty", "admin");
    let browser = Browser::start(stage.url()).await;
    let rules = Rules::read();
    sign_in(&browser, &key).await;
    let mut wrong = Vec::new();
    for (name, path) in [
        ("empty-skills", "/console/skills"),
        ("empty-runs", "/console/runs"),
        ("empty-containers", "/console/containers"),
        ("empty-usage", "/console/usage"),
    ] {
        browser.open(path).await;
        browser
            .expect("//*[contains(@class, 'empty')]//pre", "next command")
            .await;
        wrong.extend(inspect(&browser, &rules, name).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_small_with_everything_it_loads() {
    let story = Story::prepare().await;
    let session = story.stage.sign_in(OPERATOR).await;
    for (name, path) in story.pages() {
        let page = session.get(&path).await;
        let html = page.text();
        let mut bytes = compressed(&session, &path).await;
        for part in html.split("=\"/console/assets/").skip(1) {
            let asset = part.split('"').next().unwrap();
            bytes += compressed(&session, &format!("/console/assets/{asset}")).await;
        }
        assert!(bytes <= MAX_PAGE_BYTES, "{name}: {bytes} bytes");
    }
}

/// Bytes of a response as a browser gets it.
async fn compressed(session: &crate::stage::Session<'_>, path: &str) -> usize {
    let request = session.request(reqwest::Method::GET, path);
    let answer = session
        .send(request.header("accept-encoding", "gzip"))
        .await;
    assert_eq!(answer.status, 200, "{path}");
    if answer.body.len() > 2048 {
        assert_eq!(answer.header("content-encoding"), "gzip", "{path}");
    }
    answer.body.len()
}
