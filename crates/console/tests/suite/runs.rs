//! Runs: the list, one of them, and watching it.

use http::Method;
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};
use prowess_store::{NewSkill, TenantId};
use prowess_testkit::SkillFixture;
use serde_json::json;

use crate::browser::{Console, Page};

/// Stores the skill that the model loads, and returns its id.
pub(crate) async fn stored_skill(console: &Console) -> String {
    let files = SkillFixture::new("greeter").body("Greet people.\n").files();
    let bundle = Bundle::from_files(files, &BundleLimits::default()).unwrap();
    let skill = Skill::load(bundle, &LoadOptions::default()).skill.unwrap();
    let store = console.app.store();
    let (tenant, new) = (TenantId::default_tenant(), NewSkill::from_skill(&skill));
    let made = store.create_skill(&tenant, &new).await;
    made.unwrap().skill.id
}

/// Starts a kept run by the API.
pub(crate) async fn start(console: &Console, skill: &str, message: &str) -> String {
    let body = json!({
        "model": "hero",
        "container": {"skills": [{"type": "custom", "skill_id": skill}]},
        "messages": [{"role": "user", "content": message}],
    });
    let headers = [
        ("content-type", "application/json"),
        ("prowess-keep", "background"),
    ];
    let path = "/v1/chat/completions";
    let started = console
        .api(Method::POST, path, &headers, body.to_string())
        .await;
    assert_eq!(started.status, 202, "{}", started.text());
    started.json()["id"].as_str().unwrap().to_owned()
}

/// The events of a run, to its end.
pub(crate) async fn watched(console: &Console, run: &str) -> Page {
    console.get(&format!("/console/runs/{run}/events")).await
}

/// Waits until the record of a run is written, which happens behind it.
async fn recorded(console: &Console, run: &str) {
    loop {
        let read = console
            .api(Method::GET, &format!("/v1/runs/{run}"), &[], "")
            .await;
        if read.json()["turns"].is_number() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Ids, versions, times and durations masked.
pub(crate) fn masked(text: &str, run: &str, skill: &str) -> String {
    let text = text.replace(run, "RUN").replace(skill, "SKILL");
    let mut masked = String::new();
    for word in text.split_inclusive([' ', '<', '>', '"', '\n']) {
        let bare = word.trim_end_matches([' ', '<', '>', '"', '\n']);
        let rest = &word[bare.len()..];
        let is_time = bare.starts_with("20") && bare.contains('-') && bare.len() >= 10;
        let is_clock = bare.len() == 5 && bare.as_bytes()[2] == b':';
        if bare.starts_with("skver_") {
            masked.push_str("VERSION");
        } else if is_time || is_clock {
            masked.push_str("TIME");
        } else {
            masked.push_str(bare);
        }
        masked.push_str(rest);
    }
    masked
}

#[tokio::test]
async fn a_run_is_watched_as_it_goes_and_from_where_a_browser_was_cut_off() {
    let console = Console::start().await;
    let skill = stored_skill(&console).await;
    let run = start(&console, &skill, "A card, please").await;
    let all = watched(&console, &run).await;
    assert_eq!(
        all.header("content-type"),
        "text/event-stream; charset=utf-8"
    );
    let text = all.text();
    for shown in [
        "the prompt lists greeter",
        "A card, please",
        "<strong>Turn 1</strong>: stage hero",
        "Let me &#60;i&#62;see&#60;/i&#62;.",
        "Skill <strong>greeter</strong> loaded",
        "<strong>Turn 2</strong>",
        "The run is completed",
        "event: ended\ndata: completed\n\n",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(!text.contains("<script") && !text.contains("<i>"), "{text}");
    // A browser that has the first turn gets what follows.
    let again = watched(&console, &run).await;
    let turn = again.text().find("<strong>Turn 1</strong>").unwrap();
    let head = &again.text()[..turn];
    let (_, id) = head.rsplit_once("id: ").unwrap();
    let id = id.lines().next().unwrap();
    let path = format!("/console/runs/{run}/events");
    let rest = console.get_with(&path, &[("last-event-id", id)]).await;
    assert!(!rest.text().contains("Turn 1</strong>"), "{}", rest.text());
    assert!(rest.text().contains("Turn 2</strong>") && rest.text().contains("event: ended"));
}

#[tokio::test]
async fn a_run_that_has_ended_shows_what_took_its_time() {
    let console = Console::start().await;
    let skill = stored_skill(&console).await;
    let run = start(&console, &skill, "A card, please").await;
    watched(&console, &run).await;
    recorded(&console, &run).await;
    let page = console.get(&format!("/console/runs/{run}")).await;
    assert_eq!(page.status, 200, "{}", page.text());
    let main = page.main();
    for shown in [
        "Run of hero <span class=\"badge badge-ok\">completed</span>",
        "A card, please",
        "<svg class=\"waterfall\"",
        "Turn 1: stage hero",
        "load_skill",
        "<h3>Output</h3>",
        "Greet people.",
        "greeter</a>",
        "<span class=\"badge badge-ok\">loaded</span>",
        "name=\"message\" value=\"A card, please\"",
    ] {
        assert!(main.contains(shown), "{shown}: {main}");
    }
    assert!(
        main.contains(&format!("name=\"skill\" value=\"{skill}@skver_")),
        "{main}"
    );
    assert!(!main.contains("<script") && !main.contains("<i>"), "{main}");
    assert!(page.text().contains("/v1/runs/"), "the page as curl");
    let exported = console.get(&format!("/console/runs/{run}/export")).await;
    assert_eq!(exported.json()["id"], run.as_str());
    assert!(
        exported
            .header("content-disposition")
            .starts_with("attachment")
    );
}

#[tokio::test]
async fn runs_are_listed_and_filters_are_in_the_address() {
    let console = Console::start().await;
    let empty = console.get("/console/runs").await;
    assert!(
        empty.main().contains("There are no runs yet"),
        "{}",
        empty.main()
    );
    let skill = stored_skill(&console).await;
    let run = start(&console, &skill, "A card, please").await;
    watched(&console, &run).await;
    recorded(&console, &run).await;
    let page = console
        .get("/console/runs?state=completed&skill=greeter&since=1h")
        .await;
    let main = page.main();
    assert!(
        main.contains(&format!("<a href=\"/console/runs/{run}\">{run}</a>")),
        "{main}"
    );
    assert!(
        main.contains("<option selected>completed</option>"),
        "{main}"
    );
    assert!(
        main.contains("value=\"greeter\"") && main.contains("<td>greeter</td>"),
        "{main}"
    );
    assert!(main.contains("<td class=\"number\">2 / 1</td>"), "{main}");
    assert!(main.contains("$0.00"), "{main}");
    let none = console.get("/console/runs?model=other").await;
    assert!(none.main().contains("No run fits this filter"));
    let wrong = console.get("/console/runs?since=%3Cb%3E").await;
    assert_eq!(wrong.status, 400);
    assert!(!wrong.text().contains("<b>"), "{}", wrong.text());
}

#[tokio::test]
async fn a_run_that_fails_shows_the_reason() {
    let console = Console::start().await;
    let skill = stored_skill(&console).await;
    let run = start(&console, &skill, "fail").await;
    let events = watched(&console, &run).await;
    assert!(
        events.text().contains("the model &#60;b&#62;refuses"),
        "{}",
        events.text()
    );
    assert!(events.text().contains("event: ended\ndata: failed"));
    recorded(&console, &run).await;
    let page = console.get(&format!("/console/runs/{run}")).await;
    assert!(page.main().contains("class=\"error\">"), "{}", page.main());
    assert!(
        page.main().contains("badge-bad\">failed"),
        "{}",
        page.main()
    );
}

#[tokio::test]
async fn a_run_is_stopped() {
    let console = Console::start().await;
    let skill = stored_skill(&console).await;
    let run = start(&console, &skill, "slowly").await;
    let page = console.get(&format!("/console/runs/{run}")).await;
    let connect = format!("hx-sse:connect=\"/console/runs/{run}/events\"");
    assert!(page.main().contains(&connect), "{}", page.main());
    let stop = format!("/console/runs/{run}/cancel");
    assert!(
        page.main().contains(&format!("action=\"{stop}\"")),
        "{}",
        page.main()
    );
    let foreign = [("sec-fetch-site", "cross-site")];
    let refused = console.send(Method::POST, &stop, &foreign, "").await;
    assert_eq!(refused.status, 403);
    let stopped = console.post(&stop, &[]).await;
    assert_eq!(
        (stopped.status.as_u16(), stopped.header("location")),
        (303, &*format!("/console/runs/{run}"))
    );
    let events = watched(&console, &run).await;
    assert!(
        events.text().contains("data: cancelled"),
        "{}",
        events.text()
    );
}

#[tokio::test]
async fn a_run_that_does_not_exist_is_not_found() {
    let console = Console::start().await;
    for path in [
        "/console/runs/run_1",
        "/console/runs/run_1/events",
        "/console/runs/..%2Fmodels",
    ] {
        let page = console.get(path).await;
        assert_eq!(page.status, 404, "{path}: {}", page.text());
    }
}
