//! A file or a text shown, also as a native client of the editor sees it.

use crate::outcome::{ErrorCode, Native, Outcome, Part};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use prowess_sandbox::collect::mime_type;
use serde_json::{Value, json};

/// What is shown.
#[derive(Debug)]
pub(crate) enum Shown {
    /// All of a text.
    Text(String),
    /// Some lines of a text: which is the first, how many there are in all.
    Lines {
        /// The lines.
        text: String,
        /// The number of the first.
        first: usize,
        /// How many the file has.
        total: usize,
    },
    /// What is not text.
    Binary {
        /// Its type.
        mime: &'static str,
        /// Its bytes.
        data: Bytes,
    },
    /// Nothing, because it is not there.
    Missing(String),
    /// Nothing, because it cannot be shown.
    Refused(String),
}

impl Shown {
    /// A file that is not text, if it is not too large to be shown.
    pub(crate) fn binary(path: &str, data: Bytes, cap: usize) -> Self {
        let mime = mime_type(path, data.get(..512).unwrap_or(&data));
        if data.len() > cap {
            let size = data.len();
            return Self::Refused(format!(
                "`{path}` is not text ({mime}, {size} bytes) and too large to be shown; {cap} bytes \
                 is the most. Read it with code"
            ));
        }
        Self::Binary { mime, data }
    }
}

/// The input of a native view of a file.
pub(crate) fn input(path: &str) -> Value {
    json!({ "command": "view", "path": path })
}

/// The content of a native result that tells of a failure.
pub(crate) fn error(code: ErrorCode, why: &str) -> Value {
    json!({
        "type": "text_editor_code_execution_tool_result_error",
        "error_code": code.as_str(),
        "error_message": why,
    })
}

/// What came of viewing a file.
pub(crate) fn outcome(path: &str, shown: Shown) -> Outcome {
    outcome_of(input(path), shown)
}

/// The same, for an input as it came.
pub(crate) fn outcome_of(input: Value, shown: Shown) -> Outcome {
    let result = native(&shown);
    let native = Native::Editor { input, result };
    match shown {
        Shown::Text(text) => Outcome::text(text, native),
        Shown::Lines { text, .. } => Outcome::text(text, native),
        Shown::Missing(why) | Shown::Refused(why) => {
            Outcome::error(format!("Error: {why}"), native)
        }
        Shown::Binary { mime, data } => {
            let mime = mime.to_owned();
            let mut outcome = Outcome::text("", native);
            outcome.shown = vec![Part::Binary { mime, data }];
            outcome
        }
    }
}

fn native(shown: &Shown) -> Value {
    match shown {
        Shown::Text(text) => {
            let lines = text.lines().count();
            result("text", text, Some((1, lines, lines)))
        }
        Shown::Lines { text, first, total } => {
            let lines = text.lines().count();
            result("text", text, Some((*first, lines, *total)))
        }
        Shown::Binary { mime, data } if mime.starts_with("image/") => {
            result("image", &STANDARD.encode(data), None)
        }
        Shown::Binary { mime, data } if *mime == "application/pdf" => {
            result("pdf", &STANDARD.encode(data), None)
        }
        // Native clients know no other types; what it is says more than its bytes.
        Shown::Binary { mime, data } => result(
            "text",
            &format!("[{mime}, {} bytes]", data.len()),
            Some((1, 1, 1)),
        ),
        Shown::Missing(why) => error(ErrorCode::FileNotFound, why),
        Shown::Refused(why) => error(ErrorCode::InvalidToolInput, why),
    }
}

fn result(kind: &str, content: &str, lines: Option<(usize, usize, usize)>) -> Value {
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
