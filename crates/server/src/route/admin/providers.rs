//! `GET /v1/admin/providers`: what this server knows of its recent calls to providers. Other
//! servers of the same store know of their own.

use std::time::{Duration, SystemTime};

use axum::Json;
use axum::extract::State;
use prowess_provider::{
    BreakerPosition, DeploymentHealth, LastCallError, ProviderHealth, TargetHealth,
};
use prowess_store::Timestamp;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::render::rfc3339;

pub(super) async fn list(
    State(app): State<App>,
    principal: Principal,
) -> Result<Json<Value>, HttpError> {
    principal.require_operator()?;
    let providers = app.settings().providers.as_ref();
    let health = providers.map(|providers| providers.health());
    let data: Vec<Value> = health.iter().flatten().map(provider_json).collect();
    Ok(Json(
        json!({ "data": data, "has_more": false, "next_page": null }),
    ))
}

fn provider_json(provider: &ProviderHealth) -> Value {
    let targets: Vec<Value> = provider.targets.iter().map(target_json).collect();
    json!({
        "id": provider.name,
        "type": "provider",
        "kind": provider.kind,
        "targets": targets,
    })
}

fn target_json(target: &TargetHealth) -> Value {
    let retry = match target.breaker {
        BreakerPosition::Open { retry_in } => Some(retry_in.as_millis() as f64 / 1e3),
        _ => None,
    };
    json!({
        "model": target.model,
        "breaker": {
            "state": target.breaker.as_str(),
            "consecutive_failures": target.consecutive_failures,
            "retry_in_seconds": retry,
        },
        "in_flight": target.in_flight,
        "attempts": target.attempts,
        "failed": target.failed,
        "last_latency_ms": target.last_latency.map(millis),
        "average_latency_ms": target.average_latency.map(millis),
        "last_error": target.last_error.as_ref().map(error_json),
        "deployment": target.deployment.as_ref().map(deployment_json),
    })
}

/// One of several deployments of a model: its part of the requests, and whether it is passed
/// over.
fn deployment_json(deployment: &DeploymentHealth) -> Value {
    let cooldown = deployment.cooldown.map(|reason| {
        let left = deployment.cooldown_left.unwrap_or_default();
        json!({ "reason": reason, "seconds_left": left.as_millis() as f64 / 1e3 })
    });
    json!({
        "model": deployment.upstream_model,
        "weight": deployment.weight,
        "chosen": deployment.chosen,
        "share": deployment.share,
        "running": deployment.running,
        "latency_ms": deployment.latency.map(millis),
        "cooldown": cooldown,
    })
}

fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e3
}

fn error_json(error: &LastCallError) -> Value {
    let since = error.at.duration_since(SystemTime::UNIX_EPOCH);
    let micros = since.unwrap_or_default().as_micros();
    let at = Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX));
    json!({ "code": error.code, "status": error.status, "at": rfc3339(at) })
}
