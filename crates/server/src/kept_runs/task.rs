//! The task of one kept run on this server: resolves what the request names, runs it, and
//! writes how it ended.

use std::sync::Arc;

use prowess_engine::{JournalStop, KeptEnd, KeptRun, RunError, RunJournal};
use prowess_provider::Route;
use prowess_store::{KeyRecord, NewWebhook, RunState, TenantId, UsageRow};
use prowess_wire::neutral::{ApiError, ErrorKind, Response};
use prowess_wire::{ClientDialect, ReplyContext, write_response};

use super::claim_admission::{self, RunProgress};
use super::end_webhooks::end_webhooks;
use super::key::{find_stored_key, require_active};
use super::local_runs::{LocalRun, RunSlot};
use super::outcome::RunOutcome;
use super::pending_run::PendingRun;
use super::release::release_late;
use super::run_meter::RunMeter;
use super::stored_request::StoredRequest;
use super::written_log::abandoned_items;
use crate::app::App;
use crate::limits::RequestRefusal;
use crate::meter::Meter;
use crate::route::gateway::{AnswerRecorder, resolve_route, unix_now};
use crate::webhooks::payload::RunWebhook;

/// Starts the task of a run. `meter` is that of its request; a run that was claimed has none.
/// A run that is to be cancelled is ended.
pub(crate) fn spawn(app: &App, pending: PendingRun, meter: Option<Meter>, is_cancelled: bool) {
    // A run that has just begun is known before its client asks for its events.
    let opened = pending.lease.is_first().then(|| {
        let kept = app
            .engine()
            .begin_kept(pending.lease.clone(), pending.claimed);
        OpenRun::new(app, kept)
    });
    let task = run(app.clone(), pending, opened, meter, is_cancelled);
    app.local_runs().spawn(task);
}

/// A run whose journal is open, known as one of this server.
struct OpenRun {
    kept: KeptRun,
    local: LocalRun,
}

impl OpenRun {
    fn new(app: &App, kept: KeptRun) -> Self {
        let journal = kept.journal();
        if let Some(link) = app.cluster() {
            let (run, stored) = (journal.run().to_owned(), journal.subscribe());
            let announced = link.clone().announce_events(run, stored);
            app.local_runs().spawn(announced);
        }
        OpenRun {
            local: app.local_runs().insert(journal),
            kept,
        }
    }
}

async fn run(
    app: App,
    pending: PendingRun,
    opened: Option<OpenRun>,
    meter: Option<Meter>,
    is_cancelled: bool,
) {
    let PendingRun {
        lease,
        claimed,
        request,
        key,
        slot,
        is_lost_too_often,
    } = pending;
    let (run, tenant) = (lease.run.clone(), lease.tenant.clone());
    let progress = match lease.next_step {
        0 => RunProgress::Waiting,
        _ => RunProgress::Resumed,
    };
    let opened = match opened {
        Some(opened) => Ok(opened),
        None => {
            let opened = app.engine().open_kept(lease.clone(), claimed).await;
            opened.map(|kept| OpenRun::new(&app, kept))
        }
    };
    let OpenRun { kept, local } = match opened {
        Ok(opened) => opened,
        Err(error) => {
            // Its lease runs out, and it is claimed again.
            tracing::warn!(%error, run, "cannot open the journal of a run");
            if error.is_store_outage()
                && let Err(error) = app.store().give_up_run(&lease).await
            {
                tracing::debug!(%error, run, "cannot note that a run is given up");
            }
            return;
        }
    };
    if release_late(&app, kept.journal()).await {
        return;
    }
    if is_cancelled {
        kept.journal().notice_cancel();
    }
    let task = RunTask {
        app,
        tenant,
        run,
        request,
        key: None,
        repeats_steps: kept.repeats_steps(),
        progress,
        is_cancelled,
        is_lost_too_often,
    };
    task.run(kept, key, meter).await;
    drop::<LocalRun>(local);
    drop::<RunSlot>(slot);
}

/// A run in progress.
struct RunTask {
    app: App,
    tenant: TenantId,
    run: String,
    request: StoredRequest,
    key: Option<Arc<KeyRecord>>,
    /// Whether clients were sent parts of steps that are not part of the response.
    repeats_steps: bool,
    /// How far it had come when this server began or claimed it.
    progress: RunProgress,
    /// Whether it was to be cancelled then.
    is_cancelled: bool,
    /// Whether so many servers died with it that it is not resumed again.
    is_lost_too_often: bool,
}

impl RunTask {
    async fn run(mut self, kept: KeptRun, key: Option<String>, meter: Option<Meter>) {
        let journal = Arc::clone(kept.journal());
        let prepared = match self.prepare(key).await {
            Ok(_) if self.is_lost_too_often && !self.is_cancelled => Err(failed(lost_too_often())),
            prepared => prepared,
        };
        let (end, meter) = match prepared {
            Ok(route) => {
                let (meter, admitted) = match meter {
                    Some(meter) => (meter, Ok(())),
                    None => self.claimed_meter(&route).await,
                };
                let meter = Arc::new(RunMeter::new(meter, &self.run, route.targets().to_vec()));
                let end = match admitted {
                    Ok(()) => self.run_kept(kept, route, &meter).await,
                    Err(refusal) => {
                        let end = self.refuse(&journal, refusal).await;
                        if !matches!(end, Some(KeptEnd::Failed(_))) {
                            // Nothing was begun, and who begins it counts it.
                            meter.give_up();
                        }
                        let Some(end) = end else {
                            return;
                        };
                        end
                    }
                };
                (end, Some(meter))
            }
            Err(end) => {
                // Another server counts the request.
                if let (KeptEnd::GivenUp(_), Some(mut meter)) = (&end, meter) {
                    meter.disable();
                }
                (end, None)
            }
        };
        let (state, outcome) = match end {
            KeptEnd::Completed { response, state } => (state, self.respond(*response).await),
            KeptEnd::Failed(error) => (RunState::Failed, RunOutcome::Error(*error)),
            KeptEnd::Cancelled => (
                RunState::Cancelled,
                RunOutcome::without_result(RunState::Cancelled),
            ),
            KeptEnd::GivenUp(why) => {
                tracing::warn!(%why, run = self.run, "a kept run is given up");
                if let Some(meter) = meter {
                    meter.give_up();
                }
                let is_lost = matches!(why, JournalStop::Lost);
                self.give_up(&journal, is_lost).await;
                return;
            }
        };
        if let RunOutcome::Error(error) = &outcome {
            journal.log_error(error);
        }
        let key = self.key.as_deref();
        let webhooks = end_webhooks(
            &self.app,
            &self.tenant,
            &self.run,
            &self.request,
            key,
            state,
        );
        let new: Vec<NewWebhook<'_>> = webhooks.iter().map(RunWebhook::as_new).collect();
        match journal.end(state, &outcome.to_json(), &new).await {
            Ok(()) => {
                tracing::debug!(run = self.run, state = state.as_str(), "kept run ended");
                if let (Some(meter), RunOutcome::Error(error)) = (&meter, &outcome) {
                    meter.end(
                        error.status,
                        Some(error.code.as_deref().unwrap_or("run-failed")),
                    );
                } else if let Some(meter) = &meter {
                    meter.end(200, None);
                }
                if !new.is_empty() {
                    self.app.webhook_wake().notify_one();
                }
                self.app.batch_wake().notify_one();
            }
            // Whoever claims it ends it.
            Err(why) => {
                tracing::warn!(%why, run = self.run, "cannot end a kept run");
                if let Some(meter) = &meter {
                    meter.give_up();
                }
                let is_lost = matches!(why, JournalStop::Lost);
                self.give_up(&journal, is_lost).await;
            }
        }
    }

    /// Notes that this server cannot go on with the run, unless another one has it already. If the
    /// store does not take it, the next server takes this one for dead.
    async fn give_up(&self, journal: &RunJournal, is_lost: bool) {
        if !is_lost && let Err(error) = journal.give_up().await {
            tracing::debug!(%error, run = self.run, "cannot note that a run is given up");
        }
    }

    /// Finds the key and the route, which may have changed since the request.
    async fn prepare(&mut self, key: Option<String>) -> Result<Route, KeptEnd> {
        if let Some(id) = key {
            let found = find_stored_key(&self.app, &self.tenant, &id).await;
            self.key = found.map_err(|error| KeptEnd::from(RunError::from(error)))?;
            require_active(self.key.clone()).map_err(failed)?;
        }
        if let Some(key) = &self.key
            && !key.limits.allows_model(&self.request.model)
        {
            let refusal = RequestRefusal::model_not_allowed(key, &self.request.model);
            return Err(KeptEnd::Failed(refusal.error));
        }
        resolve_route(&self.app, &self.request.model)
            .map_err(|error| failed(prowess_provider::CallError::from(error).to_api_error()))
    }

    /// The meter of a run whose request was counted before, and whether it is admitted now.
    async fn claimed_meter(&self, route: &Route) -> (Meter, Result<(), RequestRefusal>) {
        let (client, stream) = (self.request.client(), self.request.stream);
        let model = &self.request.model;
        let mut meter = Meter::for_run(&self.app, &self.tenant, self.key.as_ref(), client, model);
        meter.set_streamed(stream);
        meter.mark_routed();
        let telemetry = self.app.telemetry();
        let trace = telemetry.map(|telemetry| telemetry.resume(&self.request.headers()));
        meter.set_trace(trace);
        let Some(key) = &self.key else {
            return (meter, Ok(()));
        };
        let (app, request) = (&self.app, &self.request);
        match claim_admission::admit(app, key, route, request, self.progress).await {
            Ok(reservation) => {
                meter.set_reservation(reservation);
                (meter, Ok(()))
            }
            Err(refusal) => (meter, Err(refusal)),
        }
    }

    /// The end of a run that is not admitted; none if it waits for its key's limits.
    async fn refuse(&self, journal: &RunJournal, refusal: RequestRefusal) -> Option<KeptEnd> {
        if self.is_cancelled {
            return Some(KeptEnd::Cancelled);
        }
        if !refusal.retry {
            return Some(KeptEnd::Failed(refusal.error));
        }
        match journal.postpone().await {
            Ok(true) => {
                tracing::debug!(run = self.run, why = %refusal.error, "a kept run has to wait");
                None
            }
            // It was cancelled meanwhile, or another server has it, which the end finds out.
            Ok(false) => Some(KeptEnd::Cancelled),
            Err(error) => {
                // Its lease runs out, and it is claimed again.
                tracing::warn!(%error, run = self.run, "cannot put a run back into the queue");
                self.give_up(journal, false).await;
                None
            }
        }
    }

    async fn run_kept(&self, kept: KeptRun, route: Route, meter: &Arc<RunMeter>) -> KeptEnd {
        let (tenant, check) = (self.tenant.clone(), meter.spend_check());
        let mut request = match self.request.run_request(tenant, route, check) {
            Ok(request) => request,
            Err(error) => {
                let error = prowess_provider::CallError::from(error).to_api_error();
                return KeptEnd::Failed(Box::new(error));
            }
        };
        meter.write_trace(&mut request.credentials.headers);
        let observer = Arc::clone(meter);
        let observer = Box::new(move |event: &_| observer.observe(event));
        let engine = self.app.engine().clone();
        // Boxed: the future is large.
        Box::pin(kept.run(engine, request, self.usage(), observer)).await
    }

    /// Who pays for a turn.
    fn usage(&self) -> UsageRow {
        UsageRow {
            tenant: self.tenant.clone(),
            key: self.key.as_ref().map(|key| key.id.clone()),
            model: self.request.model.chars().take(200).collect(),
            provider: String::new(),
            upstream_model: String::new(),
            dialect: self.request.dialect().to_owned(),
            status: 200,
            requests: 0,
            unpriced: 0,
            estimated: 0,
            input_tokens: 0,
            output_tokens: 0,
            cache_read_tokens: 0,
            cache_write_tokens: 0,
            cost_nanos: 0,
            millis: 0,
            sandbox_millis: 0,
            skills: Vec::new(),
        }
    }

    /// The response in the client's dialect, stored where later requests find it.
    async fn respond(&self, response: Response) -> RunOutcome {
        let client = self.request.client();
        let mut context = self.request.reply_context(&self.run).unwrap_or_else(|_| {
            // The request was valid when it was run.
            ReplyContext::default()
        });
        context.completed = Some(unix_now());
        if client == ClientDialect::Responses && self.repeats_steps {
            context.skipped_items = self.abandoned_items(&context).await;
        }
        let (body, _) = write_response(client, &response, &context);
        if let Some(recorder) = &self.request.recorder {
            let recorder = AnswerRecorder::from_stored(&self.app, &self.tenant, recorder.clone());
            recorder.save(&body).await;
        }
        RunOutcome::Response(body)
    }

    /// The numbers of items in the client's stream that are not in the response.
    async fn abandoned_items(&self, context: &ReplyContext) -> Vec<usize> {
        let store = self.app.store();
        let items = abandoned_items(store, &self.tenant, &self.run, context.clone()).await;
        items.unwrap_or_else(|error| {
            tracing::warn!(%error, run = self.run, "items have other ids than in the stream");
            Vec::new()
        })
    }
}

/// Why a run fails with which many servers died.
pub(super) fn lost_too_often() -> ApiError {
    let message = "the servers of this run died again and again at the same step, so it is not \
                   resumed any more; the servers' logs may have the reason, for example that \
                   memory ran out";
    ApiError {
        code: Some("run-lost-too-often".to_owned()),
        ..ApiError::new(ErrorKind::Api, message)
    }
}

fn failed(error: ApiError) -> KeptEnd {
    KeptEnd::Failed(Box::new(error))
}
