//! The headers of a part of a form: which field it is.

use super::error::FormError;

/// Which field a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartField {
    /// The one that names the model.
    Model,
    Other,
}

/// The name of the field.
const MODEL: &str = "model";

/// Reads the headers of a part, without the empty line after them.
pub(super) fn read_part_headers(headers: &[u8]) -> Result<PartField, FormError> {
    let text = std::str::from_utf8(headers)
        .map_err(|_| FormError::Malformed("the headers of a part are not text"))?;
    let mut disposition = None;
    let mut has_encoding = false;
    for line in text.split("\r\n") {
        if line.chars().any(char::is_control) {
            return Err(FormError::Malformed(
                "a header of a part has control characters",
            ));
        }
        let (name, value) = line
            .split_once(':')
            .filter(|(name, _)| !name.is_empty() && !name.contains(char::is_whitespace))
            .ok_or(FormError::Malformed(
                "a part has a line that is not a header",
            ))?;
        if name.eq_ignore_ascii_case("content-transfer-encoding") {
            has_encoding = true;
        }
        if name.eq_ignore_ascii_case("content-disposition")
            && disposition.replace(value.trim()).is_some()
        {
            return Err(FormError::Malformed("a part has two names"));
        }
    }
    let disposition = disposition.ok_or(FormError::Malformed("a part has no name"))?;
    let part = read_disposition(disposition).ok_or(FormError::Malformed(
        "the name of a part could be read in two ways",
    ))?;
    match part {
        // Another server could take these for the same field.
        (name, _) if name.starts_with("model[") => {
            Err(FormError::Malformed("the field `model` must not be a list"))
        }
        (MODEL, true) => Err(FormError::Malformed("the field `model` must not be a file")),
        (MODEL, false) if has_encoding => Err(FormError::Malformed(
            "the field `model` must not be encoded",
        )),
        (MODEL, false) => Ok(PartField::Model),
        _ => Ok(PartField::Other),
    }
}

/// The name in `form-data; name="…"; filename="…"`, and whether it is a file.
fn read_disposition(value: &str) -> Option<(&str, bool)> {
    let (kind, mut rest) = value.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return None;
    }
    let (mut name, mut is_file) = (None, false);
    loop {
        rest = rest.trim_start();
        let (key, after) = rest.split_once('=')?;
        let (text, after) = read_value(after)?;
        match key.trim().to_ascii_lowercase().as_str() {
            // Escapes are read in different ways.
            "name" if name.is_none() && !text.contains(['\\', '"']) => name = Some(text),
            "filename" | "filename*" => is_file = true,
            _ => return None,
        }
        match after.trim_start().strip_prefix(';') {
            Some(more) => rest = more,
            None if after.trim().is_empty() => break,
            None => return None,
        }
    }
    Some((name?, is_file))
}

/// A value with or without quotes, and what follows it.
fn read_value(text: &str) -> Option<(&str, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        let (value, after) = text.split_at_checked(end)?;
        let value = value.trim_end();
        let is_plain = !value.is_empty() && !value.contains(['"', '\\', ',', ' ', '\t', '=']);
        return is_plain.then_some((value, after));
    };
    let mut escaped = false;
    let end = quoted.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    let (value, after) = quoted.split_at_checked(end)?;
    Some((value, after.strip_prefix('"')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_that_names_the_model_is_known_by_its_exact_name() {
        for (headers, expected) in [
            (
                "Content-Disposition: form-data; name=\"model\"",
                Some(PartField::Model),
            ),
            (
                "content-disposition:form-data;name=model",
                Some(PartField::Model),
            ),
            (
                "Content-Disposition: form-data; name=\"file\"; filename=\"a\\\"b; name=model.mp3\"\r\nContent-Type: audio/mpeg",
                Some(PartField::Other),
            ),
            (
                "Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''a%20b",
                Some(PartField::Other),
            ),
            (
                "Content-Disposition: form-data; name=\"models\"",
                Some(PartField::Other),
            ),
            // Each of these could be another field elsewhere.
            (
                "Content-Disposition: form-data; name=\"model\"; filename=\"a\"",
                None,
            ),
            ("Content-Disposition: form-data; name=\"mod\\el\"", None),
            (
                "Content-Disposition: form-data; name=\"a\"; name=\"model\"",
                None,
            ),
            (
                "Content-Disposition: form-data; name=\"a\"; name*=UTF-8''model",
                None,
            ),
            ("Content-Disposition: form-data; name=\"model[]\"", None),
            (
                "Content-Disposition: form-data; name=\"model\"\r\nContent-Transfer-Encoding: base64",
                None,
            ),
            (
                "Content-Disposition: form-data; name=\"a\"\r\nContent-Disposition: form-data; name=\"model\"",
                None,
            ),
            ("Content-Disposition: form-data; name=\"a\"\n X: y", None),
            ("Content-Disposition: attachment; name=\"model\"", None),
            ("Content-Type: text/plain", None),
            ("", None),
        ] {
            assert_eq!(
                read_part_headers(headers.as_bytes()).ok(),
                expected,
                "{headers}"
            );
        }
    }
}
