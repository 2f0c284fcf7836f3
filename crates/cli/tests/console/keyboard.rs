//! Keys, copy buttons, search as one types; and the same pages without any script.

use serde_json::json;

use crate::browser::{Browser, Scheme};
use crate::every_page::sign_in;
use crate::stage::OPERATOR;
use crate::story::Story;

/// The tab key.
const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";

#[tokio::test(flavor = "multi_thread")]
async fn keys_lead_everywhere_and_ids_are_copied() {
    let story = Story::prepare().await;
    let browser = Browser::start(story.stage.url()).await;
    sign_in(&browser, OPERATOR).await;

    // The first stop of a keyboard leads past the navigation.
    browser.open("/console/skills").await;
    browser.driver.keys(TAB).await;
    let focused = browser.value("document.activeElement.className").await;
    assert_eq!(focused, "skip");
    browser.driver.keys(ENTER).await;
    assert!(browser.place().await.ends_with("#content"));

    // Search as one types, with the words in the address.
    browser.open("/console/skills").await;
    browser.see("translate").await;
    browser.driver.keys("/").await;
    let focused = browser.value("document.activeElement.type").await;
    assert_eq!(focused, "search");
    browser.driver.keys("weekly report").await;
    let only = "//main[.//tbody//a[normalize-space(.)='report']]\
        [not(.//tbody//a[normalize-space(.)='translate'])]";
    browser.expect(only, "only what was searched for").await;
    assert!(
        browser.place().await.contains("weekly"),
        "{}",
        browser.place().await
    );

    for (keys, place) in [
        ("gr", "/console/runs"),
        ("gu", "/console/usage"),
        ("ga", "/console/audit"),
        ("gs", "/console/skills"),
    ] {
        browser.driver.keys("\u{e00c}").await;
        browser.driver.keys(keys).await;
        let current = format!("//nav/a[@href='{place}'][@aria-current='page']");
        browser.expect(&current, place).await;
    }

    let permission = json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    let driver = &browser.driver;
    driver
        .devtools("Browser.grantPermissions", permission)
        .await;
    let skill = format!("/console/skills/{}", story.skill);
    browser.open(&skill).await;
    browser.press(&format!("Copy {}", story.skill)).await;
    browser.see("Copied").await;
    let copied = browser.value("navigator.clipboard.readText()").await;
    assert_eq!(copied, json!(story.skill));
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_work_without_scripts() {
    let story = Story::prepare().await;
    let browser = Browser::start(story.stage.url()).await;
    let off = json!({"value": true});
    let driver = &browser.driver;
    driver
        .devtools("Emulation.setScriptExecutionDisabled", off)
        .await;
    sign_in(&browser, OPERATOR).await;

    browser.fill("Search", "weekly report").await;
    browser.press("Search").await;
    browser.see("report").await;
    assert!(
        browser.place().await.contains("q=weekly"),
        "{}",
        browser.place().await
    );

    browser.press("report").await;
    browser.see("Weekly report").await;
    browser.open(&format!("/console/runs/{}", story.run)).await;
    browser
        .expect("//*[contains(@class, 'waterfall')]", "waterfall")
        .await;

    // The navigation of narrow screens opens by a checkbox.
    browser.look(Scheme::Light, 360).await;
    let hidden = "getComputedStyle(document.querySelector('nav.nav')).display";
    assert_eq!(browser.value(hidden).await, "none");
    let switch = browser.field("Show the navigation").await;
    browser.click(&switch).await;
    browser.press("Keys").await;
    browser.see("ci").await;
    browser.assert_quiet().await;
}
