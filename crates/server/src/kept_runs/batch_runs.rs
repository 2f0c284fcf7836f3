//! Kept runs for the requests of batches.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use prowess_provider::CallError;
use prowess_skill::Digest;
use prowess_store::{Error as StoreError, Store, TenantId};
use prowess_wire::WireError;
use prowess_wire::neutral::{ApiError, ErrorKind};
use prowess_wire::raw::RawObject;

use super::cancel;
use super::key::find_key;
use super::outcome::RunOutcome;
use super::secrets::names_secrets;
use super::stored_request::{NewStoredRequest, StoredRequest};
use super::submit::{Submission, Submitted, submit};
use crate::app::App;
use crate::batches::runs::{BatchRunOutcome, BatchRuns, NewBatchRun};
use crate::error::HttpError;
use crate::limits::{Estimate, RequestRefusal};
use crate::route::gateway::resolve_route;

/// The betas of Anthropic's API that a request uses.
const BETA_HEADER: HeaderName = HeaderName::from_static("anthropic-beta");

/// The kept runs of a server.
#[derive(Clone)]
pub(crate) struct KeptBatchRuns {
    app: App,
}

impl KeptBatchRuns {
    pub(crate) fn new(app: App) -> Self {
        KeptBatchRuns { app }
    }
}

impl BatchRuns for KeptBatchRuns {
    async fn submit(&self, new: NewBatchRun<'_>) -> Result<String, ApiError> {
        let app = self.app.current();
        if let Some(run) = self.find(new.tenant, &new.idempotency_key).await? {
            // It was admitted before.
            return Ok(run);
        }
        let parsed = RawObject::parse(&new.body);
        if parsed.is_ok_and(|raw| names_secrets(&new.body, &raw)) {
            return Err(ApiError {
                code: Some("keep-with-secrets".to_owned()),
                ..ApiError::new(
                    ErrorKind::InvalidRequest,
                    "a request of a batch cannot have `domain_secrets`, or tokens and headers for \
                     MCP servers, because secrets are not stored",
                )
            });
        }
        let mut request =
            stored_request(&new).map_err(|error| CallError::from(error).to_api_error())?;
        request.auto = admit(&app, &new, &request).await?;
        let run = Store::new_run_id().map_err(|error| http_error(&HttpError::from(error)))?;
        let submission = Submission {
            tenant: new.tenant,
            key: new.api_key,
            idempotency_key: Some(&new.idempotency_key),
            digest: &Digest::from_content(&new.body).hex(),
            run: &run,
            request,
            container: None,
        };
        // Queued, so that requests of clients have the places first.
        let submitted = submit(&app, submission, false).await;
        match submitted.map_err(|error| http_error(&error))? {
            Submitted::Existing { run } => Ok(run),
            Submitted::Started(_) | Submitted::Queued(_) => Ok(run),
        }
    }

    async fn find(
        &self,
        tenant: &TenantId,
        idempotency_key: &str,
    ) -> Result<Option<String>, ApiError> {
        let store = self.app.store();
        let found = store.run_by_idempotency_key(tenant, idempotency_key).await;
        found.map_err(|error| http_error(&HttpError::from(error)))
    }

    async fn outcome(
        &self,
        tenant: &TenantId,
        run: &str,
    ) -> Result<Option<BatchRunOutcome>, ApiError> {
        let fail = |error: StoreError| http_error(&HttpError::from(error));
        let store = self.app.store();
        let found = match store.journal_run(tenant, run).await {
            Err(StoreError::NotFound { .. }) => return Ok(None),
            found => found.map_err(fail)?,
        };
        if !found.state.is_terminal() {
            return Ok(None);
        }
        let stored = store.journal_request(tenant, run).await.map_err(fail)?;
        let read = || {
            let client = StoredRequest::parse(&stored)?.client();
            Ok::<_, StoreError>((client, RunOutcome::from_run(&found)?))
        };
        let (client, outcome) = match read() {
            Ok(read) => read,
            Err(error) => {
                // It will not become readable: asked for again and again, it would hold one of
                // the places that the requests of all batches have.
                // So what a newer server stores must be readable here as well.
                tracing::error!(%error, run, "the result of a request of a batch cannot be read");
                return Ok(None);
            }
        };
        let outcome = outcome.unwrap_or_else(|| RunOutcome::without_result(found.state));
        let (status, body) = outcome.render(client);
        Ok(Some(BatchRunOutcome {
            state: found.state,
            status,
            body,
        }))
    }

    async fn cancel(&self, tenant: &TenantId, run: &str) -> Result<(), ApiError> {
        match cancel::request(&self.app, tenant, run).await {
            Err(error) if error.status == axum::http::StatusCode::NOT_FOUND => Ok(()),
            Err(error) => Err(http_error(&error)),
            Ok(_) => Ok(()),
        }
    }
}

/// Checks the limits of the key, as for a request that is sent by itself. What the run uses is
/// reserved when it starts. Returns the key's setting of `auto`.
async fn admit(
    app: &App,
    new: &NewBatchRun<'_>,
    request: &StoredRequest,
) -> Result<Option<bool>, ApiError> {
    let route = resolve_route(app, &request.model);
    let route = route.map_err(|error| CallError::from(error).to_api_error())?;
    let Some(id) = new.api_key else {
        return Ok(None);
    };
    let key = find_key(app, new.tenant, id).await?;
    let refuse = |refusal: RequestRefusal| *refusal.error;
    if !key.limits.allows_model(&request.model) {
        return Err(refuse(RequestRefusal::model_not_allowed(
            &key,
            &request.model,
        )));
    }
    let client = new.client;
    let estimate = request.with_body(|body, raw| Estimate::for_client(client, body, raw));
    let admitted = app.limits().admit(app.store(), &key, &route, estimate);
    admitted.await.map_err(refuse)?;
    // Last: one that has to wait is submitted again, and is one request.
    app.limits().count_request(&key).map_err(refuse)?;
    Ok(key.auto)
}

fn stored_request(new: &NewBatchRun<'_>) -> Result<StoredRequest, WireError> {
    let raw = RawObject::parse(&new.body)?;
    raw.check_unique()?;
    let model = raw
        .routing_fields()
        .model
        .ok_or_else(|| WireError::Missing {
            field: "model".to_owned(),
        })?;
    let betas = new.betas.as_deref();
    let betas = betas.and_then(|betas| HeaderValue::from_str(betas).ok());
    let headers: HeaderMap = betas
        .map(|betas| (BETA_HEADER, betas))
        .into_iter()
        .collect();
    let request = StoredRequest::new(NewStoredRequest {
        client: new.client,
        model: &model,
        stream: false,
        json_array: false,
        background: false,
        headers: &headers,
        body: &new.body,
        auto: None,
        max_turns: None,
        created: prowess_store::Timestamp::now().as_micros().unsigned_abs() / 1_000_000,
        recorder: None,
        webhook: None,
    });
    request.to_neutral()?;
    Ok(request)
}

fn http_error(error: &HttpError) -> ApiError {
    ApiError {
        status: error.status.as_u16(),
        code: Some(error.code.to_owned()),
        ..ApiError::new(
            ErrorKind::from_status(error.status.as_u16()),
            error.message.clone(),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use prowess_provider::Providers;
    use prowess_provider::config::{
        ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions,
    };
    use prowess_store::{
        BeginOutcome, KeyLimits, KeyScope, NewJournalRun, NewKey, RunResult, RunState, StoreConfig,
    };
    use prowess_wire::ClientDialect;

    use super::*;
    use crate::settings::ServerSettings;

    #[tokio::test]
    async fn a_result_that_cannot_be_read_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let app = App::new(store.unwrap(), ServerSettings::default());
        let (store, tenant) = (app.store(), TenantId::default_tenant());
        let body = r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}"#;
        let request = stored_request(&NewBatchRun {
            tenant: &tenant,
            api_key: None,
            client: ClientDialect::Messages,
            body: body.into(),
            betas: None,
            idempotency_key: "k".to_owned(),
        });
        let run = Store::new_run_id().unwrap();
        let new = NewJournalRun {
            id: &run,
            api_key: None,
            dialect: "messages",
            model: "m",
            kept: true,
            format: 1,
            idempotency_key: None,
            request_digest: "d",
            request: &request.unwrap().to_bytes().unwrap(),
        };
        let lease = Duration::from_secs(600);
        let started = store.begin_run(&tenant, &new, "a", lease).await.unwrap();
        let BeginOutcome::Started(lease) = started else {
            panic!("{started:?}");
        };
        // Deeper than a parser goes.
        let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
        let result = RunResult {
            state: RunState::Completed,
            body: &format!("{{\"response\":{deep}}}"),
            events: None,
        };
        let _ = store.end_run(&lease, &result, &[]).await.unwrap();
        let outcome = KeptBatchRuns::new(app.clone()).outcome(&tenant, &run).await;
        assert!(outcome.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_request_that_waits_for_the_limits_of_its_key_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let script = ScriptedOptions::Text("[[step]]\ntext = \"Hi\"\n".to_owned());
        let providers = Providers::new(ProvidersConfig {
            providers: vec![ProviderConfig::new("stage", ProviderKind::new(script))],
            ..ProvidersConfig::default()
        });
        let settings = ServerSettings {
            providers: Some(providers.unwrap()),
            ..ServerSettings::default()
        };
        let app = App::new(store.unwrap(), settings);
        let tenant = TenantId::default_tenant();
        let new = NewKey {
            name: "a key",
            scopes: &[KeyScope::Use],
            expires_in: None,
            auto: None,
        };
        let limits = KeyLimits {
            requests_per_minute: Some(1),
            tokens_per_minute: Some(100),
            ..KeyLimits::default()
        };
        let created = app.store().create_limited_key(&tenant, &new, &limits).await;
        let key = Arc::new(created.unwrap().0);
        let body =
            r#"{"model":"stage/any","max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}"#;
        let request = NewBatchRun {
            tenant: &tenant,
            api_key: Some(&key.id),
            client: ClientDialect::Messages,
            body: body.into(),
            betas: None,
            idempotency_key: "k".to_owned(),
        };
        let route = resolve_route(&app, "stage/any").unwrap();
        let all = Some(Estimate::from_output(4_096));
        let held = app.limits().admit(app.store(), &key, &route, all).await;
        let held = held.ok().flatten().unwrap();
        let runs = KeptBatchRuns::new(app.clone());
        let refused = runs.submit(request.clone()).await.unwrap_err();
        assert_eq!(refused.status, 429, "{refused:?}");
        drop(held);
        runs.submit(request).await.unwrap();
    }
}
