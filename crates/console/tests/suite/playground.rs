//! The playground: filling it in, starting runs, and the same request as a program.

use insta::assert_snapshot;

use crate::browser::{Console, Page};
use crate::runs::{masked, stored_skill, watched};

async fn submit(console: &Console, fields: &[(&str, &str)]) -> Page {
    console
        .post_multipart("/console/playground", fields, &[])
        .await
}

#[tokio::test]
async fn each_dialect_starts_a_run_that_is_watched() {
    let console = Console::start().await;
    let skill = stored_skill(&console).await;
    for dialect in ["messages", "chat", "responses"] {
        // The others would run code with skills, and this server has no sandbox.
        let skill = if dialect == "chat" { &*skill } else { "" };
        let message = if dialect == "chat" { "A card" } else { "Hello" };
        let fields = [
            ("model", "hero"),
            ("dialect", dialect),
            ("skill", skill),
            ("message", message),
            ("max_tokens", "500"),
        ];
        let started = submit(&console, &fields).await;
        assert_eq!(started.status, 303, "{dialect}: {}", started.text());
        let run = started.header("location");
        let run = run.strip_prefix("/console/runs/").unwrap();
        let events = watched(&console, run).await;
        let loads = events
            .text()
            .contains("Skill <strong>greeter</strong> loaded");
        assert_eq!(loads, dialect == "chat", "{}", events.text());
        let ended = "event: ended\ndata: completed\n\n";
        assert!(events.text().ends_with(ended), "{}", events.text());
    }
}

#[tokio::test]
async fn two_models_run_beside_each_other() {
    let console = Console::start().await;
    let fields = [
        ("model", "hero"),
        ("second_model", "second"),
        ("dialect", "chat"),
        ("message", "slowly"),
    ];
    let started = submit(&console, &fields).await;
    assert_eq!(started.status, 303, "{}", started.text());
    let page = console.get(started.header("location")).await;
    let main = page.main();
    assert_eq!(main.matches("hx-sse:connect=").count(), 2, "{main}");
    assert!(
        main.contains("class=\"split\"") && main.contains("Run of second"),
        "{main}"
    );
}

#[tokio::test]
async fn a_wrong_request_comes_back_filled_in() {
    let console = Console::start().await;
    let fields = [
        ("model", "none/such"),
        ("message", "Hi <b>"),
        ("dialect", "chat"),
    ];
    let page = submit(&console, &fields).await;
    assert!(page.status.is_client_error(), "{}", page.status);
    let main = page.main();
    assert!(main.contains("role=\"alert\""), "{main}");
    assert!(
        main.contains("value=\"none/such\"") && main.contains("Hi &#60;b&#62;"),
        "{main}"
    );
    let files: [(&str, &str, &[u8]); 1] = [("files", "a.txt", b"x")];
    let fields = [("model", "hero"), ("message", "Hi"), ("dialect", "chat")];
    let page = console
        .post_multipart("/console/playground", &fields, &files)
        .await;
    assert!(
        page.main().contains("Chat Completions has no field"),
        "{}",
        page.main()
    );
    let page = submit(&console, &[("model", "hero")]).await;
    assert!(page.main().contains("write a message"), "{}", page.main());
}

#[tokio::test]
async fn an_address_fills_the_form_in_and_shows_the_request_as_programs() {
    let console = Console::start().await;
    let skill = stored_skill(&console).await;
    let path = format!(
        "/console/playground?model=hero&dialect=responses&skill={skill}@1&versions=latest&message=It%27s+me"
    );
    let page = console.get(&path).await;
    assert_snapshot!(masked(page.main(), "run_", &skill));
}
