//! Fields for Anthropic's own servers, as Bedrock and Vertex accept them: a cache mark has no
//! `scope` there, the whole request has no mark, and Bedrock cannot clear thoughts. They refuse
//! the request otherwise.

use serde_json::{Value, json};

use super::host::AnthropicHost;
use crate::fields::parse;
use crate::neutral::Map;
use crate::raw::RawObject;

const CACHE_CONTROL: &str = "cache_control";
const SCOPE: &str = "scope";
const CONTEXT: &str = "context_management";

/// What Claude Code requests with every message. It keeps all thoughts, as is the default.
const CLEAR_THOUGHTS: &str = "clear_thinking_20251015";

/// The most marks that a request may have.
const MAX_MARKS: usize = 4;

/// The body as a host accepts it; `None` if it already does.
pub(super) fn accepted_body(raw: &RawObject<'_>, host: AnthropicHost) -> Option<Vec<u8>> {
    let clears = host == AnthropicHost::Bedrock && raw.get(CONTEXT).is_some();
    let is_marked = raw.get(CACHE_CONTROL).is_some();
    let text = raw.text()?;
    if !clears && !is_marked && !text.contains("\"scope\"") {
        return None;
    }
    let Ok(Value::Object(mut body)) = parse(text.as_bytes()) else {
        return None;
    };
    let mut changed = accept_marks(&mut body);
    if clears {
        changed |= keep_thoughts(&mut body);
    }
    changed.then(|| Value::Object(body).to_string().into_bytes())
}

/// Returns whether anything was changed.
fn accept_marks(body: &mut Map) -> bool {
    let mark = body.shift_remove(CACHE_CONTROL);
    let mut marks = 0;
    let mut changed = mark.is_some();
    for key in ["system", "tools", "messages"] {
        changed |= strip_scopes(body.get_mut(key), &mut marks);
    }
    if let Some(mut mark) = mark.filter(|mark| mark.is_object() && marks < MAX_MARKS) {
        strip_scope(&mut mark);
        let messages = body.get_mut("messages").and_then(Value::as_array_mut);
        mark_last_block(messages.and_then(|messages| messages.last_mut()), mark);
    }
    changed
}

/// Removes the edits of the context that clear thoughts; returns whether there were any.
fn keep_thoughts(body: &mut Map) -> bool {
    let context = body.get_mut(CONTEXT);
    let edits = context.and_then(|context| context.get_mut("edits")?.as_array_mut());
    let Some(edits) = edits else {
        return false;
    };
    let before = edits.len();
    edits.retain(|edit| edit.get("type").and_then(Value::as_str) != Some(CLEAR_THOUGHTS));
    let (is_empty, changed) = (edits.is_empty(), edits.len() < before);
    if is_empty {
        body.shift_remove(CONTEXT);
    }
    changed
}

/// Removes the scopes from the marks of a list of blocks, tools or messages, and counts the
/// marks; returns whether there was any scope.
fn strip_scopes(list: Option<&mut Value>, marks: &mut usize) -> bool {
    let mut changed = false;
    for item in list.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(mark) = item.get_mut(CACHE_CONTROL).filter(|mark| mark.is_object()) {
            *marks += 1;
            changed |= strip_scope(mark);
        }
        // Of a message, and of the result of a tool.
        changed |= strip_scopes(item.get_mut("content"), marks);
    }
    changed
}

fn strip_scope(mark: &mut Value) -> bool {
    let mark = mark.as_object_mut();
    mark.is_some_and(|mark| mark.shift_remove(SCOPE).is_some())
}

/// Marks the end of the conversation, as Anthropic's servers do for the mark of a request.
fn mark_last_block(message: Option<&mut Value>, mark: Value) {
    let Some(content) = message.and_then(|message| message.get_mut("content")) else {
        return;
    };
    if let Value::String(text) = content {
        *content = json!([{"type": "text", "text": text}]);
    }
    let blocks = content.as_array_mut().into_iter().flatten().rev();
    let last = blocks
        .filter_map(Value::as_object_mut)
        .find(|block| !is_thought(block));
    if let Some(block) = last {
        block.entry(CACHE_CONTROL).or_insert(mark);
    }
}

/// Thoughts cannot be marked.
fn is_thought(block: &Map) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.ends_with("thinking"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted_at(body: &Value, host: AnthropicHost) -> Option<Value> {
        let text = body.to_string();
        let raw = RawObject::parse(text.as_bytes()).ok()?;
        serde_json::from_slice(&accepted_body(&raw, host)?).ok()
    }

    fn accepted(body: &Value) -> Option<Value> {
        accepted_at(body, AnthropicHost::Vertex)
    }

    #[test]
    fn bedrock_is_sent_no_edit_that_clears_thoughts() {
        let clear = json!({"type": CLEAR_THOUGHTS, "keep": "all"});
        let compact = json!({"type": "compact_20260112"});
        let with = |edits: Value| json!({"messages": [], CONTEXT: {"edits": edits}});
        let bedrock = |edits: Value| accepted_at(&with(edits), AnthropicHost::Bedrock);
        assert_eq!(bedrock(json!([clear])), Some(json!({"messages": []})));
        let both = bedrock(json!([clear, compact]));
        assert_eq!(both, Some(with(json!([compact]))));
        assert_eq!(bedrock(json!([compact])), None, "not a byte is changed");
        assert_eq!(accepted(&with(json!([clear]))), None);
    }

    #[test]
    fn marks_have_no_scope_and_what_a_client_calls_so_stays() {
        let plain = json!({"type": "ephemeral", "ttl": "1h"});
        let scoped = json!({"type": "ephemeral", "ttl": "1h", "scope": "global"});
        let input = json!({"cache_control": {"scope": "all"}, "scope": "x"});
        let body = |mark: &Value| {
            json!({
                "system": [{"type": "text", "text": "a", "cache_control": mark}],
                "tools": [{"name": "t", "input_schema": {"properties": {"scope": {}}},
                    "cache_control": mark}],
                "messages": [
                    {"role": "assistant", "content": [
                        {"type": "tool_use", "id": "1", "name": "t", "input": input}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1",
                        "content": [{"type": "text", "text": "b", "cache_control": mark}]}]},
                ],
            })
        };
        assert_eq!(accepted(&body(&scoped)), Some(body(&plain)));
        assert_eq!(accepted(&body(&plain)), None, "not a byte is changed");
    }

    #[test]
    fn the_mark_of_a_request_becomes_that_of_its_last_block() {
        let mark = json!({"type": "ephemeral"});
        let request = |content: Value, mark: Option<&Value>| {
            let mut body = json!({"messages": [{"role": "user", "content": content}]});
            if let (Some(mark), Some(body)) = (mark, body.as_object_mut()) {
                body.insert(CACHE_CONTROL.to_owned(), mark.clone());
            }
            body
        };
        let marked = json!([{"type": "text", "text": "Hi", "cache_control": mark}]);
        for content in [json!("Hi"), json!([{"type": "text", "text": "Hi"}])] {
            let moved = accepted(&request(content, Some(&mark)));
            assert_eq!(moved, Some(request(marked.clone(), None)));
        }
        let four =
            json!([marked[0], marked[0], marked[0], marked[0], {"type": "text", "text": "a"}]);
        let kept = accepted(&request(four.clone(), Some(&mark)));
        assert_eq!(kept, Some(request(four, None)));
        let none = accepted(&request(json!("Hi"), Some(&Value::Null)));
        assert_eq!(none, Some(request(json!("Hi"), None)));
    }
}
