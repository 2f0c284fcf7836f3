//! `GET /v1/runs/{run}/events`

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;

use super::not_kept;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::kept_runs::attach::{Attachment, FollowOptions};

/// The last event that the client has, as browsers send it.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The events of a kept run in the dialect of its request, or what happens in it with
/// `format=steps`; from the beginning, or after the event that `Last-Event-ID` or `after` names.
pub(crate) async fn events(
    State(app): State<App>,
    principal: Principal,
    query: Query,
    headers: HeaderMap,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let after = match headers.get(LAST_EVENT_ID) {
        None => query.parse_value("after", "the id of an event")?,
        Some(value) => {
            let number = value
                .to_str()
                .ok()
                .and_then(|text| text.trim().parse().ok());
            Some(number.ok_or_else(|| {
                HttpError::bad_request("event-id-invalid", "`Last-Event-ID` must be a number")
            })?)
        }
    };
    let is_steps = match query.get("format") {
        None | Some("dialect") => false,
        Some("steps") => true,
        Some(_) => {
            let message = "`format` must be `dialect` or `steps`";
            return Err(HttpError::bad_request("format-invalid", message));
        }
    };
    let tenant = &principal.tenant;
    let attachment = match Attachment::open(&app, tenant, &id).await {
        Ok(attachment) => attachment,
        Err(error) => return Err(not_kept::explain(&app, tenant, &id, error).await),
    };
    let lost = principal.lost_access(&app, Permission::UseModels);
    if is_steps {
        return attachment.follow_steps(after, lost).await;
    }
    let options = FollowOptions {
        after,
        adds_ids: true,
        ..FollowOptions::default()
    };
    attachment.follow(options, lost).await
}
