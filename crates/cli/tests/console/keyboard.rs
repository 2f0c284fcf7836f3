//! Keys, copy buttons, search as one types; and the same pages without any script.

use prowess_testkit::SkillFixture;
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
        ("gp", "/console/playground"),
        ("gr", "/console/runs"),
        ("gc", "/console/containers"),
        ("gu", "/console/usage"),
        ("gk", "/console/keys"),
        ("gv", "/console/providers"),
        ("ga", "/console/audit"),
        ("ge", "/console/settings"),
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

/// Ids in the text of a page that no button copies. Programs and their output are copied whole.
const NOT_COPIED: &str = "(() => {
  const buttons = [...document.querySelectorAll('[data-copy]')];
  const copied = new Set(buttons.map((button) => button.dataset.copy));
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const missing = [];
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.parentElement.closest('pre, textarea, title, option')) continue;
    for (const [id] of text.data.matchAll(/\\b[a-z]+_[0-9a-z]{16,}\\b/g)) {
      if (!copied.has(id)) missing.push(id);
    }
  }
  return missing;
})()";

#[tokio::test(flavor = "multi_thread")]
async fn every_id_on_a_page_has_a_button_that_copies_it() {
    let story = Story::prepare().await;
    let browser = Browser::start(story.stage.url()).await;
    sign_in(&browser, OPERATOR).await;
    for (name, path) in story.pages() {
        browser.open(&path).await;
        let missing = browser.value(NOT_COPIED).await;
        assert_eq!(missing, json!([]), "{name}");
    }
    // The search finds ids of all kinds if there is no button.
    for id in [&story.skill, &story.run, &story.container, &story.key] {
        let bare = format!("document.querySelector('main').textContent = 'of {id}.'");
        browser.value(&bare).await;
        assert_eq!(browser.value(NOT_COPIED).await, json!([id]));
    }
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

#[tokio::test(flavor = "multi_thread")]
async fn forms_work_without_scripts() {
    let story = Story::prepare().await;
    let browser = Browser::start(story.stage.url()).await;
    let off = json!({"value": true});
    let driver = &browser.driver;
    driver
        .devtools("Emulation.setScriptExecutionDisabled", off)
        .await;
    sign_in(&browser, OPERATOR).await;

    let folder = tempfile::tempdir().unwrap();
    let skill = SkillFixture::new("greeter").write_to(folder.path());
    browser.press("Upload a skill").await;
    let field = browser.field("Files or archives").await;
    let file = skill.join("SKILL.md");
    driver.type_into(&field, file.to_str().unwrap()).await;
    browser.press("Check").await;
    browser.see("can be published").await;
    browser.press("Publish").await;
    browser.expect("//h1[.='greeter']", "the new skill").await;

    browser.open("/console/keys").await;
    browser.press("Create a key").await;
    browser.fill("Name", "by hand").await;
    browser.press("Create the key").await;
    browser.see("the only time").await;

    browser.open("/console/playground").await;
    browser.fill("Model", "demo").await;
    browser.fill("Message", "hello there").await;
    browser.press("Run").await;
    browser
        .expect("//h1[starts-with(., 'Run')]", "the run, ended or not")
        .await;
    let run = story.stage.runs(OPERATOR, 3).await.remove(0);
    browser.open(&format!("/console/runs/{run}")).await;
    browser.see("You said: hello there").await;

    browser.open("/console/audit").await;
    browser.fill("Action", "key.create").await;
    browser.press("Search").await;
    let only = "//tbody[.//code[.='key.create']][not(.//code[.='skill.create'])]";
    browser.expect(only, "only what was searched for").await;
    browser.assert_quiet().await;
}
