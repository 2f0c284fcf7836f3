//! Queries and forms as browsers send them, and paths of the API made from them.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::api::PageError;
use crate::state::ConsoleState;
use crate::visitor::CurrentVisitor;

/// Bytes of a form, unless its route says otherwise.
pub(crate) const MAX_FORM_BYTES: usize = 64 << 10;

/// All but what RFC 3986 calls unreserved.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Names with their values, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(crate) fn parse(text: &[u8]) -> Fields {
        Fields(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The value of a name, without white space around it, if it is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let value = self.all(name).next()?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// All values of a name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let same = self.0.iter().filter(move |(own, _)| own == name);
        same.map(|(_, value)| value.as_str())
    }

    /// Whether a box is ticked.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The value of a name, as a number.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, PageError> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let wrong = || PageError::bad_request(format!("{name}: `{text}` is not a number"));
        text.parse().map(Some).map_err(|_| wrong())
    }
}

/// The query of the address.
pub(crate) struct QueryFields(pub(crate) Fields);

impl<S: Sync> FromRequestParts<S> for QueryFields {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(QueryFields(Fields::parse(query.as_bytes())))
    }
}

/// The body of a form. The visitor must be extracted before, if there is one: it counts for their
/// tenant.
pub(crate) struct FormFields(pub(crate) Fields);

impl FromRequest<ConsoleState> for FormFields {
    type Rejection = Response;

    async fn from_request(request: Request, state: &ConsoleState) -> Result<Self, Response> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.map_or(&b""[..], |kind| kind.as_bytes());
        if !kind.starts_with(b"application/x-www-form-urlencoded") {
            let error = PageError {
                status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
                message: "a form of the console is application/x-www-form-urlencoded".to_owned(),
            };
            return Err(error.into_response());
        }
        let (parts, body) = request.into_parts();
        let visitor = parts.extensions.get::<CurrentVisitor>();
        let body = match visitor.and_then(CurrentVisitor::get) {
            Some(visitor) => visitor.api.read_form(body, MAX_FORM_BYTES).await,
            None => {
                let read = state.server.read_form(None, body, MAX_FORM_BYTES).await;
                read.map_err(PageError::from)
            }
        };
        let body = body.map_err(IntoResponse::into_response)?;
        Ok(FormFields(Fields::parse(&body)))
    }
}

/// A path of the API or of the console, with a query of the values that are there.
pub(crate) fn with_query(path: &str, pairs: &[(&str, Option<&str>)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            query.append_pair(name, value);
        }
    }
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// A text as one segment of a path, whatever is in it.
pub(crate) fn segment(text: &str) -> String {
    match text {
        // A path with these is another path.
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        text => utf8_percent_encode(text, SEGMENT).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_never_becomes_two() {
        assert_eq!(segment("skill_01"), "skill_01");
        assert_eq!(segment("../admin?x#y"), "..%2Fadmin%3Fx%23y");
        assert_eq!(segment(".."), "%2E%2E");
    }

    #[test]
    fn empty_values_are_left_out_of_a_query() {
        let pairs = [("q", Some("a b&c")), ("page", None), ("state", Some(""))];
        assert_eq!(with_query("/v1/skills", &pairs), "/v1/skills?q=a+b%26c");
        assert_eq!(with_query("/v1/skills", &[]), "/v1/skills");
    }
}
