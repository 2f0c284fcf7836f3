//! A PDF file that a skill has made: its pages are pictures in the playground, on the page of its
//! run, and without scripts.

use prowess_testkit::{PdfFixture, SkillFixture};
use serde_json::json;

use crate::accessible::Rules;
use crate::browser::Browser;
use crate::every_page::sign_in;
use crate::pictures;
use crate::stage::{OPERATOR, Stage};

/// The model copies the skill's file.
const SCRIPT: &str = r#"
[[step]]
when.user = "make"
when.turn = 1
calls = [{ name = "bash_code_execution", input = { command = "cp /skills/printed/two.pdf /mnt/data/two.pdf" } }]

[[step]]
text = "There it is."
"#;

/// The colour in the middle of the picture, as the browser has drawn it, once it is there.
const COLOUR: &str = "(async () => {
    const picture = document.querySelector('.pdf img');
    await picture.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [picture.naturalWidth, picture.naturalHeight];
    const context = canvas.getContext('2d');
    context.drawImage(picture, 0, 0);
    const data = context.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data;
    return [canvas.width, canvas.height, ...data];
})()";

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_pdf_file_are_shown_in_the_playground_and_without_scripts() {
    let stage = Stage::start(SCRIPT);
    let file = PdfFixture::new(&["1 0 0", "0 0 1"]).bytes();
    let skill = SkillFixture::new("printed").file("two.pdf", file);
    let skill = stage.upload(OPERATOR, &skill).await;
    let browser = Browser::start(stage.url()).await;
    sign_in(&browser, OPERATOR).await;
    let path = format!("/console/playground?skill={skill}");
    browser.open(&path).await;
    browser.fill("Model", "demo").await;
    browser.fill("Message", "make it").await;
    browser.press("Run").await;
    browser
        .expect("//*[@data-status][.='completed']", "its end")
        .await;
    browser.see("Page 1 of 2").await;
    let (red, blue) = (
        json!([990, 1400, 255, 0, 0, 255]),
        json!([990, 1400, 0, 0, 255, 255]),
    );
    assert_eq!(browser.value(COLOUR).await, red);
    pictures::save("run-pdf", &browser.picture().await);
    let found = Rules::read().violations(&browser).await;
    assert!(found.is_empty(), "{}", found.join("\n"));
    browser.press("Next page").await;
    browser.see("Page 2 of 2").await;
    assert_eq!(browser.value(COLOUR).await, blue);
    browser.press("Previous page").await;
    browser.see("Page 1 of 2").await;
    assert_eq!(browser.value(COLOUR).await, red);

    let off = json!({"value": true});
    let driver = &browser.driver;
    driver
        .devtools("Emulation.setScriptExecutionDisabled", off)
        .await;
    let run = stage.runs(OPERATOR, 1).await.remove(0);
    browser.open(&format!("/console/runs/{run}")).await;
    browser.press("Show two.pdf").await;
    browser.see("Page 1 of 2").await;
    browser.press("Next page").await;
    browser.see("Page 2 of 2").await;
    assert!(browser.place().await.ends_with("?page=2"));
    browser.assert_quiet().await;
}
