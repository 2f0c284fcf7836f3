//! Blocks of Anthropic's newest tools in a conversation that goes on with another vendor's model.

use prowess_wire::{ClientDialect, Dialect};
use serde_json::json;

use crate::support::exchange::others;
use crate::{dropped, sent};

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
