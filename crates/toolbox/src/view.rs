//! A file or text as a result, also in the form of the native editor tool.

use crate::model_text;
use crate::outcome::{ContentPart, ErrorCode, NativeCall, ToolOutcome};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use prowess_sandbox::collect::mime_type;
use serde_json::{Value, json};

/// What a view returns.
#[derive(Debug)]
pub(crate) enum ViewResult {
    /// All of a text.
    Text(String),
    /// Some lines of a text.
    Lines {
        /// The lines.
        text: String,
        /// The number of the first.
        first: usize,
        /// How many the file has.
        total: usize,
    },
    /// A binary file.
    Binary {
        /// Its type.
        mime: &'static str,
        /// Its bytes.
        data: Bytes,
    },
    /// The file does not exist.
    Missing(String),
    /// The file cannot be shown.
    Refused(String),
}

impl ViewResult {
    /// A binary file, unless it is too large to be shown.
    pub(crate) fn binary(path: &str, data: Bytes, cap: usize) -> Self {
        let mime = mime_type(path, data.get(..512).unwrap_or(&data));
        if data.len() > cap {
            let size = data.len();
            return Self::Refused(model_text::binary_too_large(path, mime, size, cap));
        }
        Self::Binary { mime, data }
    }
}

/// The input of a native view of a file.
pub(crate) fn view_input(path: &str) -> Value {
    json!({ "command": "view", "path": path })
}

/// The content of a native error result.
pub(crate) fn error_result(code: ErrorCode, why: &str) -> Value {
    json!({
        "type": "text_editor_code_execution_tool_result_error",
        "error_code": code.as_str(),
        "error_message": why,
    })
}

/// The outcome of viewing a file.
pub(crate) fn view_outcome(path: &str, shown: ViewResult) -> ToolOutcome {
    outcome_for_input(view_input(path), shown)
}

/// The same for the original input.
pub(crate) fn outcome_for_input(input: Value, shown: ViewResult) -> ToolOutcome {
    let result = native_result(&shown);
    let native = NativeCall::Editor { input, result };
    match shown {
        ViewResult::Text(text) => ToolOutcome::text(text, native),
        ViewResult::Lines { text, .. } => ToolOutcome::text(text, native),
        ViewResult::Missing(why) | ViewResult::Refused(why) => {
            ToolOutcome::error(format!("Error: {why}"), native)
        }
        ViewResult::Binary { mime, data } => {
            let mime = mime.to_owned();
            let mut outcome = ToolOutcome::text("", native);
            outcome.content = vec![ContentPart::Binary { mime, data }];
            outcome
        }
    }
}

fn native_result(shown: &ViewResult) -> Value {
    match shown {
        ViewResult::Text(text) => {
            let lines = text.lines().count();
            view_result("text", text, Some((1, lines, lines)))
        }
        ViewResult::Lines { text, first, total } => {
            let lines = text.lines().count();
            view_result("text", text, Some((*first, lines, *total)))
        }
        ViewResult::Binary { mime, data } if mime.starts_with("image/") => {
            view_result("image", &STANDARD.encode(data), None)
        }
        ViewResult::Binary { mime, data } if *mime == "application/pdf" => {
            view_result("pdf", &STANDARD.encode(data), None)
        }
        // Native clients support no other types; a description is more useful than bytes.
        ViewResult::Binary { mime, data } => view_result(
            "text",
            &format!("[{mime}, {} bytes]", data.len()),
            Some((1, 1, 1)),
        ),
        ViewResult::Missing(why) => error_result(ErrorCode::FileNotFound, why),
        ViewResult::Refused(why) => error_result(ErrorCode::InvalidToolInput, why),
    }
}

fn view_result(kind: &str, content: &str, lines: Option<(usize, usize, usize)>) -> Value {
    let (first, count, total) = match lines {
        Some((first, count, total)) => (json!(first), json!(count), json!(total)),
        None => (Value::Null, Value::Null, Value::Null),
    };
    json!({
        "type": "text_editor_code_execution_view_result",
        "file_type": kind,
        "content": content,
        "start_line": first,
        "num_lines": count,
        "total_lines": total,
    })
}
