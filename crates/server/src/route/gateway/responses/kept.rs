//! The kept run behind a response.

use prowess_store::TenantId;
use prowess_wire::ClientDialect;

use crate::app::App;
use crate::error::HttpError;
use crate::kept_runs::attach::Attachment;
use crate::kept_runs::stored_request::run_of_response;
use crate::stored_answer::StoredAnswer;

/// The kept run of a response, if it has one that can still be followed. Its request may be large,
/// and counts for the answer that is made of it.
pub(super) async fn find(
    app: &App,
    tenant: &TenantId,
    response: &str,
    answer: &mut StoredAnswer,
) -> Result<Option<Attachment>, HttpError> {
    let Some(run) = run_of_response(response) else {
        return Ok(None);
    };
    let found = Attachment::find(app, tenant, &run, answer).await?;
    // The ids of other runs have the same form, but they have no response.
    Ok(found.filter(|run| run.request().client() == ClientDialect::Responses))
}
