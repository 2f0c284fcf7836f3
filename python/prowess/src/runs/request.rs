//! The request of a run, as Python gives it, and its body in Anthropic's Messages API, which
//! the library and servers both read.

use std::time::Duration;

use pyo3::FromPyObject;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::failure::PyFailure;
use crate::sources::FetchSettings;

/// The tool that lets the model run code.
const CODE_EXECUTION_TOOL: &str = "code_execution_20260521";

/// Settings of a run: the attributes of `prowess._runs._Request`.
#[derive(Debug, Clone, FromPyObject)]
pub(crate) struct RunSettings {
    model: String,
    /// The conversation, as JSON: `messages` of Anthropic's API.
    messages: String,
    system: Option<String>,
    max_tokens: Option<u64>,
    /// The container to continue in.
    pub(super) container: Option<String>,
    /// Whether the model may run code.
    pub(super) code: bool,
    timeout: Option<f64>,
    pub(super) fetch: FetchSettings,
}

impl RunSettings {
    /// When the run must have ended, counted from now.
    pub(super) fn deadline(&self) -> Result<Option<Instant>, PyFailure> {
        let Some(seconds) = self.timeout else {
            return Ok(None);
        };
        let time = Duration::try_from_secs_f64(seconds);
        let time = time.map_err(|error| PyFailure::usage(format!("timeout: {error}")))?;
        // A time that is too long for the clock is none.
        Ok(Instant::now().checked_add(time))
    }

    /// The body of the request, in which the last message has these uploaded files.
    pub(super) fn body(&self, files: &[String]) -> Result<Map<String, Value>, PyFailure> {
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(self.model));
        body.insert("stream".to_owned(), json!(true));
        if let Some(text) = &self.system {
            body.insert("system".to_owned(), json!(text));
        }
        if let Some(tokens) = self.max_tokens {
            body.insert("max_tokens".to_owned(), json!(tokens));
        }
        body.insert("messages".to_owned(), self.messages(files)?);
        Ok(body)
    }

    fn messages(&self, files: &[String]) -> Result<Value, PyFailure> {
        let invalid = || {
            let why = "messages: give a text, or a list of messages of which the last is the \
                       user's";
            PyFailure::usage(why)
        };
        let mut messages: Value = serde_json::from_str(&self.messages).map_err(|_| invalid())?;
        let last = messages.as_array_mut().and_then(|list| list.last_mut());
        let last = last.and_then(Value::as_object_mut).ok_or_else(invalid)?;
        if last.get("role") != Some(&json!("user")) {
            return Err(invalid());
        }
        if files.is_empty() {
            return Ok(messages);
        }
        let mut blocks = match last.get_mut("content").map(Value::take) {
            Some(Value::Array(blocks)) => blocks,
            Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
            _ => return Err(invalid()),
        };
        let uploads = files.iter();
        blocks.extend(uploads.map(|id| json!({"type": "container_upload", "file_id": id})));
        last.insert("content".to_owned(), blocks.into());
        Ok(messages)
    }
}

/// Adds the tool that lets the model run code.
pub(super) fn offer_code(body: &mut Map<String, Value>) {
    let tool = json!({"type": CODE_EXECUTION_TOOL, "name": "code_execution"});
    body.insert("tools".to_owned(), json!([tool]));
}
