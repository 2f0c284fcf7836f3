//! Says what a request to a model would do, from the same values that decide it.

use prowess_wire::ClientDialect;

use super::RoutingTable;
use super::entry::RouteEntry;
use super::explanation::{
    BreakerExplanation, DeploymentExplanation, DialectExplanation, FallbackExplanation,
    LimitExplanation, RouteExplanation, TimeoutExplanation,
};
use crate::breaker::CircuitBreaker;
use crate::deployments::plan::PlannedModel;
use crate::known_models;
use crate::model_slot::ModelSlot;
use crate::provider::ProviderBackend;
use crate::route::Route;
use crate::route_error::RouteError;
use crate::target::Target;
use crate::upstream::ModelTask;

const DIALECTS: [ClientDialect; 4] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
    ClientDialect::Gemini,
];

impl RoutingTable {
    /// What a request to a model would do.
    pub(crate) fn explain(&self, name: &str) -> Result<RouteExplanation, RouteError> {
        let route = self.route(name)?;
        let entry = self.find_entry(name).map(|(entry, _)| entry);
        let own = entry.map_or(1, |entry| entry.deployments.len());
        let group = entry.and_then(|entry| entry.group.as_ref());
        let group = group.filter(|group| group.members.len() > 1);
        let sticky = group.and_then(|group| group.sticky.as_ref());
        Ok(RouteExplanation {
            name: name.to_owned(),
            entry: entry.map(|entry| entry.name.clone()),
            strategy: group.map(|group| group.strategy),
            sticky_seconds: sticky.map(|sticky| sticky.keep().as_secs_f64()),
            deployments: route.targets.iter().take(own).map(deployment).collect(),
            fallbacks: entry.map_or_else(FallbackExplanation::default, |entry| {
                fallbacks(entry, &route, own)
            }),
        })
    }
}

fn fallbacks(entry: &RouteEntry, route: &Route, own: usize) -> FallbackExplanation {
    let name = |target: &Target| format!("{}/{}", target.provider(), target.model());
    let plan = entry.fallbacks.get().and_then(|all| all.plan.as_ref());
    let Some(plan) = plan else {
        return FallbackExplanation {
            errors: route.targets.iter().skip(own).map(name).collect(),
            ..FallbackExplanation::default()
        };
    };
    let names = |models: &[PlannedModel]| {
        let targets = models.iter().flat_map(|model| {
            let targets = route.targets.iter().skip(model.first);
            targets.take(model.len())
        });
        targets.map(name).collect::<Vec<_>>()
    };
    FallbackExplanation {
        errors: names(&plan.errors),
        context: names(&plan.context),
        content_filter: names(&plan.content_filter),
    }
}

fn deployment(target: &Target) -> DeploymentExplanation {
    let slot = &target.slot;
    let base_model = slot.base_model.as_ref();
    let http = match &target.provider.backend {
        ProviderBackend::Http(http) => Some(http),
        ProviderBackend::Scripted(_) => None,
    };
    DeploymentExplanation {
        provider: target.provider().to_owned(),
        kind: target.kind(),
        model: target.model().to_owned(),
        base_model: base_model.map(|base| base.written().to_owned()),
        weight: slot.deployment.as_ref().map_or(1, |state| state.weight),
        limits: limits(slot),
        breaker: breaker(&slot.breaker),
        attempts: http.map_or(1, |http| http.retry.max_attempts),
        timeouts: http.map(|http| {
            let timeouts = http.client.timeouts();
            TimeoutExplanation {
                connect: timeouts.connect.as_secs_f64(),
                response: timeouts.response.as_secs_f64(),
                idle: timeouts.idle.as_secs_f64(),
            }
        }),
        price: target.price().cloned(),
        price_source: match target.price() {
            Some(_) if slot.has_own_price => "configured".to_owned(),
            Some(_) => format!("known model of {}", known_models::DATE),
            None => "unpriced".to_owned(),
        },
        dialects: DIALECTS.map(|client| dialect(target, client)).to_vec(),
    }
}

fn limits(slot: &ModelSlot) -> LimitExplanation {
    let concurrency = slot.limiter.as_ref().map(|limiter| limiter.limit());
    let minute = slot.deployment.as_ref().map(|state| &state.limits);
    LimitExplanation {
        concurrent: concurrency.map(|limit| limit.concurrent),
        queued: concurrency.map(|limit| limit.queued),
        requests_per_minute: minute.and_then(|limits| limits.requests),
        tokens_per_minute: minute.and_then(|limits| limits.tokens),
    }
}

fn breaker(breaker: &CircuitBreaker) -> BreakerExplanation {
    let policy = breaker.policy();
    let cooldown = breaker.cooldown();
    BreakerExplanation {
        failures: policy.failures,
        server_error_seconds: policy.pause.as_secs_f64(),
        rate_limited_seconds: cooldown.map(|cooldown| cooldown.rate_limited.as_secs_f64()),
        timeout_seconds: cooldown.map(|cooldown| cooldown.timeout.as_secs_f64()),
        auth_seconds: cooldown.map(|cooldown| cooldown.auth.as_secs_f64()),
    }
}

fn dialect(target: &Target, client: ClientDialect) -> DialectExplanation {
    let passes = target.supports_pass_through(client, ModelTask::Generate);
    DialectExplanation {
        client: client.as_str(),
        way: match passes {
            true => "pass-through",
            false => "translation",
        },
    }
}
