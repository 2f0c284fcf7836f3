//! The text of a native result, for a model, when the original text is no longer stored.

use serde_json::Value;

use crate::model_text;

/// The text, and whether the result is an error.
pub(crate) fn result_text(content: &Value) -> (String, bool) {
    let text = |key: &str| content.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "bash_code_execution_result" => bash_text(content),
        "text_editor_code_execution_view_result" => (text("content").to_owned(), false),
        "text_editor_code_execution_create_result" => {
            let updated = content.get("is_file_update").and_then(Value::as_bool);
            let done = match updated {
                Some(true) => model_text::FILE_REPLACED,
                _ => model_text::FILE_CREATED,
            };
            (done.to_owned(), false)
        }
        "text_editor_code_execution_str_replace_result" => {
            let lines = content.get("lines").and_then(Value::as_array);
            let lines = lines.into_iter().flatten().filter_map(Value::as_str);
            let lines: Vec<&str> = lines.collect();
            (
                format!("{}\n{}", model_text::FILE_EDITED, lines.join("\n")),
                false,
            )
        }
        kind if kind.ends_with("_error") => {
            let (code, why) = (text("error_code"), text("error_message"));
            let message = match why {
                "" => format!("Error ({code})"),
                why => format!("Error: {why}"),
            };
            (message, true)
        }
        _ => (content.to_string(), false),
    }
}

fn bash_text(content: &Value) -> (String, bool) {
    let text = |key: &str| {
        let text = content.get(key).and_then(Value::as_str);
        text.unwrap_or_default().trim_end()
    };
    let code = content.get("return_code").and_then(Value::as_i64);
    let failed = code.is_some_and(|code| code != 0);
    let mut parts = Vec::new();
    if let (true, Some(code)) = (failed, code) {
        parts.push(format!("Error (exit={code})"));
    }
    if !text("stdout").is_empty() {
        parts.push(text("stdout").to_owned());
    }
    if !text("stderr").is_empty() {
        parts.push(format!("[stderr]\n{}", text("stderr")));
    }
    let files = content.get("content").and_then(Value::as_array);
    let files = files.into_iter().flatten();
    let files: Vec<&str> = files.filter_map(|f| f.get("file_id")?.as_str()).collect();
    if !files.is_empty() {
        parts.push(format!("[files: {}]", files.join(", ")));
    }
    if parts.is_empty() {
        parts.push(model_text::NO_OUTPUT.to_owned());
    }
    (parts.join("\n"), failed)
}
