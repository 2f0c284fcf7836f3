//! Whether a request has the fields its vendor requires, before a model is called.
//!
//! Bodies that are passed through are checked by the vendor. A request that is translated
//! or run here would reach another vendor's model with what the client's own vendor refuses,
//! so it is refused here as well. Only what every such vendor refuses is.

use crate::ClientDialect;
use crate::error::WireError;
use crate::neutral::Request;
use crate::raw::RawObject;

/// Fields that hold the input of a Responses request.
const INPUT_FIELDS: [&str; 4] = ["input", "conversation", "previous_response_id", "prompt"];

/// Refuses a request without the fields its vendor requires: something to respond to, and on
/// Messages a token limit. `raw` must be the body that `request` was read from.
///
/// Not for requests to count tokens: they need no limit, and vendors differ in what they
/// count.
///
/// # Errors
/// When something is missing; the error names the field.
pub fn check_complete(
    client: ClientDialect,
    raw: &RawObject<'_>,
    request: &Request,
) -> Result<(), WireError> {
    match client {
        ClientDialect::Messages => {
            not_empty(raw, "messages", "at least one message is required")?;
            match request.max_tokens {
                Some(_) => Ok(()),
                None => Err(WireError::Missing {
                    field: "max_tokens".to_owned(),
                }),
            }
        }
        ClientDialect::Chat => not_empty(raw, "messages", "at least one message is required"),
        ClientDialect::Responses => {
            if INPUT_FIELDS
                .iter()
                .any(|field| is_not_blank(raw.get(field)))
            {
                return Ok(());
            }
            Err(incomplete(
                "input",
                "one of `input`, `conversation`, `previous_response_id` or `prompt` is required, \
                 and there must be something to answer in it",
            ))
        }
        ClientDialect::Gemini => not_empty(raw, "contents", "at least one content is required"),
    }
}

/// A field that is not there at all is refused when the request is read.
fn not_empty(raw: &RawObject<'_>, field: &'static str, why: &'static str) -> Result<(), WireError> {
    match raw.get(field) {
        Some(value) if is_empty_list(value) => Err(incomplete(field, why)),
        _ => Ok(()),
    }
}

fn incomplete(field: &str, why: &'static str) -> WireError {
    WireError::Incomplete {
        field: field.to_owned(),
        why,
    }
}

fn is_not_blank(value: Option<&str>) -> bool {
    value.is_some_and(|value| value != "null" && !is_empty_list(value))
}

/// Whether JSON text is a list of nothing.
fn is_empty_list(value: &str) -> bool {
    let inner = value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| inner.trim_ascii().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_request;

    fn refused(client: ClientDialect, body: &str) -> Option<String> {
        let request = read_request(client, body.as_bytes()).unwrap();
        let raw = RawObject::parse(body.as_bytes()).unwrap();
        let error = check_complete(client, &raw, &request).err()?;
        Some(error.field().unwrap().to_owned())
    }

    #[test]
    fn lists_are_empty_however_they_are_written() {
        for list in ["[]", "[ ]", "[\n\t]"] {
            let body = format!(r#"{{"model":"m","max_tokens":1,"messages":{list}}}"#);
            let refused = refused(ClientDialect::Messages, &body);
            assert_eq!(refused.as_deref(), Some("messages"), "{list}");
        }
        let body = r#"{"model":"m","max_tokens":0,"messages":[{"role":"user","content":[]}]}"#;
        assert_eq!(refused(ClientDialect::Messages, body), None);
    }

    #[test]
    fn a_response_may_be_requested_in_four_ways() {
        for (fields, expected) in [
            ("", Some("input")),
            (r#","instructions":"Be kind.""#, Some("input")),
            (r#","input":null,"prompt":null"#, Some("input")),
            (r#","input":"""#, None),
            (r#","input":[],"previous_response_id":"resp_1""#, None),
            (r#","conversation":{"id":"conv_1"}"#, None),
            (r#","prompt":{"id":"pmpt_1"}"#, None),
        ] {
            let body = format!(r#"{{"model":"m"{fields}}}"#);
            assert_eq!(
                refused(ClientDialect::Responses, &body).as_deref(),
                expected,
                "{fields}"
            );
        }
    }
}
