//! The short fields of a form.

use axum::extract::multipart::Field;

use prowess_wire::excerpt;

use super::Flow;
use crate::error::ApiError;

/// The longest text a field may hold.
const MAX_TEXT: usize = 64 << 10;

/// All of a text field.
pub(super) async fn read(mut field: Field<'_>, flow: &mut Flow) -> Result<String, ApiError> {
    let name = field.name().unwrap_or_default().to_owned();
    let mut text = Vec::new();
    while let Some(chunk) = flow.piece(&mut field).await? {
        text.extend_from_slice(&chunk);
        if text.len() > MAX_TEXT {
            return Err(invalid(&name, &format!("is longer than {MAX_TEXT} bytes")));
        }
    }
    String::from_utf8(text).map_err(|_| invalid(&name, "is not UTF-8"))
}

/// A field that cannot be used.
pub(super) fn invalid(name: &str, why: &str) -> ApiError {
    let message = format!("{}: {why}", excerpt(name));
    ApiError::bad_request("form-field-invalid", message).with("param", excerpt(name).to_string())
}

/// `true` or `false`.
pub(super) fn flag(name: &str, text: &str) -> Result<bool, ApiError> {
    match text.trim() {
        "true" | "1" => Ok(true),
        "false" | "0" | "" => Ok(false),
        _ => Err(invalid(name, "is not true or false")),
    }
}
