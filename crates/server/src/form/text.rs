//! The short fields of a form.

use axum::extract::multipart::Field;

use prowess_wire::excerpt;

use super::Flow;
use crate::error::ApiError;

/// The longest text a field may hold.
pub(super) const MAX_TEXT: usize = 64 << 10;

/// All of a text field.
pub(super) async fn read(field: Field<'_>, flow: &mut Flow) -> Result<String, ApiError> {
    read_within(field, flow, MAX_TEXT).await
}

/// All of a text field that may have so many bytes.
pub(super) async fn read_within(
    mut field: Field<'_>,
    flow: &mut Flow,
    max_bytes: usize,
) -> Result<String, ApiError> {
    let name = field.name().unwrap_or_default().to_owned();
    let mut text = Vec::new();
    while let Some(chunk) = flow.piece(&mut field).await? {
        text.extend_from_slice(&chunk);
        if text.len() > max_bytes {
            return Err(invalid(&name, &format!("is longer than {max_bytes} bytes")));
        }
    }
    String::from_utf8(text).map_err(|_| invalid(&name, "is not UTF-8"))
}

/// A field that cannot be used.
pub(super) fn invalid(name: &str, why: &str) -> ApiError {
    refused("form-field-invalid", name, why)
}

/// A field that is refused, with the code of the reason.
pub(super) fn refused(code: &'static str, name: &str, why: &str) -> ApiError {
    let message = format!("{}: {why}", excerpt(name));
    ApiError::bad_request(code, message).with("param", excerpt(name).to_string())
}

/// `true` or `false`.
pub(super) fn flag(name: &str, text: &str) -> Result<bool, ApiError> {
    match text.trim() {
        "true" | "1" => Ok(true),
        "false" | "0" | "" => Ok(false),
        _ => Err(invalid(name, "is not true or false")),
    }
}
