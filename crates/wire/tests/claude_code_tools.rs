//! Claude Code on other vendors' models: deferred tools, references to them, and blocks of
//! Anthropic's servers.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod support;

use prowess_wire::{ClientDialect, Dialect, WriteOptions, read_request, write_request};
use serde_json::{Value, json};
use support::exchange::{call, call_stream, event, offered, others, sent, streamed, whole};
use support::file;

fn fixture(name: &str) -> Value {
    serde_json::from_slice(&file(&format!("requests/messages/{name}.json"))).unwrap()
}

fn tool(name: &str, deferred: bool) -> Value {
    let mut tool = json!({"name": name, "input_schema": {"type": "object", "properties": {}}});
    if deferred {
        tool["defer_loading"] = json!(true);
    }
    tool
}

#[test]
fn deferred_tools_wait_until_a_reference_names_them() {
    let request = fixture("claude_code_tool_search");
    for upstream in others(ClientDialect::Messages) {
        let outgoing = sent(ClientDialect::Messages, &request, upstream);
        let names = offered(upstream, &outgoing.body);
        let expected = [
            "Bash",
            "ToolSearch",
            "mcp__skills__run",
            "mcp__skills__load_skill",
        ];
        assert_eq!(names, expected, "{upstream:?}");
        let text = outgoing.body.to_string();
        assert!(
            text.contains("Tool mcp__skills__load_skill is now available."),
            "{text}"
        );
        assert!(
            !text.contains("tool_reference") && !text.contains("Placeholder"),
            "{text}"
        );
        let dropped: Vec<_> = outgoing.dropped.iter().map(|d| d.field.as_str()).collect();
        let marks = match upstream {
            Dialect::Converse => vec![],
            _ => vec!["tools[5].cache_control"],
        };
        assert_eq!(
            dropped, marks,
            "the client's own places, and nothing but the mark"
        );
    }
}

#[test]
fn a_tool_that_is_found_leaves_the_tools_before_it_as_they_were() {
    let after = fixture("claude_code_tool_search");
    let mut before = after.clone();
    before["messages"].as_array_mut().unwrap().truncate(1);
    for upstream in others(ClientDialect::Messages) {
        let tools = |request: &Value| {
            let body = sent(ClientDialect::Messages, request, upstream).body;
            offered(upstream, &body)
        };
        assert_eq!(tools(&before), ["Bash", "ToolSearch"]);
        assert!(tools(&after).starts_with(&tools(&before)));
    }
}

#[test]
fn a_call_of_a_deferred_tool_comes_back_whether_it_was_offered_or_not() {
    let mut request = fixture("claude_code_tool_search");
    for name in ["mcp__skills__load_skill", "mcp__skills__other"] {
        for upstream in [Dialect::Chat, Dialect::Gemini] {
            let answer = call(upstream, name, &json!({"name": "x"}));
            let body = whole(ClientDialect::Messages, &request, upstream, &answer);
            assert_eq!(body["content"][0]["name"], name);
            let stream = call_stream(upstream, name, &json!({"name": "x"}));
            let events = streamed(ClientDialect::Messages, &request, upstream, &stream);
            let start = event(&events, "content_block_start");
            assert_eq!(start["content_block"]["name"], name);
        }
    }
    // Once it was called, it is a tool of the conversation.
    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "toolu_2", "name": "mcp__skills__other", "input": {}}]}));
    messages.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "ok"}]}));
    let body = sent(ClientDialect::Messages, &request, Dialect::Chat).body;
    assert_eq!(
        offered(Dialect::Chat, &body).last().unwrap(),
        "mcp__skills__other"
    );
}

#[test]
fn an_anthropic_upstream_gets_deferred_tools_and_references_as_they_came() {
    for name in [
        "claude_code_tool_search",
        "server_tool_search",
        "server_blocks",
        "compaction",
    ] {
        let request = fixture(name);
        let outgoing = sent(ClientDialect::Messages, &request, Dialect::Messages);
        assert_eq!(outgoing.body.get("tools"), request.get("tools"), "{name}");
        assert_eq!(outgoing.body["messages"], request["messages"], "{name}");
    }
}

#[test]
fn where_anthropics_search_cannot_run_all_deferred_tools_are_offered() {
    let request = fixture("server_tool_search");
    for upstream in others(ClientDialect::Messages) {
        let outgoing = sent(ClientDialect::Messages, &request, upstream);
        assert_eq!(
            offered(upstream, &outgoing.body),
            ["get_time", "get_weather"]
        );
        let dropped: Vec<_> = outgoing.dropped.iter().map(|d| d.field.as_str()).collect();
        assert_eq!(dropped, ["tools[0]"], "{upstream:?}");
        let text = outgoing.body.to_string();
        assert!(
            text.contains("These tools are now available: get_weather."),
            "{text}"
        );
    }
}

#[test]
fn tools_that_nothing_can_find_are_offered_at_once() {
    let request = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}],
        "tools": [tool("a", true), tool("b", true)]});
    let body = sent(ClientDialect::Messages, &request, Dialect::Chat).body;
    assert_eq!(offered(Dialect::Chat, &body), ["a", "b"]);
}

#[test]
fn a_forced_deferred_tool_is_offered() {
    let request = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}],
        "tools": [tool("a", false), tool("b", true)], "tool_choice": {"type": "tool", "name": "b"}});
    let body = sent(ClientDialect::Messages, &request, Dialect::Chat).body;
    assert_eq!(offered(Dialect::Chat, &body), ["a", "b"]);
}

#[test]
fn blocks_of_anthropics_servers_are_text_and_calls_for_every_model() {
    let request = fixture("server_blocks");
    for upstream in others(ClientDialect::Messages) {
        let outgoing = sent(ClientDialect::Messages, &request, upstream);
        let text = outgoing.body.to_string();
        for part in [
            "https://example.com/forms",
            "Fill in all fields.",
            "Be brief.",
            "wiki__lookup",
            "Forms are forms.",
            "An example.",
            "A note.",
            "That is all.",
            "Tool later is now available.",
            "Tool defined is now available.",
            "Tool gone is not available.",
            "file_1",
        ] {
            assert!(text.contains(part), "{part} to {upstream:?}: {text}");
        }
        assert!(
            !text.contains("c2VhbGVk"),
            "sealed content is of no use to others"
        );
        assert_eq!(
            offered(upstream, &outgoing.body),
            ["search", "later", "defined"]
        );
        let dropped: Vec<_> = outgoing.dropped.iter().map(|d| d.field.as_str()).collect();
        assert!(dropped.contains(&"messages[2].content[1]"), "{dropped:?}");
    }
}

#[test]
fn what_stands_before_a_compaction_counts_no_more() {
    let request = fixture("compaction");
    for upstream in others(ClientDialect::Messages) {
        let text = sent(ClientDialect::Messages, &request, upstream)
            .body
            .to_string();
        assert!(text.contains("The user told a long story."), "{text}");
        assert!(text.contains("I see.") && text.contains("Go on"), "{text}");
        assert!(
            !text.contains("A long story") && !text.contains("which was told"),
            "{text}"
        );
    }
    let body = sent(ClientDialect::Messages, &request, Dialect::Chat).body;
    assert_eq!(body["messages"][0]["role"], "user");
}

#[test]
fn a_forced_search_of_the_web_is_refused_where_it_cannot_be_made() {
    for kind in [
        "web_search_20250305",
        "web_search_20260318",
        "web_fetch_20250910",
    ] {
        let request = json!({"model": "m", "max_tokens": 9,
            "messages": [{"role": "user", "content": "Perform a web search for the query: rust"}],
            "tools": [{"type": kind, "name": "web", "max_uses": 8}],
            "tool_choice": {"type": "tool", "name": "web"}});
        let request =
            read_request(ClientDialect::Messages, request.to_string().as_bytes()).unwrap();
        for upstream in others(ClientDialect::Messages) {
            let error = write_request(upstream, &request, &WriteOptions::default()).unwrap_err();
            assert_eq!(error.field(), Some("tool_choice"));
            assert!(
                error.to_string().contains("cannot search or read the web"),
                "{error}"
            );
            assert_eq!(error.to_api_error().status, 400);
        }
    }
}

#[test]
fn a_search_of_the_web_that_is_only_offered_is_named_and_the_model_informed() {
    let request = json!({"model": "m", "max_tokens": 9, "system": "Be kind.",
        "messages": [{"role": "user", "content": "Any news?"}],
        "tools": [tool("look", false), {"type": "web_search_20250305", "name": "web_search"}]});
    for upstream in others(ClientDialect::Messages) {
        let outgoing = sent(ClientDialect::Messages, &request, upstream);
        assert_eq!(offered(upstream, &outgoing.body), ["look"]);
        let dropped: Vec<_> = outgoing.dropped.iter().map(|d| d.field.as_str()).collect();
        assert_eq!(dropped, ["tools[1]"], "{upstream:?}");
        assert!(
            outgoing
                .body
                .to_string()
                .contains("You cannot search or read the web")
        );
    }
}
