//! What a client sends with its calls: its own key and its headers.

use http::{HeaderMap, HeaderValue};

use crate::key::SecretText;

const TRACE_PARENT: &str = "traceparent";

/// The client's own key and headers, sent with its calls.
#[derive(Debug, Clone, Default)]
pub struct ClientCredentials {
    /// The client's own key for the provider; used only where the provider allows it.
    pub key: Option<SecretText>,
    /// The headers of the client's request. Passed on when the dialect stays the same; a
    /// translated request only carries `anthropic-beta` and the trace headers.
    pub headers: HeaderMap,
}

impl ClientCredentials {
    /// Adds Anthropic beta features to those that the client names.
    pub fn add_betas(&mut self, betas: &'static str) {
        let betas = HeaderValue::from_static(betas);
        self.headers.append("anthropic-beta", betas);
    }

    /// The span that calls are part of, as the header `traceparent` has it.
    #[must_use]
    pub fn traceparent(&self) -> Option<&str> {
        self.headers.get(TRACE_PARENT)?.to_str().ok()
    }

    /// Gives the next call a span of its own in the trace of `traceparent`, and returns the
    /// span's id. Does nothing without a well-formed `traceparent`.
    pub fn begin_span(&mut self) -> Option<String> {
        let parent = self.traceparent()?;
        let [version, trace, _, flags] = parent.split('-').collect::<Vec<_>>()[..] else {
            return None;
        };
        // An id of zeros is invalid.
        let span = format!("{:016x}", fastrand::u64(1..));
        let next = format!("{version}-{trace}-{span}-{flags}");
        let next = HeaderValue::try_from(next).ok()?;
        self.headers.insert(TRACE_PARENT, next);
        Some(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_gets_a_span_in_the_same_trace() {
        let mut credentials = ClientCredentials::default();
        assert_eq!(credentials.begin_span(), None);
        let trace = "00-0af7651916cd43dd8448eb211c80319c";
        let parent = format!("{trace}-b7ad6b7169203331-01");
        let parent = HeaderValue::try_from(parent).unwrap();
        credentials.headers.insert(TRACE_PARENT, parent);
        let span = credentials.begin_span().unwrap();
        assert_eq!(span.len(), 16);
        let sent = format!("{trace}-{span}-01");
        assert_eq!(credentials.traceparent(), Some(sent.as_str()));
        assert_ne!(credentials.begin_span().unwrap(), span);
    }
}
