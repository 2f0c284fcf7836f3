//! Counts spans that were not sent.

/// Counts spans that did not fit into the queue, could not be sent, or were rejected.
pub(super) fn count_dropped(spans: usize) {
    metrics::counter!("prowess_spans_dropped_total").increment(spans as u64);
}
