//! A kept run as an object of the Responses API, in any of its states.

use prowess_store::{JournalRun, RunState};
use prowess_wire::{ResponseStatus, unfinished_response};
use serde_json::Value;

use super::outcome::RunOutcome;
use super::stored_request::StoredRequest;
use crate::error::HttpError;

/// The object.
///
/// # Errors
/// When what is stored cannot be read.
pub(crate) fn response_object(
    run: &JournalRun,
    request: &StoredRequest,
) -> Result<Value, HttpError> {
    let outcome = RunOutcome::from_run(run)?;
    let error = match outcome {
        Some(RunOutcome::Response(body)) => return Ok(body),
        Some(RunOutcome::Error(error)) => Some(error),
        None => None,
    };
    let status = match run.state {
        RunState::Queued => ResponseStatus::Queued,
        RunState::Running => ResponseStatus::InProgress,
        RunState::Cancelled => ResponseStatus::Cancelled,
        RunState::Completed | RunState::Incomplete | RunState::Failed | RunState::Interrupted => {
            ResponseStatus::Failed
        }
    };
    let context = request
        .reply_context(&run.id)
        .map_err(|error| HttpError::internal("run-malformed", &error))?;
    Ok(unfinished_response(
        &request.model,
        &context,
        status,
        error.as_ref(),
    ))
}
