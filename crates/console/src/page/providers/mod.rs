//! `/console/providers`: what this server knows of its recent calls to providers. For the
//! operator only, as the API has it.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;

use crate::api::PageError;
use crate::format::{Moment, count, text};
use crate::layout::{Layout, Nav};
use crate::render::html;
use crate::state::ConsoleState;
use crate::visitor::Visitor;

const PATH: &str = "/v1/admin/providers";

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new().route("/console/providers", get(show))
}

#[derive(Template)]
#[template(path = "providers.html")]
struct ProvidersPage {
    layout: Layout,
    providers: Vec<ProviderView>,
}

struct ProviderView {
    name: String,
    kind: String,
    targets: Vec<TargetView>,
}

struct TargetView {
    model: String,
    /// The circuit breaker: its state, and the colour of it.
    breaker: String,
    badge: &'static str,
    retry_in: Option<String>,
    in_flight: String,
    attempts: String,
    failed: String,
    last_latency: String,
    average_latency: String,
    last_error: Option<ErrorView>,
}

struct ErrorView {
    code: String,
    status: Option<u64>,
    at: Option<Moment>,
}

async fn show(visitor: Visitor) -> Result<Response, PageError> {
    let answer: Value = visitor.api.get(PATH).await?;
    let data = answer.get("data").and_then(Value::as_array);
    let providers = data.into_iter().flatten().map(ProviderView::read);
    Ok(html(&ProvidersPage {
        layout: Layout::new(&visitor, "Providers", Nav::Providers).with_curl(PATH),
        providers: providers.collect(),
    }))
}

impl ProviderView {
    fn read(value: &Value) -> ProviderView {
        let targets = value.get("targets").and_then(Value::as_array);
        ProviderView {
            name: text(value, "id"),
            kind: text(value, "kind"),
            targets: targets
                .into_iter()
                .flatten()
                .map(TargetView::read)
                .collect(),
        }
    }
}

impl TargetView {
    fn read(value: &Value) -> TargetView {
        let number = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or_default();
        let millis = |name: &str| match value.get(name).and_then(Value::as_f64) {
            Some(millis) => format!("{millis:.0} ms"),
            None => "–".to_owned(),
        };
        let breaker = value
            .pointer("/breaker/state")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let retry = value.pointer("/breaker/retry_in_seconds");
        let error = value.get("last_error").filter(|error| error.is_object());
        TargetView {
            model: text(value, "model"),
            badge: match breaker {
                "closed" => "ok",
                "open" => "bad",
                _ => "warn",
            },
            breaker: breaker.to_owned(),
            retry_in: retry
                .and_then(Value::as_f64)
                .map(|seconds| format!("{seconds:.0} s")),
            in_flight: count(number("in_flight")),
            attempts: count(number("attempts")),
            failed: count(number("failed")),
            last_latency: millis("last_latency_ms"),
            average_latency: millis("average_latency_ms"),
            last_error: error.map(|error| ErrorView {
                code: text(error, "code"),
                status: error.get("status").and_then(Value::as_u64),
                at: Moment::from_json(error.get("at")),
            }),
        }
    }
}
