//! Results of tools of Anthropic's servers as text for a model: titles, addresses and text,
//! without what only those servers can decode.

use serde_json::Value;

use crate::model_text;
use crate::neutral::Map;

/// The text of a result; `None` for results that are readable as they are.
pub(super) fn text(kind: &str, content: &Value, rest: &mut Map) -> Option<String> {
    if let Some(code) = content.get("error_code").and_then(Value::as_str) {
        return Some(model_text::error(code));
    }
    match kind {
        "tool_search_tool_result" => Some(references(content)),
        "web_search_tool_result" => Some(pages(content)),
        "web_fetch_tool_result" => Some(page(content)),
        "mcp_tool_result" => {
            let failed = rest.shift_remove("is_error") == Some(Value::Bool(true));
            let text = text_blocks(content);
            Some(if failed {
                model_text::error(&text)
            } else {
                text
            })
        }
        _ => None,
    }
}

fn field<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Text, or the texts of a list of blocks.
fn text_blocks(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match block.get("text") {
                Some(Value::String(text)) => text.clone(),
                _ => block.to_string(),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn references(content: &Value) -> String {
    let references = content.get("tool_references").and_then(Value::as_array);
    let names = references.into_iter().flatten();
    let names: Vec<&str> = names
        .map(|reference| field(reference, "tool_name"))
        .collect();
    model_text::all_found(&names)
}

fn pages(content: &Value) -> String {
    let pages = content.as_array().into_iter().flatten();
    let pages = pages.map(|page| format!("{}\n{}", field(page, "title"), field(page, "url")));
    let text = pages.collect::<Vec<_>>().join("\n\n");
    if text.is_empty() {
        model_text::NOTHING_FOUND.to_owned()
    } else {
        text
    }
}

fn page(content: &Value) -> String {
    let document = content.get("content").unwrap_or(&Value::Null);
    let source = document.get("source").unwrap_or(&Value::Null);
    let text = match field(source, "type") {
        "text" => field(source, "data").to_owned(),
        "content" => text_blocks(source.get("content").unwrap_or(&Value::Null)),
        _ => model_text::file_of_type(field(source, "media_type")),
    };
    let title = document.get("title").and_then(Value::as_str);
    let text = model_text::document_text(title, &text);
    format!("{}\n{text}", field(content, "url"))
}

/// A result of the client's own search.
pub(super) fn search_result(fields: &Map) -> String {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let content = text_blocks(fields.get("content").unwrap_or(&Value::Null));
    model_text::search_result(text("title"), text("source"), &content)
}

/// The tabs of the client's browser, and what a call changed in it.
pub(super) fn browser_state(fields: &Map) -> String {
    let list = |key: &str| {
        let items = fields.get(key).and_then(Value::as_array);
        items.into_iter().flatten()
    };
    let tabs = list("tabs").map(|tab| {
        let is_active = tab.get("active").and_then(Value::as_bool) == Some(true);
        let [id, title, url] = ["tab_id", "title", "url"].map(|key| field(tab, key));
        model_text::browser_tab(id, title, url, is_active)
    });
    let changes = list("state_changes").map(|change| {
        let kind = field(change, "type").replace('_', " ");
        let about = ["tab_id", "url", "path", "error"].map(|key| field(change, key));
        model_text::browser_change(&kind, &about)
    });
    let lines: Vec<String> = tabs.chain(changes).collect();
    model_text::browser(&lines)
}
