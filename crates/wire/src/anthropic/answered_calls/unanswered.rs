//! Calls of other vendors' servers that got no result, as at the end of a response that was cut
//! off. Anthropic refuses a call without one.

use serde_json::{Value, json};

use crate::server_call_ids::is_foreign;

/// The calls of a response that have no result yet. Those of Anthropic's own servers may stay
/// without: a paused turn goes on with them.
#[derive(Debug, Default)]
pub(in crate::anthropic) struct UnansweredCalls(Vec<OpenCall>);

#[derive(Debug)]
struct OpenCall {
    id: String,
    tool: String,
}

impl UnansweredCalls {
    /// Notes a block that the client gets.
    pub(in crate::anthropic) fn note(&mut self, block: &Value) {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        if let Some(answered) = text("tool_use_id") {
            self.0.retain(|call| call.id != answered);
        } else if text("type") == Some("server_tool_use")
            && let (Some(id), Some(tool)) = (text("id"), text("name"))
            && is_foreign(id)
        {
            self.0.push(OpenCall {
                id: id.to_owned(),
                tool: tool.to_owned(),
            });
        }
    }

    /// The results that end the response.
    pub(in crate::anthropic) fn take_results(&mut self) -> Vec<Value> {
        let calls = std::mem::take(&mut self.0);
        calls.iter().map(OpenCall::error).collect()
    }
}

impl OpenCall {
    fn error(&self) -> Value {
        let kind = format!("{}_tool_result", self.tool);
        let error = format!("{kind}_error");
        json!({
            "type": kind,
            "tool_use_id": self.id,
            "content": {"type": error, "error_code": "unavailable"},
        })
    }
}
