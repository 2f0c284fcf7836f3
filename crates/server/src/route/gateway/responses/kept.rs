//! The kept run behind a response.

use prowess_store::TenantId;
use prowess_wire::ClientDialect;

use crate::app::App;
use crate::error::HttpError;
use crate::kept_runs::attach::Attachment;
use crate::kept_runs::stored_request::run_of_response;

/// The kept run of a response, if it has one that can still be followed.
pub(super) async fn find(
    app: &App,
    tenant: &TenantId,
    response: &str,
) -> Result<Option<Attachment>, HttpError> {
    let Some(run) = run_of_response(response) else {
        return Ok(None);
    };
    let found = Attachment::find(app, tenant, &run).await?;
    // The ids of other runs have the same form, but they have no response.
    Ok(found.filter(|run| run.request().client() == ClientDialect::Responses))
}
