//! Blocks of Anthropic's newest tools in a conversation that goes on with another vendor's model.

use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};

use crate::support::exchange::{call, call_stream, event, offered, others, streamed, whole};
use crate::{dropped, sent};

#[test]
fn each_member_of_a_toolset_is_a_function_for_other_models_and_is_called_as_a_member() {
    let configs = json!({"zoom": {"enabled": false}, "read_console": {"enabled": true}});
    let past = json!({"type": "tool_use", "id": "toolu_1", "name": "screenshot",
        "toolset_name": "browser", "input": {}});
    let request = json!({"model": "m", "max_tokens": 9,
        "tools": [{"type": "computer_toolset_20260801"},
            {"type": "browser_toolset_20260801", "configs": configs}],
        "messages": [{"role": "user", "content": "Look."},
            {"role": "assistant", "content": [past]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1",
                "toolset_name": "browser", "content": "A page."}]}]});
    for upstream in others(ClientDialect::Messages) {
        let outgoing = sent(ClientDialect::Messages, &request, upstream);
        assert_eq!(dropped(&outgoing), [""; 0], "{upstream:?}");
        let names = offered(upstream, &outgoing.body);
        assert_eq!(names.len(), 17 + 27, "{upstream:?} {names:?}");
        for (name, is_offered) in [
            ("computer__left_click", true),
            ("computer__zoom", true),
            ("browser__left_click", true),
            ("browser__zoom", false),
            ("browser__read_console", true),
            ("browser__javascript_exec", false),
        ] {
            let found = names.iter().any(|known| known == name);
            assert_eq!(found, is_offered, "{upstream:?} {name}");
        }
        let text = outgoing.body["messages"].to_string()
            + &outgoing.body["input"].to_string()
            + &outgoing.body["contents"].to_string();
        assert!(text.contains("browser__screenshot"), "{upstream:?} {text}");
    }
    let tools = sent(ClientDialect::Messages, &request, Dialect::Chat).body["tools"].take();
    let tools = tools.as_array().unwrap();
    for tool in tools {
        let about = tool["function"]["description"].as_str().unwrap();
        assert!(!about.is_empty() && about.len() < 400, "{tool}");
    }
    let name = |tool: &&Value| tool["function"]["name"] == "browser__scroll";
    let scroll = &tools.iter().find(name).unwrap()["function"]["parameters"];
    assert_eq!(scroll["required"], json!(["target", "scroll_direction"]));
    let point = &scroll["properties"]["target"];
    assert_eq!(point["required"], json!(["type", "x", "y"]));
    let client = ClientDialect::Messages;
    let input = json!({"coordinate": [3, 4]});
    for upstream in [Dialect::Chat, Dialect::Gemini] {
        let answer = call(upstream, "computer__left_click", &input);
        let body = whole(client, &request, upstream, &answer);
        let stream = call_stream(upstream, "computer__left_click", &input);
        let events = streamed(client, &request, upstream, &stream);
        let start = event(&events, "content_block_start");
        for block in [&body["content"][0], &start["content_block"]] {
            assert_eq!(block["name"], "left_click", "{upstream:?}");
            assert_eq!(block["toolset_name"], "computer", "{upstream:?}");
        }
        assert_eq!(body["content"][0]["input"], input);
    }
    let own = sent(client, &request, Dialect::Messages).body;
    assert_eq!(own["tools"], request["tools"]);
    assert_eq!(own["messages"][1]["content"][0], past);
}

#[test]
fn a_tool_of_the_client_whose_name_begins_like_a_toolset_keeps_it() {
    let client = ClientDialect::Messages;
    let request = json!({"model": "m", "max_tokens": 9,
        "tools": [{"type": "browser_toolset_20260801"},
            {"name": "browser__bookmark", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "Keep this page."}]});
    let answer = call(Dialect::Chat, "browser__bookmark", &json!({}));
    let body = whole(client, &request, Dialect::Chat, &answer);
    assert_eq!(body["content"][0]["name"], "browser__bookmark");
    assert_eq!(body["content"][0].get("toolset_name"), None);
}

#[test]
fn the_state_of_a_browser_is_text_for_other_models() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Open the page."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1",
            "name": "navigate", "toolset_name": "browser", "input": {"url": "https://a.test"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1",
            "toolset_name": "browser", "content": [
                {"type": "text", "text": "Done."},
                {"type": "browser_state",
                    "tabs": [{"tab_id": "t1", "title": "Start", "url": "https://a.test", "active": true},
                        {"tab_id": "t2", "title": "", "url": ""}],
                    "state_changes": [{"type": "tab_opened", "tab_id": "t1"},
                        {"type": "download_completed", "download_id": "d1",
                            "url": "https://a.test/b.zip", "path": "/tmp/b.zip"}]}]}]}]});
    for upstream in others(ClientDialect::Messages) {
        let outgoing = sent(ClientDialect::Messages, &body, upstream);
        let text = outgoing.body.to_string();
        for words in [
            "Done.",
            "tab t1 (active): ",
            "https://a.test",
            "tab t2: ",
            "tab opened: t1",
            "download completed: https://a.test/b.zip /tmp/b.zip",
        ] {
            assert!(text.contains(words), "{upstream:?} {words}: {text}");
        }
        assert!(!text.contains("state_changes"), "{upstream:?} {text}");
    }
    let own = sent(ClientDialect::Messages, &body, Dialect::Messages).body;
    let result = &own["messages"][2]["content"][0];
    assert_eq!(result["content"][1]["type"], "browser_state");
    assert_eq!(result["toolset_name"], "browser");
}

#[test]
fn the_tools_that_an_mcp_server_listed_are_left_out_and_named() {
    let listing = json!({"type": "mcp_tool_listing", "mcp_server_name": "dice",
        "tools": [{"name": "roll", "input_schema": {"type": "object"}}]});
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Roll."},
        {"role": "assistant", "content": [listing, {"type": "text", "text": "A four."}]},
        {"role": "user", "content": "Again."}]});
    for upstream in others(ClientDialect::Messages) {
        let outgoing = sent(ClientDialect::Messages, &body, upstream);
        let text = outgoing.body.to_string();
        assert!(text.contains("A four."), "{upstream:?} {text}");
        assert!(!text.contains("mcp_tool_listing"), "{upstream:?} {text}");
        let named = dropped(&outgoing);
        assert!(
            named.contains(&"messages[1].content[0]"),
            "{upstream:?} {named:?}"
        );
    }
    let own = sent(ClientDialect::Messages, &body, Dialect::Messages).body;
    assert_eq!(own["messages"][1]["content"][0]["mcp_server_name"], "dice");
}
