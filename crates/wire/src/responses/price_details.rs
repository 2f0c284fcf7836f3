//! What OpenAI's servers did for a response that has a price besides its tokens.

use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;

/// The type of the item of a web search.
const WEB_SEARCH: &str = "web_search_call";
/// The action of such an item that is charged; opening a page is not.
const SEARCH: &str = "search";

/// Whether a finished item is a search of the web.
pub(super) fn is_web_search(item: &Value) -> bool {
    let action = item.get("action").and_then(|action| action.get("type"));
    is_charged(
        item.get("type").and_then(Value::as_str),
        action.and_then(Value::as_str),
    )
}

/// How often the web was searched, by an event of a stream that ends an item, or by a whole
/// response. Most bytes are not parsed.
pub fn count_web_searches(json: &[u8]) -> u64 {
    if memmem::find(json, b"\"web_search_call\"").is_none() {
        return 0;
    }
    let Ok(read) = serde_json::from_slice::<FinishedJson>(json) else {
        return 0;
    };
    let ended = read.item.filter(|_| read.kind.as_deref() == Some(DONE));
    let items = read.output.into_iter().flatten().chain(ended);
    let is_search = |item: &ItemJson| {
        let action = item.action.as_ref();
        is_charged(
            item.kind.as_deref(),
            action.and_then(|action| action.kind.as_deref()),
        )
    };
    items.filter(is_search).count() as u64
}

/// The event that ends an item.
const DONE: &str = "response.output_item.done";

fn is_charged(kind: Option<&str>, action: Option<&str>) -> bool {
    kind == Some(WEB_SEARCH) && action.is_none_or(|action| action == SEARCH)
}

/// A response, or an event of its stream.
#[derive(Deserialize)]
struct FinishedJson {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    item: Option<ItemJson>,
    #[serde(default)]
    output: Option<Vec<ItemJson>>,
}

#[derive(Deserialize)]
struct ItemJson {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    action: Option<ActionJson>,
}

#[derive(Deserialize)]
struct ActionJson {
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_search_counts_once_when_it_has_ended_and_opening_a_page_does_not() {
        let search = json!({"id": "ws_1", "type": "web_search_call", "status": "completed",
            "action": {"type": "search", "query": "bern"}});
        let page = json!({"type": "web_search_call", "action": {"type": "open_page"}});
        let old = json!({"type": "web_search_call", "status": "completed"});
        let text = json!({"type": "message", "content": []});
        for (item, searches) in [(&search, 1), (&page, 0), (&old, 1), (&text, 0)] {
            assert_eq!(u64::from(is_web_search(item)), searches, "{item}");
            let done = json!({"type": "response.output_item.done", "item": item});
            assert_eq!(count_web_searches(done.to_string().as_bytes()), searches);
            let added = json!({"type": "response.output_item.added", "item": item});
            assert_eq!(count_web_searches(added.to_string().as_bytes()), 0);
        }
        let output = [&search, &page, &text, &search];
        let whole = json!({"id": "resp_1", "output": output}).to_string();
        assert_eq!(count_web_searches(whole.as_bytes()), 2);
        // The last event repeats what has ended before.
        let last = json!({"type": "response.completed", "response": {"output": output}});
        assert_eq!(count_web_searches(last.to_string().as_bytes()), 0);
        assert_eq!(count_web_searches(b"\"web_search_call\""), 0);
        // Some servers write a null in place of what is not there.
        let null = json!({"type": "response.output_item.done", "item": search, "output": null});
        assert_eq!(count_web_searches(null.to_string().as_bytes()), 1);
    }
}
