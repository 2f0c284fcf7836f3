//! How a kept run ended, as stored and as its client reads it.

use prowess_store::{Error as StoreError, JournalRun, RunState};
use prowess_wire::neutral::{ApiError, ErrorKind};
use prowess_wire::{ClientDialect, render_client_error};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunOutcome {
    /// With this response, in the client's dialect.
    Response(Value),
    /// With this error.
    Error(ApiError),
}

impl RunOutcome {
    /// As it is stored.
    pub(crate) fn to_json(&self) -> String {
        // Plain data always has a form in JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The outcome of a run; none while it has none.
    ///
    /// # Errors
    /// When something else has written it.
    pub(crate) fn from_run(run: &JournalRun) -> Result<Option<Self>, StoreError> {
        let Some(result) = &run.result else {
            return Ok(None);
        };
        let outcome = serde_json::from_str(result).map_err(|error| StoreError::MalformedRow {
            table: "journal_runs",
            reason: error.to_string(),
        })?;
        Ok(Some(outcome))
    }

    /// The outcome of a run that ended in this state without a result.
    pub(crate) fn without_result(state: RunState) -> Self {
        let (code, message) = match state {
            RunState::Cancelled => ("run-cancelled", "the run was cancelled"),
            _ => ("run-interrupted", "the server of the run died"),
        };
        RunOutcome::Error(ApiError {
            code: Some(code.to_owned()),
            ..ApiError::new(ErrorKind::Conflict, message)
        })
    }

    /// Whether clients must not send the request again by themselves, as they do after most errors
    /// with this status: another run would begin.
    pub(crate) fn forbids_retry(&self) -> bool {
        let RunOutcome::Error(error) = self else {
            return false;
        };
        let code = error.code.as_deref();
        matches!(
            code,
            Some("run-cancelled" | "run-failed" | "run-lost-too-often")
        )
    }

    /// Status and body as the client reads them.
    pub(crate) fn render(self, client: ClientDialect) -> (u16, Value) {
        match self {
            RunOutcome::Response(body) => (200, body),
            RunOutcome::Error(error) => {
                let rendered = render_client_error(client, &error);
                (rendered.status, rendered.body)
            }
        }
    }
}
