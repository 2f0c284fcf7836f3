//! The scripted model follows its script.

mod common;

use common::*;
use prowess_provider::config::{
    ModelConfig, ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions,
};
use prowess_provider::{Env, Providers};
use prowess_wire::neutral::{Block, Content, Delta, Message, Role, StopReason, StreamEvent, Tool};
use serde_json::json;

const SCRIPT: &str = r#"
[[step]]
when.user = "hello"
when.tools = ["bash"]
thinking = "Hm."
text = "You said {{user}}."
calls = [
    { name = "bash", input = { command = "echo {{user}}", list = ["{{model}}", 1] } },
    { name = "view" },
]
usage = { input_tokens = 11, output_tokens = 7 }

[[step]]
when.tool_result = "done"
when.turn = 2
text = "It says: {{tool_result}}, {{nothing}}"
stop = "max_tokens"

[[step]]
when.user = "slowly"
text = "Grüße"
pace = { chunk = 2, delay_ms = 1000 }

[[step]]
when.user = "once"
times = 1
error = { status = 429, message = "slow down", retry_after_ms = 1500 }

[[step]]
when.user = "once"
text = "Fine."

[[step]]
when.user = "break"
text = "abcdef"
pace = { chunk = 1 }
error = { status = 529, message = "full", after = 4 }

[[step]]
when.user = "cut"
text = "abcdef"
pace = { chunk = 1 }
cut_after = 3
"#;

fn route() -> prowess_provider::Route {
    route_to(scripted(SCRIPT))
}

fn request_with_text(text: &str, stream: bool) -> prowess_wire::neutral::Request {
    let mut request = hello(stream);
    request.messages = vec![Message::user(text)];
    request.tools = vec![Tool::function("bash", "", json!({}))];
    request
}

#[tokio::test]
async fn instructions_after_the_users_text_do_not_hide_it() {
    let mut request = request_with_text("slow", false);
    request.messages.push(Message {
        role: Role::System,
        ..Message::user("Be brief.")
    });
    let script = "[[step]]\nwhen.user = \"slow\"\nwhen.system = \"brief\"\ntext = \"Yes.\"\n";
    let response = whole(call(&route_to(scripted(script)), &request).await.unwrap());
    assert_eq!(response.content, [Block::text("Yes.")]);
}

#[tokio::test]
async fn the_first_step_that_fits_answers_with_what_was_sent_put_in() {
    let response = whole(
        call(&route(), &request_with_text("hello", false))
            .await
            .unwrap(),
    );
    assert_eq!(response.stop_reason, Some(StopReason::ToolUse));
    assert_eq!(response.usage.input_tokens, 11);
    assert_eq!(response.content[1], Block::text("You said hello."));
    assert_eq!(
        response.content[2],
        Block::tool_use(
            "toolu_scripted_1_1",
            "bash",
            json!({"command": "echo hello", "list": ["m1", 1]})
        )
    );
    assert_eq!(
        response.content[3],
        Block::tool_use("toolu_scripted_1_2", "view", json!({}))
    );
    assert!(
        matches!(&response.content[0].content, Content::Thinking { thinking, .. } if thinking == "Hm.")
    );
}

#[tokio::test]
async fn a_step_sees_the_result_of_a_tool_and_the_turn() {
    let mut request = request_with_text("hello", false);
    let calls = vec![Block::tool_use("t1", "bash", json!({}))];
    request.messages.push(Message::new(Role::Assistant, calls));
    let result = vec![Block::tool_result("t1", "done")];
    request.messages.push(Message::new(Role::User, result));
    let response = whole(call(&route(), &request).await.unwrap());
    assert_eq!(
        response.content[0],
        Block::text("It says: done, {{nothing}}")
    );
    assert_eq!(response.stop_reason, Some(StopReason::MaxTokens));
}

#[tokio::test(start_paused = true)]
async fn a_stream_keeps_the_pace_of_its_step() {
    let start = tokio::time::Instant::now();
    let events = stream(
        call(&route(), &request_with_text("slowly", true))
            .await
            .unwrap(),
    );
    let events = rest(events).await;
    let parts: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::BlockDelta {
                delta: Delta::Text(text),
                ..
            } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(parts, ["Gr", "üß", "e"]);
    assert_eq!(start.elapsed().as_secs() as usize, events.len());
    assert_eq!(events.last(), Some(&StreamEvent::MessageStop));
}

#[tokio::test]
async fn a_step_answers_only_so_many_times() {
    let route = route();
    let error = call(&route, &request_with_text("once", true))
        .await
        .unwrap_err();
    assert_eq!(error.to_api_error().status, 429);
    assert_eq!(error.retry_after().unwrap().as_millis(), 1500);
    let events = stream(
        call(&route, &request_with_text("once", true))
            .await
            .unwrap(),
    );
    assert_eq!(collect_text(&rest(events).await).0, "Fine.");
}

#[tokio::test]
async fn a_stream_breaks_off_where_its_step_ends_it() {
    for (word, text, status) in [("break", "ab", 529), ("cut", "a", 502)] {
        let events = stream(
            call(&route(), &request_with_text(word, true))
                .await
                .unwrap(),
        );
        let events = rest(events).await;
        let (received, error) = collect_text(&events);
        assert_eq!((received.as_str(), error.unwrap().status), (text, status));
    }
    let error = call(&route(), &request_with_text("cut", false))
        .await
        .unwrap_err();
    assert_eq!(error.to_api_error().status, 502);
}

#[tokio::test]
async fn a_request_that_fits_no_step_is_an_error_with_what_was_seen() {
    let error = call(&route(), &request_with_text("what?", false))
        .await
        .unwrap_err();
    insta::assert_snapshot!(error, @r#"no step of the script matches turn 1 with user text "what?" and tool result """#);
}

#[tokio::test]
async fn a_script_is_a_file_and_its_errors_lead_to_a_fallback() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("script.toml");
    let script = "[[step]]\nwhen.model = 'first'\nerror = { status = 500, message = 'no' }\n[[step]]\ntext = 'I am {{model}}'\n";
    std::fs::write(&path, script).unwrap();
    let kind = ProviderKind::new(ScriptedOptions::File(path.clone()));
    let config = ProvidersConfig {
        providers: vec![ProviderConfig::new("stage", kind)],
        models: vec![ModelConfig::new("first", "stage").with_fallbacks(["stage/second"])],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    };
    let providers = Providers::new(config.clone()).unwrap();
    let route = providers.route("first").unwrap();
    let response = whole(call(&route, &request_with_text("x", false)).await.unwrap());
    assert_eq!(response.content[0], Block::text("I am second"));

    std::fs::remove_file(&path).unwrap();
    let error = Providers::new(config).unwrap_err();
    assert_eq!(error.code(), "bad-script");
}
