//! What people do, from signing in to searching the audit log, in one browser.

use std::fs;
use std::path::Path;

use prowess_skill::{ArchiveLayout, Bundle, BundleLimits};
use prowess_testkit::SkillFixture;
use reqwest::Method;
use serde_json::Value;

use crate::accessible::Rules;
use crate::browser::Browser;
use crate::every_page::{inspect, sign_in};
use crate::pictures;
use crate::stage::Stage;
use crate::story::{SCRIPT, better_report, report};

/// A browser, and what is looked at on the way.
struct Journey<'a> {
    stage: &'a Stage,
    browser: &'a Browser,
    rules: &'a Rules,
    key: &'a str,
}

impl Journey<'_> {
    /// Looks at the page as it is now: accessible in light and dark, on wide and narrow screens,
    /// quiet, without the key, and a picture of it.
    async fn look(&self, name: &str) {
        pictures::save(name, &self.browser.picture().await);
        let wrong = inspect(self.browser, self.rules, name).await;
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        self.assert_without_key(name).await;
    }

    /// No script of a page can read the key, wherever it looks.
    async fn assert_without_key(&self, name: &str) {
        let key = self.key;
        let found = self
            .browser
            .value(&format!(
                "[document.cookie, document.documentElement.outerHTML,
                  JSON.stringify({{...localStorage}}), JSON.stringify({{...sessionStorage}})]
                 .some((text) => text.includes('{key}'))"
            ))
            .await;
        assert_eq!(found, false, "{name}");
    }

    async fn sign_in(&self) {
        let (browser, key) = (self.browser, self.key);
        browser.open("/").await;
        browser.fill("API key", "sk-pw-0000000000000000").await;
        browser.press("Sign in").await;
        browser
            .expect("//*[@role='alert']", "why the key is refused")
            .await;
        browser.assert_quiet_but(&["401"]).await;
        browser.fill("API key", key).await;
        browser.press("Sign in").await;
        browser.see("There are no skills yet").await;
        let cookies = browser.value("document.cookie").await;
        assert_eq!(cookies, "", "no script sees the session");
        self.assert_without_key("after signing in").await;
    }

    /// Drops a broken skill, mends it as the page says, and publishes it.
    async fn upload(&self, folder: &Path) {
        let browser = self.browser;
        let skill = report().write_to(folder);
        let whole = fs::read_to_string(skill.join("SKILL.md")).unwrap();
        let broken = whole.replace("description:", "descriptoin:");
        fs::write(skill.join("SKILL.md"), broken).unwrap();

        browser.press("Upload a skill").await;
        browser.drop_files("#drop", &[&skill]).await;
        browser.see("cannot be published").await;
        browser
            .expect("//mark[contains(., 'descriptoin')]", "the line at fault")
            .await;
        browser.expect("//*[@class='fix']", "what to do").await;
        self.look("upload-broken").await;

        fs::write(skill.join("SKILL.md"), whole).unwrap();
        browser.drop_files("#drop", &[&skill]).await;
        browser.see("can be published").await;
        browser.see("A new skill.").await;
        self.look("upload-mended").await;
        browser.fill("Notes", "The first version.").await;
        browser.press("Publish").await;
        browser.see("The first version.").await;
        browser.see("Weekly report").await;
    }

    /// Publishes a second version, compares both, and makes the second the default.
    async fn release(&self, folder: &Path) {
        let browser = self.browser;
        browser.press("Upload a version").await;
        let same = folder.join("report");
        browser.drop_files("#drop", &[&same]).await;
        browser.see("Nothing changed").await;
        let skill = better_report().write_to(&folder.join("better"));
        browser.drop_files("#drop", &[&skill]).await;
        browser
            .see("What is different from the default version")
            .await;
        browser.press("Publish").await;
        browser.press("Versions").await;
        browser.press("Compare with the default").await;
        browser.see("Then say so.").await;
        browser.see("references/more.md").await;
        self.look("compare-two").await;
        let make = "//button[starts-with(normalize-space(.), 'Make version')]";
        let make = browser.expect(make, "the button for the default").await;
        browser.click(&make).await;
        browser
            .expect("//*[@role='status'][normalize-space(.)]", "that it is done")
            .await;
    }

    /// Runs the skill and sees every step arrive; gives the path of the run.
    async fn run(&self) -> String {
        let browser = self.browser;
        browser.open("/console/skills").await;
        browser.press("report").await;
        browser.press("Open in the playground").await;
        browser.fill("Model", "demo").await;
        browser.fill("Message", "make the report").await;
        browser.press("Show as code").await;
        browser.see("messages").await;
        self.look("playground-code").await;
        browser.press("Run").await;
        browser
            .expect("//*[@data-live]", "the events of the run")
            .await;
        // The page was served without any event: all of them arrive here, in this order.
        for step in [
            "make the report",
            "Turn 1",
            "Let me see.",
            "loaded",
            "Turn 2",
            "made it",
            "report.txt",
            "Turn 3",
            "There it is",
        ] {
            let xpath = format!("//*[@data-live]//*[contains(., '{step}')]");
            browser.expect(&xpath, step).await;
        }
        browser
            .expect("//*[@data-status][.='completed']", "its end")
            .await;
        browser
            .expect("//*[@data-live]//img[@class='preview']", "the picture")
            .await;
        browser.see("June").await;
        browser.see("all is well").await;
        self.look("run-live").await;
        self.download("report.txt", "all is well\n").await;

        browser.press("Details").await;
        browser
            .expect(
                "//*[contains(@class, 'waterfall')]//*[name()='rect']",
                "bars",
            )
            .await;
        browser.see("make the report").await;
        self.look("run-details").await;
        browser.place().await
    }

    /// The file behind the link that downloads it.
    async fn download(&self, name: &str, content: &str) {
        let fetched = self
            .browser
            .value(&format!(
                "(async () => {{
                   const links = [...document.querySelectorAll('a')];
                   const link = links.find((it) => it.textContent.includes('Download {name}'));
                   const answer = await fetch(link.href);
                   return [answer.headers.get('content-disposition'), await answer.text()];
                 }})()"
            ))
            .await;
        let disposition = fetched[0].as_str().unwrap();
        assert!(disposition.starts_with("attachment"), "{disposition}");
        assert_eq!(fetched[1], content);
    }

    /// Runs it again on another model.
    async fn replay(&self) {
        let browser = self.browser;
        let again = "//form[.//*[@id='replay-model']]//button";
        browser.fill("Model", "second").await;
        let again = browser.expect(again, "the button that runs it again").await;
        browser.click(&again).await;
        let message = browser.field("Message").await;
        let message = browser.driver.property(&message, "value").await;
        assert_eq!(message, "make the report");
        browser.press("Run").await;
        browser
            .expect("//*[@data-status][.='completed']", "its end")
            .await;
        browser.open("/console/runs?model=second").await;
        browser.see("second").await;
        self.look("runs-filtered").await;
    }

    /// Creates a key that works, and revokes it.
    async fn keys(&self) {
        let browser = self.browser;
        browser.press("Keys").await;
        browser.press("Create a key").await;
        browser.fill("Name", "for the nightly job").await;
        browser.press("Create the key").await;
        browser.see("the only time").await;
        let secret = browser.expect("//main//pre", "the key").await;
        let secret = browser.driver.text_of(&secret).await;
        let listed = |secret: String| async move {
            let nothing = Value::Null;
            let path = "/v1/skills";
            self.stage
                .try_api(&secret, Method::GET, path, nothing)
                .await
        };
        assert_eq!(listed(secret.clone()).await, 200);
        browser.press("Scopes and limits").await;
        self.look("key").await;
        browser.press("Revoke for the nightly job").await;
        browser.see("The key is revoked").await;
        assert_eq!(listed(secret.clone()).await, 401);
        let page = browser.text().await;
        assert!(!page.contains(&secret));
    }

    async fn usage(&self) {
        let browser = self.browser;
        browser.press("Usage").await;
        browser.expect("//*[@class='chart']", "a chart").await;
        for by in ["Model", "Skill"] {
            browser.press(by).await;
            let expected = if by == "Model" { "demo" } else { "report" };
            browser.see(expected).await;
        }
        self.look("usage-by-skill").await;
    }

    async fn audit(&self) {
        let browser = self.browser;
        browser.press("Audit").await;
        browser.see("skill.create").await;
        browser.fill("Action", "key.revoke").await;
        let only = "//tbody[.//code[.='key.revoke']][not(.//code[.='skill.create'])]";
        browser.expect(only, "only what was searched for").await;
        assert!(browser.place().await.contains("action=key.revoke"));
        self.look("audit-search").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_upload_compare_run_and_administer() {
    let stage = Stage::start(SCRIPT);
    let key = stage.key("ada", "acme", "admin");
    let browser = Browser::start(stage.url()).await;
    let rules = Rules::read();
    let folder = tempfile::tempdir().unwrap();
    let journey = Journey {
        stage: &stage,
        browser: &browser,
        rules: &rules,
        key: &key,
    };
    journey.sign_in().await;
    journey.upload(folder.path()).await;
    journey.release(folder.path()).await;
    journey.run().await;
    journey.replay().await;
    journey.keys().await;
    journey.usage().await;
    journey.audit().await;
    browser.press("Sign out").await;
    browser.open("/console/keys").await;
    browser.field("API key").await;
    assert!(browser.place().await.starts_with("/console/sign-in"));
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_skills_are_dropped_at_once() {
    let stage = Stage::start(SCRIPT);
    let key = stage.key("ada", "acme", "admin");
    let browser = Browser::start(stage.url()).await;
    sign_in(&browser, &key).await;
    let folder = tempfile::tempdir().unwrap();
    for name in ["first", "second"] {
        SkillFixture::new(name).write_to(folder.path());
    }
    browser.open("/console/upload").await;
    let both = [folder.path().join("first"), folder.path().join("second")];
    let both: Vec<&Path> = both.iter().map(|path| path.as_path()).collect();
    browser.drop_files("#drop", &both).await;
    browser.press("Publish").await;
    browser.see("first").await;
    browser.see("second").await;
    assert_eq!(browser.place().await, "/console/skills");
    let stored = stage.get(&key, "/v1/skills").await;
    assert_eq!(stored["data"].as_array().unwrap().len(), 2, "{stored}");
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_of_skills_are_dropped_as_files() {
    let stage = Stage::start(SCRIPT);
    let key = stage.key("ada", "acme", "admin");
    let browser = Browser::start(stage.url()).await;
    sign_in(&browser, &key).await;
    let folder = tempfile::tempdir().unwrap();
    let [zip, skill] = [("first", "first.zip"), ("second", "second.skill")].map(|(name, file)| {
        let files = SkillFixture::new(name).files();
        let bundle = Bundle::from_files(files, &BundleLimits::default()).unwrap();
        let layout = ArchiveLayout::wrapped(name).unwrap();
        let path = folder.path().join(file);
        fs::write(&path, bundle.to_zip(&layout).unwrap()).unwrap();
        path
    });
    browser.open("/console/upload").await;
    browser.drop_files("#drop", &[&zip, &skill]).await;
    for file in ["first.zip", "second.skill"] {
        let checked = format!("//section[@aria-label='{file}'][contains(., 'can be published')]");
        browser.expect(&checked, file).await;
    }
    browser.press("Publish").await;
    for name in ["first", "second"] {
        let listed = format!("//tbody//a[normalize-space(.)='{name}']");
        browser.expect(&listed, name).await;
    }
    assert_eq!(browser.place().await, "/console/skills");
    browser.assert_quiet().await;
}
