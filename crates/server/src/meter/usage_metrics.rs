//! Metrics of tokens and cost. Written where usage rows are, not while a request is served.

use prowess_store::UsageRow;

use super::label_set::LabelSet;

/// Models with series of their own.
const MAX_MODELS: usize = 200;

static MODELS: LabelSet = LabelSet::new(MAX_MODELS);

/// Adds what requests of one kind have used.
pub(super) fn record(row: &UsageRow) {
    let tokens = [
        ("input", row.input_tokens),
        ("output", row.output_tokens),
        ("cache_read", row.cache_read_tokens),
        ("cache_write", row.cache_write_tokens),
    ];
    if row.requests == 0 && tokens.iter().all(|(_, count)| *count == 0) {
        return;
    }
    let model = MODELS.label(&row.model, row.status < 400);
    let labels = [("model", model), ("provider", row.provider.clone())];
    let mut by_status = labels.to_vec();
    by_status.push(("status", row.status.to_string()));
    metrics::counter!("prowess_model_requests_total", &by_status).increment(row.requests);
    metrics::counter!("prowess_model_milliseconds_total", &labels).increment(row.millis);
    for (kind, count) in tokens.into_iter().filter(|(_, count)| *count > 0) {
        let mut by_kind = labels.to_vec();
        by_kind.push(("type", kind.to_owned()));
        metrics::counter!("prowess_tokens_total", &by_kind).increment(count);
    }
    if row.cost_nanos > 0 {
        metrics::counter!("prowess_cost_nanos_total", &labels).increment(row.cost_nanos);
    }
    if row.unpriced > 0 {
        metrics::counter!("prowess_unpriced_requests_total", &labels).increment(row.unpriced);
    }
}
