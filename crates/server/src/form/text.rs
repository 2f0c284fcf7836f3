//! Short text fields of a form.

use axum::extract::multipart::Field;

use prowess_wire::excerpt;

use super::FormReader;
use crate::error::HttpError;

/// Maximum length of a text field.
pub(super) const MAX_TEXT_BYTES: usize = 64 << 10;

/// Reads a text field.
pub(super) async fn read_text(
    field: Field<'_>,
    reader: &mut FormReader,
) -> Result<String, HttpError> {
    read_within(field, reader, MAX_TEXT_BYTES).await
}

/// Reads a text field of at most this many bytes.
pub(super) async fn read_within(
    mut field: Field<'_>,
    reader: &mut FormReader,
    max_bytes: usize,
) -> Result<String, HttpError> {
    let name = field.name().unwrap_or_default().to_owned();
    let mut text = Vec::new();
    while let Some(chunk) = reader.next_chunk(&mut field).await? {
        text.extend_from_slice(&chunk);
        if text.len() > max_bytes {
            return Err(invalid_field(
                &name,
                &format!("is longer than {max_bytes} bytes"),
            ));
        }
    }
    String::from_utf8(text).map_err(|_| invalid_field(&name, "is not UTF-8"))
}

/// The error for an invalid field.
pub(super) fn invalid_field(name: &str, why: &str) -> HttpError {
    field_error("form-field-invalid", name, why)
}

/// The error for a rejected field, with a code.
pub(super) fn field_error(code: &'static str, name: &str, why: &str) -> HttpError {
    let message = format!("{}: {why}", excerpt(name));
    HttpError::bad_request(code, message).with_detail("param", excerpt(name).to_string())
}

/// Parses `true` or `false`.
pub(super) fn parse_flag(name: &str, text: &str) -> Result<bool, HttpError> {
    match text.trim() {
        "true" | "1" => Ok(true),
        "false" | "0" | "" => Ok(false),
        _ => Err(invalid_field(name, "is not true or false")),
    }
}
