//! A request whose run goes on without its client: stored, started or found, and answered.

use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use prowess_engine::RunRequest;
use prowess_provider::{ClientRequest, ModelTask, Route};
use prowess_skill::Digest;
use prowess_store::{Store, TenantId};
use prowess_wire::parsed_excess;
use prowess_wire::raw::Edit;

use super::clock::unix_now;
use super::conversation::AnswerRecorder;
use super::error::GatewayError;
use super::request::GatewayRequest;
use crate::app::App;
use crate::auth::LostAccess;
use crate::error::HttpError;
use crate::kept_runs::attach::{Attachment, Requester};
use crate::kept_runs::keep::Keep;
use crate::kept_runs::pending_run::PendingRun;
use crate::kept_runs::secrets::names_secrets;
use crate::kept_runs::stored_request::{NewStoredRequest, StoredRequest, response_id};
use crate::kept_runs::submit::{self, Submission, Submitted};
use crate::kept_runs::task;
use crate::meter::Meter;
use crate::read_body::MAX_KEPT_EXCESS;

/// The run that answers a request.
pub(super) struct KeptReply {
    tenant: TenantId,
    run: String,
    state: ReplyState,
}

/// What is to be done for the run.
enum ReplyState {
    /// This server runs it now.
    Pending(Box<PendingRun>),
    /// It waits for a server, and has this request.
    Queued(Box<StoredRequest>),
    /// It was begun by another request.
    Existing,
}

impl GatewayRequest<'_> {
    /// Whether and how the run of a request is kept.
    pub(super) fn keep(&self, incoming: &ClientRequest<'_>) -> Result<Option<Keep>, GatewayError> {
        let ClientRequest {
            client, task, raw, ..
        } = *incoming;
        let keep = self.keep.keep(client, task, raw)?;
        if keep.is_some() && self.credentials.key.is_some() {
            let message = "a kept run cannot use your own key of the provider, because keys are \
                           not stored; remove `prowess-provider-key`, or do not keep the run";
            return Err(HttpError::bad_request("keep-with-provider-key", message).into());
        }
        if keep.is_some() && names_secrets(incoming.body, raw) {
            let message = "a kept run cannot have `domain_secrets`, or tokens and headers for MCP \
                           servers, because secrets are not stored; remove them, or do not keep \
                           the run";
            return Err(HttpError::bad_request("keep-with-secrets", message).into());
        }
        Ok(keep)
    }

    /// The run of a request that was sent before with this idempotency key. It is looked for before
    /// anything else: its answer is there, whatever became of its key's budget, its container or
    /// the conversation that it continues.
    pub(super) async fn find_kept(
        &self,
        idempotency_key: &str,
        incoming: &ClientRequest<'_>,
    ) -> Result<Option<KeptReply>, GatewayError> {
        if incoming.task != ModelTask::Generate || self.credentials.key.is_some() {
            return Ok(None);
        }
        let tenant = &self.principal.tenant;
        let digest = digest(incoming.model, incoming.stream, incoming.body);
        let found = submit::find(self.app, tenant, idempotency_key, incoming.client, &digest);
        let found = found.await;
        if !matches!(found, Ok(None)) {
            // One that is refused counts too. Any other is counted when it is admitted.
            self.count(incoming.model)?;
        }
        let Some(run) = found? else {
            return Ok(None);
        };
        Ok(Some(KeptReply {
            tenant: tenant.clone(),
            run,
            state: ReplyState::Existing,
        }))
    }

    /// Stores the run of a request, or finds the one of a request that was sent before.
    pub(super) async fn keep_run(
        &self,
        incoming: ClientRequest<'_>,
        keep: Keep,
        route: Route,
        recorder: Option<&AnswerRecorder>,
        original: &Bytes,
    ) -> Result<KeptReply, GatewayError> {
        // With the stored conversation that it continues.
        if parsed_excess(incoming.body) > MAX_KEPT_EXCESS {
            let message = "the request has too many values for a kept run: send fewer numbers and \
                           lists, or do not keep the run";
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return Err(HttpError::new(status, "too-many-values", message).into());
        }
        // Errors of the request itself are found before anything is stored.
        let check = RunRequest {
            tenant: self.principal.tenant.clone(),
            client: incoming.client,
            request: incoming.to_neutral()?,
            members: Vec::new(),
            auto: self.principal.auto(),
            max_turns: self.max_turns,
            spend_check: None,
            route,
            credentials: self.credentials.clone(),
        };
        let container = Box::pin(self.app.engine().check(check)).await?;
        let client = incoming.client;
        let run = Store::new_run_id().map_err(HttpError::from)?;
        let response = response_id(client, &run);
        let body = incoming.raw.with_edits(&[Edit::Remove("background")]);
        let request = StoredRequest::new(NewStoredRequest {
            client,
            model: incoming.model,
            stream: incoming.stream,
            json_array: incoming.json_array,
            background: keep.background,
            headers: &self.credentials.headers,
            body: &body,
            auto: self.principal.auto(),
            max_turns: self.max_turns,
            created: unix_now(),
            recorder: recorder.map(|recorder| recorder.to_stored(response.as_deref())),
            webhook: keep.webhook,
        });
        let tenant = self.principal.tenant.clone();
        let submission = Submission {
            tenant: &tenant,
            key: self.principal.key_id(),
            idempotency_key: keep.idempotency_key.as_deref(),
            digest: &digest(incoming.model, incoming.stream, original),
            run: &run,
            request,
            container: container.as_deref(),
        };
        let (run, state) = match submit::submit(self.app, submission, true).await? {
            Submitted::Started(pending) => (run, ReplyState::Pending(pending)),
            Submitted::Queued(request) => (run, ReplyState::Queued(request)),
            Submitted::Existing { run } => (run, ReplyState::Existing),
        };
        Ok(KeptReply { tenant, run, state })
    }
}

impl KeptReply {
    /// Starts the run, if this server is to run it, and answers the client while it has access.
    pub(super) async fn respond(
        self,
        app: &App,
        mut meter: Meter,
        lost: LostAccess,
    ) -> Result<Response, GatewayError> {
        let KeptReply { tenant, run, state } = self;
        let requester = match state {
            ReplyState::Pending(_) | ReplyState::Queued(_) => Requester::First,
            ReplyState::Existing => Requester::Repeated,
        };
        let attachment = match state {
            ReplyState::Pending(pending) => {
                let request = pending.request.clone();
                task::spawn(app, *pending, Some(meter), false);
                Attachment::new(app, tenant, run, request)
            }
            ReplyState::Queued(request) => {
                // The run counts the request, and reserves when it is claimed: the client that
                // waits for it must not hold back what it needs.
                meter.disable();
                drop(meter.take_reservation());
                Attachment::new(app, tenant, run, *request)
            }
            ReplyState::Existing => {
                meter.record_end(200);
                drop(meter.take_reservation());
                Attachment::open(app, &tenant, &run).await?
            }
        };
        Ok(attachment.respond(requester, lost).await?)
    }
}

/// Identifies a request: its body, and what its path adds.
fn digest(model: &str, stream: bool, body: &[u8]) -> String {
    let mut text = format!("{model}\n{stream}\n").into_bytes();
    text.extend_from_slice(body);
    Digest::from_content(&text).hex()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Body;
    use axum::http::Request;
    use prowess_provider::Providers;
    use prowess_provider::config::{
        ModelConfig, ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions,
    };
    use prowess_store::StoreConfig;
    use serde_json::{Value, json};
    use tower::ServiceExt;

    use super::*;
    use crate::settings::ServerSettings;

    #[tokio::test]
    async fn a_request_whose_run_has_to_wait_is_answered_whatever_its_tenant_reads_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let script = ScriptedOptions::Text("[[step]]\ntext = \"Hi\"\n".to_owned());
        let providers = Providers::new(ProvidersConfig {
            providers: vec![ProviderConfig::new("stage", ProviderKind::new(script))],
            models: vec![ModelConfig::new("small", "stage")],
            ..ProvidersConfig::default()
        });
        let settings = ServerSettings {
            providers: Some(providers.unwrap()),
            upload_wait: Duration::ZERO,
            ..ServerSettings::default()
        };
        let app = App::new(store.unwrap(), settings);
        let tenant = TenantId::default_tenant();
        // This server starts no runs, so that they wait for another.
        app.local_runs().close();
        let mut reads = Vec::new();
        while let Ok(permit) = app.transfers().acquire_stored_read(&tenant).await {
            reads.push(permit);
        }
        let body = json!({
            "model": "small",
            "max_tokens": 10,
            "messages": [{ "role": "user", "content": "Hi" }],
        });
        let request = Request::post("/v1/messages")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("prowess-keep", "background");
        let request = request.body(Body::from(body.to_string())).unwrap();
        let answer = app.service().oneshot(request).await.unwrap();
        let status = answer.status();
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await;
        let body = body.unwrap();
        assert_eq!(status, StatusCode::ACCEPTED, "{body:?}");
        let run: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(run["status"], "queued", "{run}");
        drop(reads);
    }
}
