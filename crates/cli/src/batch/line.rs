//! One line of the file: a prompt, or a request as a vendor's batch has it.

use std::path::Path;

use serde_json::{Map, Value};

/// How the lines of a file are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineFormat {
    /// A prompt per line.
    Text,
    /// `{"prompt": …}`, with an optional `id`.
    Prompts,
    /// `{"custom_id": …, "params": {…}}`, as in Anthropic's API.
    Messages,
    /// `{"custom_id": …, "method": "POST", "url": …, "body": {…}}`, as in OpenAI's API.
    File {
        /// The `url` of all lines.
        endpoint: String,
    },
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BatchLine {
    Prompt {
        prompt: String,
        /// The user's name for it.
        id: Option<Value>,
    },
    /// A request as it is sent; its model may be missing.
    Request {
        line: Map<String, Value>,
        /// The field with the request to the model.
        field: &'static str,
    },
}

impl LineFormat {
    /// The format of a file with this first line.
    pub(super) fn detect(path: &Path, line: &str) -> Result<LineFormat, String> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let is_json = match extension {
            Some("txt") => false,
            Some("jsonl" | "ndjson") => true,
            _ => line.trim_start().starts_with('{') && parse_object(line).is_ok(),
        };
        if !is_json {
            return Ok(LineFormat::Text);
        }
        let line = parse_object(line)?;
        let has = |field: &str| line.contains_key(field);
        if has("prompt") {
            Ok(LineFormat::Prompts)
        } else if has("params") {
            Ok(LineFormat::Messages)
        } else if has("body") {
            let endpoint = text(&line, "url")?.to_owned();
            Ok(LineFormat::File { endpoint })
        } else {
            let message = "expected `prompt`, or `custom_id` with `params` (Anthropic) or `body` \
                           (OpenAI)";
            Err(message.to_owned())
        }
    }

    /// Whether its lines are prompts.
    pub(super) fn has_prompts(&self) -> bool {
        matches!(self, LineFormat::Text | LineFormat::Prompts)
    }

    /// Reads a line in this format.
    pub(super) fn parse(&self, line: &str) -> Result<BatchLine, String> {
        let field = match self {
            LineFormat::Text => {
                let prompt = line.to_owned();
                return Ok(BatchLine::Prompt { prompt, id: None });
            }
            LineFormat::Prompts => {
                let mut line = parse_object(line)?;
                let prompt = text(&line, "prompt")?.to_owned();
                let id = line.remove("id").filter(|id| !id.is_null());
                return Ok(BatchLine::Prompt { prompt, id });
            }
            LineFormat::Messages => "params",
            LineFormat::File { endpoint } => {
                let line = parse_object(line)?;
                if text(&line, "url")? != endpoint {
                    return Err(format!("`url` must be `{endpoint}`, as in the first line"));
                }
                "body"
            }
        };
        let line = parse_object(line)?;
        text(&line, "custom_id")?;
        match line.get(field) {
            Some(Value::Object(_)) => Ok(BatchLine::Request { line, field }),
            _ => Err(format!("`{field}` must be an object")),
        }
    }
}

fn parse_object(line: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("expected a JSON object".to_owned()),
        Err(error) => Err(format!("expected a JSON object: {error}")),
    }
}

fn text<'a>(line: &'a Map<String, Value>, field: &str) -> Result<&'a str, String> {
    let text = line.get(field).and_then(Value::as_str);
    let text = text.filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| format!("`{field}` must be a string that is not empty"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(name: &str, line: &str) -> Result<LineFormat, String> {
        LineFormat::detect(Path::new(name), line)
    }

    #[test]
    fn the_format_is_that_of_the_first_line() {
        let prompts = r#"{"prompt": "a"}"#;
        assert_eq!(detect("a.txt", prompts), Ok(LineFormat::Text));
        assert_eq!(detect("a.jsonl", prompts), Ok(LineFormat::Prompts));
        assert_eq!(detect("a", prompts), Ok(LineFormat::Prompts));
        assert_eq!(detect("a", "{hello"), Ok(LineFormat::Text));
        let messages = r#"{"custom_id": "a", "params": {}}"#;
        assert_eq!(detect("a", messages), Ok(LineFormat::Messages));
        let file = r#"{"custom_id": "a", "url": "/v1/responses", "body": {}}"#;
        let endpoint = "/v1/responses".to_owned();
        assert_eq!(detect("a", file), Ok(LineFormat::File { endpoint }));
        assert!(
            detect("a.jsonl", "hello")
                .unwrap_err()
                .starts_with("expected a JSON object")
        );
        assert!(
            detect("a", "{}")
                .unwrap_err()
                .starts_with("expected `prompt`")
        );
    }

    #[test]
    fn a_line_of_another_format_is_an_error() {
        let problem = |format: LineFormat, line: &str| format.parse(line).unwrap_err();
        let prompts = problem(LineFormat::Prompts, r#"{"custom_id": "a", "params": {}}"#);
        assert_eq!(prompts, "`prompt` must be a string that is not empty");
        let messages = problem(LineFormat::Messages, r#"{"custom_id": "a", "params": 1}"#);
        assert_eq!(messages, "`params` must be an object");
        let unnamed = problem(LineFormat::Messages, r#"{"params": {}}"#);
        assert_eq!(unnamed, "`custom_id` must be a string that is not empty");
        let endpoint = "/v1/responses".to_owned();
        let other = r#"{"custom_id": "a", "url": "/v1/chat/completions", "body": {}}"#;
        let file = problem(LineFormat::File { endpoint }, other);
        assert_eq!(file, "`url` must be `/v1/responses`, as in the first line");
    }
}
