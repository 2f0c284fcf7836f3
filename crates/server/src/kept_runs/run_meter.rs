//! The meter of a kept run: target and usage become known while it runs.

use std::sync::{Mutex, PoisonError};

use axum::http::HeaderMap;
use prowess_engine::{RunEvent, RunStep, SpendCheck};
use prowess_provider::Target;

use crate::meter::{Meter, UsageTap};

/// Follows the events of a run.
pub(super) struct RunMeter {
    targets: Vec<Target>,
    state: Mutex<MeterState>,
}

struct MeterState {
    meter: Meter,
    tap: Option<UsageTap>,
    /// Whether the turn is read that a server before has made.
    is_replayed: bool,
}

impl RunMeter {
    pub(super) fn new(mut meter: Meter, run: &str, targets: Vec<Target>) -> Self {
        meter.begin_run(run, &targets);
        RunMeter {
            targets,
            state: Mutex::new(MeterState {
                meter,
                tap: None,
                is_replayed: false,
            }),
        }
    }

    /// Names the span of the run in the headers of requests to providers, if there is one.
    pub(super) fn write_trace(&self, headers: &mut HeaderMap) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(trace) = state.meter.trace() {
            trace.write_headers(headers);
        }
    }

    /// Whether the run may go on after a turn.
    pub(super) fn spend_check(&self) -> Option<SpendCheck> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.meter.spend_check()
    }

    /// Takes an event that is not part of the response.
    pub(super) fn observe(&self, event: &RunEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let RunEvent::Step(step) = event {
            state.meter.record_step(step);
        }
        match event {
            RunEvent::Step(RunStep::TurnStarted(turn)) => {
                state.is_replayed = turn.called_at.is_none();
                let meter = &mut state.meter;
                meter.set_target(&turn.provider, &turn.model, turn.price.as_ref());
                let mut targets = self.targets.iter();
                if let Some(target) = targets.find(|target| target.provider() == turn.provider) {
                    meter.set_provider_kind(target.kind());
                }
            }
            RunEvent::Step(RunStep::TurnEnded { cost_nanos, .. }) if !state.is_replayed => {
                state.meter.expect_row(*cost_nanos);
            }
            RunEvent::Usage(usage) => {
                let MeterState {
                    meter,
                    tap,
                    is_replayed,
                } = &mut *state;
                // The stored turns have the tokens, and count the request.
                meter.exclude_request();
                let tap = tap.get_or_insert_with(|| meter.usage_tap());
                match is_replayed {
                    true => tap.record_earlier_usage(usage),
                    false => tap.record_usage(usage),
                }
            }
            _ => {}
        }
    }

    /// The run has ended with this status, and code if it failed.
    pub(super) fn end(&self, status: u16, code: Option<&str>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match code {
            None => state.meter.record_end(status),
            Some(code) => state.meter.record_failure(status, code),
        }
    }

    /// Another server continues the run, and reports it.
    pub(super) fn give_up(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.meter.give_up();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use prowess_engine::RunTotals;
    use prowess_provider::Providers;
    use prowess_provider::config::{
        ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions,
    };
    use prowess_store::{
        BudgetPeriod, KeyBudget, KeyScope, NewKey, Store, StoreConfig, TenantId, UsageRow,
    };
    use prowess_wire::ClientDialect;
    use prowess_wire::raw::RawObject;

    use super::*;
    use crate::app::App;
    use crate::limits::Estimate;
    use crate::settings::ServerSettings;

    #[tokio::test]
    async fn a_turn_costs_its_key_once_although_its_row_is_read_before_the_turn_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let app = App::new(store.unwrap(), ServerSettings::default());
        let (store, limits, tenant) = (app.store(), app.limits(), TenantId::default_tenant());
        let new = NewKey {
            name: "a key",
            scopes: &[KeyScope::Use],
            expires_in: None,
            auto: None,
        };
        let (mut key, _) = store.create_key(&tenant, &new).await.unwrap();
        key.limits.tokens_per_minute = Some(1_000_000);
        key.limits.budget = Some(KeyBudget {
            nanos: 1_000,
            period: BudgetPeriod::Ever,
        });
        let key = Arc::new(key);
        let script = ScriptedOptions::Text("[[step]]\ntext = \"Hi\"\n".to_owned());
        let providers = Providers::new(ProvidersConfig {
            providers: vec![ProviderConfig::new("stage", ProviderKind::new(script))],
            ..ProvidersConfig::default()
        });
        let route = providers.unwrap().route("stage/any").unwrap();
        let body = br#"{"max_tokens": 10}"#;
        let raw = RawObject::parse(body).unwrap();
        let client = ClientDialect::Messages;
        let estimate = Some(Estimate::for_client(client, body, &raw));

        let reserved = limits.admit(store, &key, &route, estimate).await;
        let mut meter = Meter::for_run(&app, &tenant, Some(&key), client, "any");
        meter.set_reservation(reserved.ok().flatten());
        let row = UsageRow {
            cost_nanos: 600,
            ..meter.interrupted_row()
        };
        let run = RunMeter::new(meter, "run_1", Vec::new());
        run.observe(&RunEvent::Step(RunStep::TurnEnded {
            number: 1,
            stop_reason: None,
            input_tokens: 1,
            output_tokens: 1,
            cost_nanos: 600,
            output: String::new(),
            ended_at: SystemTime::now(),
        }));
        store.record_usage(&[row]).await.unwrap();
        // It reads the rows, as for a run that another server has begun.
        let other = limits.reserve_always(store, &key, &route, None).await;
        assert!(other.is_none());
        run.observe(&RunEvent::Usage(RunTotals {
            cost_nanos: 600,
            ..RunTotals::default()
        }));
        run.end(200, None);
        drop(run);

        let next = limits.admit(store, &key, &route, estimate).await;
        let next = next.ok().flatten().unwrap();
        assert!(next.leaves_budget(399) && !next.leaves_budget(400));
    }
}
