//! A span of another process, from `traceparent` and `tracestate` (W3C Trace Context).

use std::str::FromStr;

use axum::http::HeaderMap;
use opentelemetry::trace::{SpanContext, TraceState};
use opentelemetry::{SpanId, TraceFlags, TraceId};

pub(super) const TRACE_PARENT: &str = "traceparent";
pub(super) const TRACE_STATE: &str = "tracestate";

/// The span that a request belongs to; none when the header is missing or malformed.
pub(super) fn read_parent(headers: &HeaderMap) -> Option<SpanContext> {
    let mut parents = headers.get_all(TRACE_PARENT).into_iter();
    let header = parents.next()?.to_str().ok()?;
    if parents.next().is_some() {
        return None;
    }
    parse_parent(header, || read_state(headers))
}

/// The span that a `traceparent` names; none when it is malformed.
pub(super) fn parse_parent(text: &str, state: impl FnOnce() -> TraceState) -> Option<SpanContext> {
    let mut parts = text.trim().split('-');
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
    Some(SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        // Other flags are not ours to pass on.
        TraceFlags::new(flags & TraceFlags::SAMPLED.to_u8()),
        true,
        state(),
    ))
}

/// What other systems added to the trace; nothing if it is malformed.
fn read_state(headers: &HeaderMap) -> TraceState {
    let values = headers.get_all(TRACE_STATE).into_iter();
    let values: Option<Vec<&str>> = values.map(|value| value.to_str().ok()).collect();
    let joined = values.unwrap_or_default().join(",");
    TraceState::from_str(&joined).unwrap_or_default()
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

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn parent(value: &str, state: &[&str]) -> Option<SpanContext> {
        let mut headers = HeaderMap::new();
        headers.insert(TRACE_PARENT, value.parse().unwrap());
        for state in state {
            headers.append(TRACE_STATE, state.parse().unwrap());
        }
        read_parent(&headers)
    }

    #[test]
    fn a_parent_is_read_only_when_it_is_well_formed() {
        let read = parent(GOOD, &[]).unwrap();
        assert!(read.is_sampled() && read.is_remote());
        assert_eq!(
            read.trace_id().to_string(),
            "0af7651916cd43dd8448eb211c80319c"
        );
        assert_eq!(read.span_id().to_string(), "b7ad6b7169203331");
        assert!(
            !parent(&GOOD.replace("-01", "-00"), &[])
                .unwrap()
                .is_sampled()
        );
        let later_version = GOOD.replace("00-", "01-") + "-more";
        assert!(parent(&later_version, &[]).is_some());
        for bad in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ] {
            assert_eq!(parent(bad, &[]), None, "{bad}");
        }
    }

    #[test]
    fn a_state_is_kept_in_order_and_a_malformed_one_is_ignored() {
        let read = parent(GOOD, &["one=1,two=2", "three=3"]).unwrap();
        assert_eq!(read.trace_state().header(), "one=1,two=2,three=3");
        for bad in ["no equals sign", "UPPER=1", "a=b=c"] {
            let read = parent(GOOD, &[bad]).unwrap();
            assert_eq!(read.trace_state().header(), "", "{bad}");
        }
    }
}
