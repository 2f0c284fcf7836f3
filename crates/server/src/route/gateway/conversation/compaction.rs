//! Compaction items: a summary in place of a conversation, which clients send back.
//!
//! The summary is the client's own data, so it is only encoded: any model can continue from
//! it, and any Prowess server can read it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use memchr::memmem;
use serde_json::{Value, json};

use super::errors;
use crate::route::gateway::error::GatewayError;
use crate::route::gateway::model_text::SUMMARY_INTRODUCTION;

/// Prefix of the content of our own compaction items.
const OWN_PREFIX: &str = "pw1c.";

/// Whether an input may contain our own compaction items.
pub(super) fn may_contain(input: Option<&str>) -> bool {
    input.is_some_and(|input| memmem::find(input.as_bytes(), OWN_PREFIX.as_bytes()).is_some())
}

/// Whether the items include our own compaction items. The text of other items may contain the
/// prefix.
pub(super) fn has_own_items(items: &[Value]) -> bool {
    items.iter().any(|item| own_content(item).is_some())
}

/// Encodes the content of a compaction item.
pub(in crate::route::gateway) fn encode_summary(summary: &str) -> String {
    format!("{OWN_PREFIX}{}", URL_SAFE_NO_PAD.encode(summary))
}

/// Replaces our own compaction items by messages that any model understands. Others stay
/// unchanged.
pub(super) fn expand_all(items: &mut [Value]) -> Result<bool, GatewayError> {
    let mut expanded = false;
    for (index, item) in items.iter_mut().enumerate() {
        let Some(content) = own_content(item) else {
            continue;
        };
        let summary =
            decode_summary(content).ok_or_else(|| errors::compaction_unreadable(index))?;
        *item = json!({
            "type": "message",
            "role": "user",
            "content": [{
                "type": "input_text",
                "text": format!("{SUMMARY_INTRODUCTION}\n\n{summary}"),
            }],
        });
        expanded = true;
    }
    Ok(expanded)
}

fn own_content(item: &Value) -> Option<&str> {
    let kind = item.get("type")?.as_str()?;
    if !matches!(kind, "compaction" | "compaction_summary") {
        return None;
    }
    item.get("encrypted_content")?
        .as_str()?
        .strip_prefix(OWN_PREFIX)
}

fn decode_summary(content: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(content).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_comes_back_as_a_message() {
        let content = encode_summary("all of it ü");
        let theirs = json!({"type": "compaction", "encrypted_content": "gAAAA"});
        let ours = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": content});
        let mut items = [theirs.clone(), ours];
        assert!(may_contain(Some(&Value::from(items.to_vec()).to_string())));
        assert!(has_own_items(&items) && !has_own_items(&items[..1]));
        assert!(matches!(expand_all(&mut items), Ok(true)));
        assert_eq!(items[0], theirs);
        let text = items[1]["content"][0]["text"].as_str().unwrap();
        assert!(text.ends_with("all of it ü"), "{text}");
        assert_eq!(items[1]["role"], "user");
    }

    #[test]
    fn one_that_was_changed_is_refused() {
        let mut items = [json!({"type": "compaction", "encrypted_content": "pw1c.%"})];
        assert!(expand_all(&mut items).is_err());
    }
}
