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
    // The list of skills has what it was used for.
    console.app.flush().await;
    let page = console.get("/console/skills").await;
    let main = page.main();
    assert!(main.contains("<td class=\"number\">1</td>"), "{main}");
    assert!(
        main.contains("Tokens</th>") && main.contains("Cost</th>"),
        "{main}"
    );
    let found = console.get("/console/skills?q=greet").await;
    assert!(
        found.main().contains("<td class=\"number\">1</td>"),
        "{}",
        found.main()
    );
}

#[tokio::test]
async fn a_run_pauses_after_the_turns_that_the_form_allows() {
    let console = Console::start().await;
    let skill = stored_skill(&console).await;
    let fields = |turns: &'static str| {
        [
            ("model", "hero"),
            ("dialect", "chat"),
            ("skill", &*skill),
            ("message", "A card"),
            ("max_turns", turns),
            ("temperature", "0.5"),
        ]
    };
    let started = submit(&console, &fields("1")).await;
    assert_eq!(started.status, 303, "{}", started.text());
    let run = started.header("location");
    let run = run.strip_prefix("/console/runs/").unwrap();
    let events = watched(&console, run).await;
    let ended = "event: ended\ndata: incomplete\n\n";
    assert!(events.text().ends_with(ended), "{}", events.text());
    // The server's own limit holds, and the form stays filled in.
    let page = submit(&console, &fields("99")).await;
    assert_eq!(page.status, 400, "{}", page.main());
    let main = page.main();
    assert!(main.contains("must be a number from 1 to 10"), "{main}");
    assert!(
        main.contains("value=\"99\"") && main.contains("value=\"0.5\""),
        "{main}"
    );
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
        "/console/playground?model=hero&dialect=responses&skill={skill}@1&versions=latest&message=It%27s+me\
         &max_turns=3&temperature=0.5"
    );
    let page = console.get(&path).await;
    assert_snapshot!(masked(page.main(), "run_", &skill));
}
