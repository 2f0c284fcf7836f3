//! Containers, on a server that has no sandbox: what they look like with one, tests in a browser
//! show.

use crate::browser::Console;

#[tokio::test]
async fn a_server_without_a_sandbox_shows_that() {
    let console = Console::start().await;
    let page = console.get("/console/containers").await;
    let is_listed = page.status == 200 && page.main().contains("There are no containers");
    let is_missing = page.status == 503 && page.main().contains("sandbox");
    assert!(is_listed || is_missing, "{}", page.text());
}

#[tokio::test]
async fn a_container_that_does_not_exist_is_not_found() {
    let console = Console::start().await;
    let page = console.get("/console/containers/cntr_1").await;
    assert_eq!(page.status, 404, "{}", page.text());
    let deleted = console.post("/console/containers/cntr_1/delete", &[]).await;
    assert_eq!(deleted.status, 404, "{}", deleted.text());
}
