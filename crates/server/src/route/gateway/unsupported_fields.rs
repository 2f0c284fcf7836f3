//! Reports fields that a translation had to drop.
//!
//! Complete responses name them in a header. A stream has sent its headers long before, so it
//! names dropped fields of the response in a comment before its last event: event stream
//! parsers skip comments. The bodies have no field for it that a client's types would allow:
//! `metadata` of Responses repeats what the client sent.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use prowess_wire::Dropped;

/// Names unsupported fields: of the request as in the client's body, and of the response,
/// after `response.`, as in the provider's.
const DROPPED_HEADER: HeaderName = HeaderName::from_static("prowess-dropped");
/// Fields that are named; more than a client would read.
const MAX_FIELDS: usize = 32;
/// Approximate characters of one field.
const MAX_FIELD_CHARS: usize = 100;

/// Unsupported fields, each once.
#[derive(Debug, Default)]
pub(crate) struct UnsupportedFields {
    fields: Vec<String>,
    more: usize,
}

impl UnsupportedFields {
    /// Adds fields of the request.
    pub(super) fn add_request_fields(
        &mut self,
        dropped: &[Dropped],
        client_path: impl Fn(&str) -> String,
    ) {
        for Dropped { field, .. } in dropped {
            self.add(header_safe(&client_path(field)));
        }
    }

    /// Adds fields of the request by their names in the client's body.
    pub(crate) fn add_names<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names {
            self.add(header_safe(name));
        }
    }

    /// Adds fields of the response.
    pub(super) fn add_response_fields(&mut self, dropped: &[Dropped]) {
        for Dropped { field, why } in dropped {
            tracing::debug!(field, why, "field dropped from the response");
            self.add(format!("response.{}", header_safe(field)));
        }
    }

    fn add(&mut self, field: String) {
        if self.fields.contains(&field) {
            return;
        }
        if self.fields.len() < MAX_FIELDS {
            self.fields.push(field);
        } else {
            self.more += 1;
        }
    }

    fn render(&self) -> Option<String> {
        if self.fields.is_empty() {
            return None;
        }
        let fields = self.fields.join(", ");
        Some(match self.more {
            0 => fields,
            more => format!("{fields}, and {more} more"),
        })
    }

    /// Writes the fields to a header.
    pub(crate) fn write_header(&self, headers: &mut HeaderMap) {
        let value = self.render().map(|text| HeaderValue::from_str(&text));
        if let Some(Ok(value)) = value {
            headers.insert(DROPPED_HEADER, value);
        }
    }

    /// Returns the fields as a comment of an event stream, once.
    pub(super) fn take_comment(&mut self) -> Option<String> {
        let text = std::mem::take(self).render()?;
        Some(format!(": {DROPPED_HEADER}: {text}\n\n"))
    }
}

/// A field name in characters allowed in a header; a client may send any name.
fn header_safe(field: &str) -> String {
    let mut text = String::with_capacity(field.len().min(MAX_FIELD_CHARS));
    for c in field.chars() {
        if text.len() >= MAX_FIELD_CHARS {
            text.push_str("...");
            break;
        }
        match c {
            ' '..='~' => text.push(c),
            _ => text.extend(c.escape_default()),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(field: impl Into<String>) -> Dropped {
        Dropped {
            field: field.into(),
            why: "so",
        }
    }

    fn header(unsupported: &UnsupportedFields) -> String {
        let mut headers = HeaderMap::new();
        unsupported.write_header(&mut headers);
        let value = headers
            .get(DROPPED_HEADER)
            .map(|value| value.to_str().unwrap());
        value.unwrap_or_default().to_owned()
    }

    #[test]
    fn fields_are_named_once_and_in_characters_of_a_header() {
        let mut unsupported = UnsupportedFields::default();
        assert_eq!(header(&unsupported), "");
        let fields = [dropped("süß\n"), dropped("top_k"), dropped("top_k")];
        unsupported.add_request_fields(&fields, str::to_owned);
        unsupported.add_response_fields(&[dropped("content[1]")]);
        assert_eq!(
            header(&unsupported),
            r"s\u{fc}\u{df}\n, top_k, response.content[1]"
        );
        let comment = unsupported.take_comment();
        let expected = ": prowess-dropped: s\\u{fc}\\u{df}\\n, top_k, response.content[1]\n\n";
        assert_eq!(comment.as_deref(), Some(expected));
        assert_eq!(unsupported.take_comment(), None);
    }

    #[test]
    fn however_many_and_long_they_are_the_header_is_short() {
        let mut unsupported = UnsupportedFields::default();
        let fields: Vec<_> = (0..1000)
            .map(|n| dropped(format!("{n}{}", "é".repeat(9999))))
            .collect();
        unsupported.add_request_fields(&fields, str::to_owned);
        let header = header(&unsupported);
        assert!(header.ends_with(", and 968 more"), "{header}");
        assert!(header.len() < 4 << 10, "{}", header.len());
    }
}
