//! The span of a request to a model: one call of the model, or a whole run.
//!
//! Attribute names are those of the GenAI semantic conventions 1.38; where a name has changed,
//! the older one (`gen_ai.system`) is sent as well.

use std::time::{Duration, SystemTime};

use opentelemetry::SpanId;
use opentelemetry::trace::SpanKind;
use opentelemetry_sdk::trace::SpanData;
use prowess_provider::RouteDecision;
use prowess_provider::kinds::telemetry_name;
use prowess_wire::neutral::TokenUsage;

use super::request_trace::RequestTrace;
use super::span::EndedSpan;

/// A request that has ended.
pub(crate) struct RequestSpan<'a> {
    pub(crate) trace: &'a RequestTrace,
    /// The operation, in the conventions' words, such as `chat` or `embeddings`.
    pub(crate) operation: &'static str,
    /// The id of its run, if it became one.
    pub(crate) run: Option<&'a str>,
    /// Steps of the run that have no spans, because there were too many.
    pub(crate) left_out: u64,
    /// The skills that the request names.
    pub(crate) skills: &'a [String],
    pub(crate) started_at: SystemTime,
    pub(crate) duration: Duration,
    pub(crate) dialect: &'static str,
    pub(crate) provider: &'a str,
    pub(crate) provider_kind: &'static str,
    pub(crate) requested_model: &'a str,
    pub(crate) response_model: &'a str,
    pub(crate) streamed: bool,
    pub(crate) status: u16,
    pub(crate) error_code: Option<&'a str>,
    pub(crate) usage: &'a TokenUsage,
    pub(crate) tenant: &'a str,
    pub(crate) key: Option<&'a str>,
    /// Why the provider was called, if there was a choice.
    pub(crate) decision: Option<&'a RouteDecision>,
}

impl RequestSpan<'_> {
    /// A call of a model is a client's span; a run is the work of an agent in this process.
    pub(crate) fn into_data(self) -> SpanData {
        let model = self.requested_model;
        let (operation, kind, name) = match self.run {
            Some(_) => (
                "invoke_agent",
                SpanKind::Internal,
                "invoke_agent prowess".to_owned(),
            ),
            None => (
                self.operation,
                SpanKind::Client,
                format!("{} {model}", self.operation),
            ),
        };
        let RequestTrace { context, parent } = self.trace;
        let mut span = EndedSpan::new(context.clone(), *parent, kind, name)
            .time(self.started_at, self.duration)
            .with("gen_ai.operation.name", operation)
            .with("gen_ai.request.model", model.to_owned())
            .with("http.response.status_code", i64::from(self.status))
            .with("prowess.dialect", self.dialect)
            .with("prowess.tenant", self.tenant.to_owned())
            .with("prowess.streamed", self.streamed);
        if *parent != SpanId::INVALID {
            span = span.below_remote();
        }
        if !self.provider.is_empty() {
            span = with_usage(
                with_provider(span, self.provider, self.provider_kind),
                self.usage,
            )
            .with("gen_ai.response.model", self.response_model.to_owned());
        }
        if let Some(run) = self.run {
            span = span
                .with("gen_ai.agent.name", "prowess")
                .with("prowess.run", run.to_owned());
        }
        if !self.skills.is_empty() {
            span = span.with_list("prowess.skills", self.skills.iter().cloned());
        }
        if self.left_out > 0 {
            span = span.with_count("prowess.spans_left_out", self.left_out);
        }
        span = with_decision(span, self.decision);
        span = span.with_some("prowess.key", self.key.map(str::to_owned));
        let code = self.error_code.map(str::to_owned);
        if self.status >= 400 {
            span = span.failed(code.clone().unwrap_or_default());
        }
        span.with_some("error.type", code).into_data()
    }
}

/// Adds the provider that responds.
pub(super) fn with_provider(span: EndedSpan, provider: &str, kind: &'static str) -> EndedSpan {
    let system = telemetry_name(kind);
    span.with("gen_ai.system", system)
        .with("gen_ai.provider.name", system)
        .with("prowess.provider", provider.to_owned())
}

/// Adds why the provider was called.
pub(super) fn with_decision(span: EndedSpan, decision: Option<&RouteDecision>) -> EndedSpan {
    match decision {
        Some(decision) => span
            .with("prowess.route.reason", decision.reason.to_string())
            .with_count("prowess.route.attempt", decision.attempt.into()),
        None => span,
    }
}

/// Adds tokens.
fn with_usage(span: EndedSpan, usage: &TokenUsage) -> EndedSpan {
    span.with_count("gen_ai.usage.input_tokens", usage.total_input())
        .with_count("gen_ai.usage.output_tokens", usage.output_tokens)
        .with_count(
            "gen_ai.usage.cache_read.input_tokens",
            usage.cache_read_input_tokens,
        )
        .with_count(
            "gen_ai.usage.cache_creation.input_tokens",
            usage.cache_creation_input_tokens,
        )
}
