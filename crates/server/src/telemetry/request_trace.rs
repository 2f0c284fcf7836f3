//! Trace and span ids of one request, and the headers that carry them on.

use axum::http::{HeaderMap, HeaderValue};
use opentelemetry::trace::{SpanContext, SpanKind, TraceState};
use opentelemetry::{SpanId, TraceFlags, TraceId};
use opentelemetry_sdk::trace::{
    IdGenerator, RandomIdGenerator, Sampler, SamplingDecision, ShouldSample,
};

use super::trace_parent::{TRACE_PARENT, TRACE_STATE, read_parent};

/// The span of a request, before anything is known of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestTrace {
    pub(super) context: SpanContext,
    /// The client's span; invalid if the trace begins here.
    pub(super) parent: SpanId,
}

impl RequestTrace {
    /// Continues the client's trace, sent or not as the client says, or begins one.
    pub(super) fn begin(headers: &HeaderMap, sample_ratio: f64) -> RequestTrace {
        match read_parent(headers) {
            Some(parent) => RequestTrace::below(&parent),
            None => RequestTrace::new(sample_ratio),
        }
    }

    /// A span below one of another process, sent or not as that one.
    pub(super) fn below(parent: &SpanContext) -> RequestTrace {
        let context = SpanContext::new(
            parent.trace_id(),
            new_span_id(),
            parent.trace_flags(),
            false,
            parent.trace_state().clone(),
        );
        RequestTrace {
            context,
            parent: parent.span_id(),
        }
    }

    /// Continues with the span that headers of ours name: a stored request has them, and the
    /// server that would have sent the span died, or left it to this one.
    pub(super) fn resume(headers: &HeaderMap, sample_ratio: f64) -> RequestTrace {
        let Some(span) = read_parent(headers) else {
            return RequestTrace::new(sample_ratio);
        };
        RequestTrace {
            context: span,
            parent: SpanId::INVALID,
        }
    }

    fn new(sample_ratio: f64) -> RequestTrace {
        let trace = RandomIdGenerator::default().new_trace_id();
        let flags = TraceFlags::NOT_SAMPLED.with_sampled(is_chosen(trace, sample_ratio));
        RequestTrace {
            context: SpanContext::new(trace, new_span_id(), flags, false, TraceState::NONE),
            parent: SpanId::INVALID,
        }
    }

    /// Whether its spans are sent.
    pub(crate) fn is_sampled(&self) -> bool {
        self.context.is_sampled()
    }

    /// Names this span in the headers of a request to a provider.
    pub(crate) fn write_headers(&self, headers: &mut HeaderMap) {
        let context = &self.context;
        let parent = format!(
            "00-{}-{}-{:02x}",
            context.trace_id(),
            context.span_id(),
            context.trace_flags().to_u8()
        );
        if let Ok(parent) = HeaderValue::try_from(parent) {
            headers.insert(TRACE_PARENT, parent);
        }
        headers.remove(TRACE_STATE);
        let state = context.trace_state().header();
        if !state.is_empty()
            && let Ok(state) = HeaderValue::try_from(state)
        {
            headers.insert(TRACE_STATE, state);
        }
    }

    /// A span in the same trace: one that the provider was told of, or a new one.
    pub(super) fn child(&self, span: Option<&str>) -> SpanContext {
        let known = span.and_then(|span| SpanId::from_hex(span).ok());
        let context = &self.context;
        SpanContext::new(
            context.trace_id(),
            known.unwrap_or_else(new_span_id),
            context.trace_flags(),
            false,
            context.trace_state().clone(),
        )
    }
}

fn new_span_id() -> SpanId {
    RandomIdGenerator::default().new_span_id()
}

/// Whether a trace that begins here is sent.
fn is_chosen(trace: TraceId, ratio: f64) -> bool {
    let sampler = Sampler::TraceIdRatioBased(ratio);
    let sampled = sampler.should_sample(None, trace, "", &SpanKind::Client, &[], &[]);
    sampled.decision == SamplingDecision::RecordAndSample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_traces_is_chosen_and_the_client_decides_about_its_own() {
        let chosen = |ratio: f64| {
            let traces = (0..4_000).map(|_| RequestTrace::begin(&HeaderMap::new(), ratio));
            traces.filter(RequestTrace::is_sampled).count()
        };
        assert_eq!((chosen(0.0), chosen(1.0)), (0, 4_000));
        // Seven standard deviations.
        assert!((800..1_200).contains(&chosen(0.25)), "{}", chosen(0.25));
        for (flags, ratio, is_sampled) in [("01", 0.0, true), ("00", 1.0, false)] {
            let mut headers = HeaderMap::new();
            let parent = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}");
            headers.insert(TRACE_PARENT, parent.parse().unwrap());
            let trace = RequestTrace::begin(&headers, ratio);
            assert_eq!(trace.is_sampled(), is_sampled);
            assert_eq!(trace.parent.to_string(), "b7ad6b7169203331");
            trace.write_headers(&mut headers);
            let resumed = RequestTrace::resume(&headers, ratio);
            assert_eq!(resumed.context.span_id(), trace.context.span_id());
            assert_eq!(resumed.context.trace_id(), trace.context.trace_id());
        }
    }
}
