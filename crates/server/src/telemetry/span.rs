//! One span, as the exporter takes it.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanContext, SpanKind, Status};
use opentelemetry::{Array, InstrumentationScope, KeyValue, SpanId, StringValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

/// What made the spans.
static SCOPE: LazyLock<InstrumentationScope> = LazyLock::new(|| {
    InstrumentationScope::builder("prowess")
        .with_version(env!("CARGO_PKG_VERSION"))
        .build()
});

/// A span that has ended. Attributes are added one by one; their order is that of the conventions'
/// documents.
pub(super) struct EndedSpan(SpanData);

impl EndedSpan {
    pub(super) fn new(
        context: SpanContext,
        parent: SpanId,
        kind: SpanKind,
        name: impl Into<Cow<'static, str>>,
    ) -> EndedSpan {
        EndedSpan(SpanData {
            span_context: context,
            parent_span_id: parent,
            parent_span_is_remote: false,
            span_kind: kind,
            name: name.into(),
            start_time: SystemTime::UNIX_EPOCH,
            end_time: SystemTime::UNIX_EPOCH,
            attributes: Vec::with_capacity(16),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: SCOPE.clone(),
        })
    }

    /// Its parent is a span of the client.
    pub(super) fn below_remote(mut self) -> EndedSpan {
        self.0.parent_span_is_remote = true;
        self
    }

    pub(super) fn time(mut self, started_at: SystemTime, duration: Duration) -> EndedSpan {
        self.0.start_time = started_at;
        self.0.end_time = started_at.checked_add(duration).unwrap_or(started_at);
        self
    }

    /// Clocks may be set back meanwhile: a span never ends before it begins.
    pub(super) fn between(self, started_at: SystemTime, ended_at: SystemTime) -> EndedSpan {
        let duration = ended_at.duration_since(started_at).unwrap_or_default();
        self.time(started_at, duration)
    }

    pub(super) fn with(mut self, key: &'static str, value: impl Into<Value>) -> EndedSpan {
        self.0.attributes.push(KeyValue::new(key, value));
        self
    }

    /// The same, if there is a value.
    pub(super) fn with_some(self, key: &'static str, value: Option<impl Into<Value>>) -> EndedSpan {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Attributes have no unsigned numbers.
    pub(super) fn with_count(self, key: &'static str, count: u64) -> EndedSpan {
        self.with(key, i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(super) fn with_list(
        self,
        key: &'static str,
        values: impl Iterator<Item = String>,
    ) -> EndedSpan {
        let values: Vec<StringValue> = values.map(StringValue::from).collect();
        self.with(key, Value::Array(Array::String(values)))
    }

    /// It failed, for this reason.
    pub(super) fn failed(mut self, reason: impl Into<Cow<'static, str>>) -> EndedSpan {
        self.0.status = Status::error(reason);
        self
    }

    pub(super) fn id(&self) -> SpanId {
        self.0.span_context.span_id()
    }

    pub(super) fn into_data(self) -> SpanData {
        self.0
    }
}
