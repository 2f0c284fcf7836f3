//! The playground in a browser: files that are sent along, two models beside each other, stopping,
//! repeating a run; and the programs that it shows, which are run.

use std::process::Command;

use prowess_testkit::SkillFixture;
use prowess_testkit::bytecode::keep_bytecode;
use serde_json::Value;

use crate::accessible::Rules;
use crate::browser::Browser;
use crate::crawl::copied;
use crate::every_page::{inspect, sign_in};
use crate::installed::{installed, succeeded};
use crate::stage::{OPERATOR, Stage};
use crate::story::Story;

const SCRIPT: &str = r#"
[[step]]
when.user = "read"
when.turn = 1
calls = [{ name = "bash_code_execution", input = { command = "cat /mnt/data/figures.csv" } }]

[[step]]
when.user = "slowly"
text = "Nobody waits for this."
pace = { chunk = 1, delay_ms = 600000 }

[[step]]
text = "You said: {{user}}"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_sent_along_and_the_code_of_the_run_finds_it() {
    let stage = Stage::start(SCRIPT);
    let browser = Browser::start(stage.url()).await;
    sign_in(&browser, OPERATOR).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("figures.csv");
    std::fs::write(&file, "month,sales\nJuly,7\n").unwrap();
    browser.open("/console/playground").await;
    browser.fill("Model", "demo").await;
    browser.fill("Message", "read it").await;
    let field = browser.field("Files").await;
    let path = file.to_str().unwrap();
    browser.driver.type_into(&field, path).await;
    browser.press("Run").await;
    browser
        .expect("//*[@data-status][.='completed']", "its end")
        .await;
    let output = "//*[@data-live]//details//pre[contains(., 'July,7')]";
    browser.expect(output, "the content of the file").await;
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_models_run_beside_each_other_and_each_can_be_stopped() {
    let stage = Stage::start(SCRIPT);
    let browser = Browser::start(stage.url()).await;
    sign_in(&browser, OPERATOR).await;
    browser.open("/console/playground").await;
    browser.fill("Model", "demo").await;
    browser.fill("A second model beside it", "second").await;
    browser.fill("Message", "slowly, please").await;
    browser.press("Run").await;
    for (at, model) in [(1, "demo"), (2, "second")] {
        let panel = format!("//section[@aria-label='Run of {model}']");
        let stop = format!("{panel}//*[@data-stop]");
        let stop = browser.expect(&stop, "the button that stops it").await;
        browser.click(&stop).await;
        // The page is loaded again, with both.
        let stopped = format!("(//*[@data-status][.='cancelled'])[{at}]");
        browser.expect(&stopped, "its end").await;
    }
    let wrong = inspect(&browser, &Rules::read(), "run-beside").await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The version of its only skill that a run has used, once it is over.
async fn version_in_run(stage: &Stage, run: &str) -> Value {
    loop {
        let record = stage.get(OPERATOR, &format!("/v1/runs/{run}")).await;
        let version = &record["skills"][0]["version"];
        if version.is_string() && record["status"] != "running" {
            return version.clone();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_repeated_on_other_versions_of_its_skill() {
    let story = Story::prepare().await;
    let stage = &story.stage;
    let browser = Browser::start(stage.url()).await;
    sign_in(&browser, OPERATOR).await;
    let mut run = story.run.clone();
    // The first run has the latest version, so each of these is another one.
    for (choice, version, runs) in [("default", 1, 3), ("latest", 2, 4)] {
        let stored = format!("/v1/skills/{}/versions/{version}", story.skill);
        let stored = stage.get(OPERATOR, &stored).await;
        assert_ne!(version_in_run(stage, &run).await, stored["id"]);
        browser.open(&format!("/console/runs/{run}")).await;
        let option = format!(
            "//select[@id = //label[.='Versions of its skills']/@for]/option[.='{choice}']"
        );
        let option = browser.expect(&option, choice).await;
        browser.click(&option).await;
        browser.press("Open in the playground").await;
        browser.fill("Message", "hello again").await;
        browser.press("Run").await;
        browser
            .expect("//h1[starts-with(., 'Run')]", "the run, ended or not")
            .await;
        run = stage.runs(OPERATOR, runs).await.remove(0);
        assert_eq!(version_in_run(stage, &run).await, stored["id"], "{choice}");
    }
    browser.assert_quiet().await;
}

/// Texts of languages that would run if a program did not quote them.
const MESSAGE: &str = "It's $(id) and `id`";
const MESSAGE_IN_ADDRESS: &str = "It%27s+%24%28id%29+and+%60id%60";

/// The type in TypeScript, which a JavaScript program has not.
const CHAT_TYPE: &str = ": OpenAI.ChatCompletionCreateParamsNonStreaming & { container?: unknown }";

#[tokio::test(flavor = "multi_thread")]
async fn the_programs_that_are_shown_do_what_the_playground_does() {
    let stage = Stage::start(SCRIPT);
    let skill = stage.upload(OPERATOR, &SkillFixture::new("greeter")).await;
    let session = stage.sign_in(OPERATOR).await;
    for (dialect, python) in [
        ("messages", "anthropic-2.8"),
        ("chat", "openai-3.49"),
        ("responses", "openai-3.49"),
    ] {
        let path = format!(
            "/console/playground?model=demo&dialect={dialect}&skill={skill}\
             &message={MESSAGE_IN_ADDRESS}&max_turns=3"
        );
        let programs = copied(&session.get(&path).await.text());
        let [curl, python_program, typescript] = programs.as_slice() else {
            panic!("{dialect}: {programs:#?}");
        };
        let place = installed("node");
        let script = tempfile::Builder::new().suffix(".mjs").tempfile_in(place);
        let script = script.unwrap();
        std::fs::write(script.path(), typescript.replace(CHAT_TYPE, "")).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{curl} --fail-with-body -sS --noproxy '*'")]);
        let mut sdk = Command::new(installed(python).join("bin/python"));
        keep_bytecode(&mut sdk).args(["-c", python_program]);
        let mut node = Command::new("node");
        node.arg(script.path());
        for mut program in [shell, sdk, node] {
            program
                .env("PROWESS_API_KEY", OPERATOR)
                .env("NO_PROXY", "127.0.0.1")
                .env("no_proxy", "127.0.0.1");
            let ran = tokio::task::spawn_blocking(move || succeeded(&mut program));
            let printed = ran.await.unwrap();
            let expected = format!("You said: {MESSAGE}");
            assert!(printed.contains(&expected), "{dialect}: {printed}");
        }
    }
}
