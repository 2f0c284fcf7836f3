//! Whether a request is to be kept: its run then goes on without its client.

use axum::http::{HeaderMap, HeaderName};
use prowess_provider::ModelTask;
use prowess_wire::ClientDialect;
use prowess_wire::raw::RawObject;

use crate::error::HttpError;
use crate::webhooks::request_url::requested_url;
use crate::webhooks::settings::WebhookSettings;

/// Names a run, so that a request that is sent again finds it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Keeps a run in any dialect.
const KEEP_HEADER: HeaderName = HeaderName::from_static("prowess-keep");

/// What the headers of a request say about keeping its run.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeepHeaders {
    idempotency_key: Option<String>,
    keep: bool,
    /// Whether the client does not wait for the response, in any dialect.
    background: bool,
    webhook: Option<String>,
}

/// How a run is to be kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Keep {
    /// The client does not wait for the response.
    pub(crate) background: bool,
    /// The client's name for the request.
    pub(crate) idempotency_key: Option<String>,
    /// Where the end of the run is announced.
    pub(crate) webhook: Option<String>,
}

impl KeepHeaders {
    /// Reads them among those meant for this server (`own`), and takes the idempotency key out of
    /// the others; most requests have none of them.
    ///
    /// # Errors
    /// When one of them is invalid.
    pub(crate) fn read(
        own: &HeaderMap,
        others: &mut HeaderMap,
        webhooks: &WebhookSettings,
    ) -> Result<KeepHeaders, HttpError> {
        let keep = own.get(&KEEP_HEADER).map(|value| value.as_bytes());
        let (keep, background) = match keep {
            None | Some(b"false") => (false, false),
            Some(b"true") => (true, false),
            Some(b"background") => (true, true),
            Some(_) => {
                let message = format!("`{KEEP_HEADER}` must be `true`, `background` or `false`");
                return Err(HttpError::bad_request("keep-invalid", message));
            }
        };
        // It names the run here; an upstream must not take it for its own.
        let idempotency_key = match others.remove(&IDEMPOTENCY_KEY) {
            None => None,
            Some(key) => Some(read_key(&key)?),
        };
        Ok(KeepHeaders {
            idempotency_key,
            keep,
            background,
            webhook: requested_url(webhooks, own)?,
        })
    }

    /// The client's name for the request, if it has one.
    pub(crate) fn idempotency_key(&self) -> Option<&str> {
        self.idempotency_key.as_deref()
    }

    /// Whether and how a request is kept. One in the background always is, also if its upstream has
    /// background responses of its own: those would be found, cancelled and counted there only.
    ///
    /// # Errors
    /// When the request contradicts itself.
    pub(crate) fn keep(
        &self,
        client: ClientDialect,
        task: ModelTask,
        raw: &RawObject<'_>,
    ) -> Result<Option<Keep>, HttpError> {
        if task != ModelTask::Generate {
            return Ok(None);
        }
        let in_body = client == ClientDialect::Responses && raw.get("background") == Some("true");
        let background = in_body || self.background;
        let by_header = self.keep || self.idempotency_key.is_some() || self.webhook.is_some();
        if !by_header && !background {
            return Ok(None);
        }
        if in_body && raw.get("store") == Some("false") {
            let message = "background: a response in the background must be stored; remove \
                           `store: false`";
            return Err(HttpError::bad_request("background-not-stored", message));
        }
        Ok(Some(Keep {
            background,
            idempotency_key: self.idempotency_key.clone(),
            webhook: self.webhook.clone(),
        }))
    }
}

pub(crate) fn read_key(key: &axum::http::HeaderValue) -> Result<String, HttpError> {
    let text = key.to_str().ok().map(str::trim);
    let text = text.filter(|text| !text.is_empty() && text.len() <= 255);
    let text = text.ok_or_else(|| {
        let message = format!("`{IDEMPOTENCY_KEY}` must be 1 to 255 characters of ASCII text");
        HttpError::bad_request("idempotency-key-invalid", message)
    })?;
    // A prefix of its own: other parts of the server name runs too.
    Ok(format!("client:{text}"))
}
