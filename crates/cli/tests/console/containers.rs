//! A container that is deleted in a browser.

use reqwest::Method;
use serde_json::Value;

use crate::browser::Browser;
use crate::every_page::sign_in;
use crate::stage::OPERATOR;
use crate::story::Story;

#[tokio::test(flavor = "multi_thread")]
async fn a_container_is_deleted_on_its_page() {
    let story = Story::prepare().await;
    let browser = Browser::start(story.stage.url()).await;
    sign_in(&browser, OPERATOR).await;
    let api = format!("/openai/v1/containers/{}", story.container);
    let status = async || {
        let stage = &story.stage;
        stage
            .try_api(OPERATOR, Method::GET, &api, Value::Null)
            .await
    };
    assert_eq!(status().await, 200);

    browser.open("/console/containers").await;
    let link = format!("//a[@href='/console/containers/{}']", story.container);
    let listed = browser.expect(&link, "the container").await;
    browser.click(&listed).await;
    browser.press("Delete with its files").await;
    let gone = format!("//main[.//h1[.='Containers']][not(.{link})]");
    browser.expect(&gone, "the list without it").await;
    assert_eq!(status().await, 404);
    browser.assert_quiet().await;
}
