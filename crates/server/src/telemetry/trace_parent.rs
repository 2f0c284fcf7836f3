//! The client's span, from the `traceparent` header (W3C Trace Context).

use axum::http::HeaderMap;

/// The client's span that a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceParent {
    pub(super) trace: String,
    pub(super) span: String,
    pub(super) sampled: bool,
}

impl TraceParent {
    /// Parses the header; none when it is missing or malformed.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<TraceParent> {
        let header = headers.get("traceparent")?.to_str().ok()?;
        let mut parts = header.trim().split('-');
        let version = parts
            .next()
            .filter(|part| is_hex(part, 2) && *part != "ff")?;
        let trace = parts.next().filter(|part| is_id(part, 32))?;
        let span = parts.next().filter(|part| is_id(part, 16))?;
        let flags = parts.next().filter(|part| is_hex(part, 2))?;
        if version == "00" && parts.next().is_some() {
            return None;
        }
        let flags = u8::from_str_radix(flags, 16).ok()?;
        Some(TraceParent {
            trace: trace.to_owned(),
            span: span.to_owned(),
            sampled: flags & 1 == 1,
        })
    }
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// An id of zeros is invalid.
fn is_id(text: &str, digits: usize) -> bool {
    is_hex(text, digits) && text.bytes().any(|b| b != b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(value: &str) -> Option<TraceParent> {
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", value.parse().unwrap());
        TraceParent::from_headers(&headers)
    }

    #[test]
    fn a_parent_is_read_only_when_it_is_well_formed() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(parent(good).unwrap().sampled);
        assert!(!parent(&good.replace("-01", "-00")).unwrap().sampled);
        for bad in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ] {
            assert_eq!(parent(bad), None, "{bad}");
        }
    }
}
