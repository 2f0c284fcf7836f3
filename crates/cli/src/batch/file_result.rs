//! What a line of OpenAI's results says about its request.

use serde_json::Value;

/// A line of the file of responses or of errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileResult {
    /// Why the request failed, if it did.
    pub(super) failure: Option<String>,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

impl FileResult {
    /// Reads a line; none if it is not one.
    pub(super) fn parse(line: &[u8]) -> Option<FileResult> {
        let line: Value = serde_json::from_slice(line).ok()?;
        line.get("custom_id")?;
        let body = line.pointer("/response/body");
        let count = |names: [&str; 2]| {
            let usage = body.and_then(|body| body.get("usage"));
            let mut counts = names.iter().filter_map(|name| usage?.get(name)?.as_u64());
            counts.next().unwrap_or_default()
        };
        Some(FileResult {
            failure: failure(&line, body),
            // Chat Completions and Responses name them differently.
            input_tokens: count(["prompt_tokens", "input_tokens"]),
            output_tokens: count(["completion_tokens", "output_tokens"]),
        })
    }
}

fn failure(line: &Value, body: Option<&Value>) -> Option<String> {
    let message = |value: Option<&Value>| {
        let message = value.and_then(|value| value.pointer("/message"));
        let message = message.and_then(Value::as_str);
        message.unwrap_or("the request failed").to_owned()
    };
    let error = line.get("error").filter(|error| !error.is_null());
    if error.is_some() {
        return Some(message(error));
    }
    let status = line
        .pointer("/response/status_code")
        .and_then(Value::as_u64);
    match status {
        Some(200..300) => None,
        _ => Some(message(body.and_then(|body| body.get("error")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(line: &Value) -> FileResult {
        FileResult::parse(line.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_line_is_a_response_or_a_failure() {
        let body = json!({"usage": {"prompt_tokens": 1, "completion_tokens": 2}});
        let response = json!({"status_code": 200, "body": body});
        let chat = parse(&json!({"custom_id": "a", "response": response, "error": null}));
        assert_eq!(chat.failure, None);
        assert_eq!((chat.input_tokens, chat.output_tokens), (1, 2));
        let body = json!({"usage": {"input_tokens": 3, "output_tokens": 4}});
        let response = json!({"status_code": 200, "body": body});
        let other = parse(&json!({"custom_id": "a", "response": response}));
        assert_eq!((other.input_tokens, other.output_tokens), (3, 4));
        let response = json!({"status_code": 404, "body": {"error": {"message": "none"}}});
        let refused = parse(&json!({"custom_id": "a", "response": response}));
        assert_eq!(refused.failure.as_deref(), Some("none"));
        let error = json!({"code": "batch_expired", "message": "late"});
        let late = parse(&json!({"custom_id": "a", "response": null, "error": error}));
        assert_eq!(late.failure.as_deref(), Some("late"));
    }
}
