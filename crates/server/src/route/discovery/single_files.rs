//! Single files of public skills. A skill is loaded as a whole, and anybody may request its files:
//! so that needs a permit, as an archive does, until the file was sent.

use axum::http::HeaderValue;
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use bytes::Bytes;
use prowess_skill::Bundle;
use prowess_store::ResolvedSkill;

use super::archives::acquire_permit;
use super::public_response;
use crate::app::App;
use crate::error::HttpError;
use crate::form::transfers::body_with_permit;

/// The file of a skill that `find` returns; none if it returns none.
pub(super) async fn send(
    app: &App,
    resolved: &ResolvedSkill,
    kind: &'static str,
    find: impl FnOnce(&Bundle) -> Option<Bytes> + Send,
) -> Result<Option<Response>, HttpError> {
    let permit = acquire_permit(app).await?;
    let skill = app.store().load(resolved).await?;
    let Some(content) = find(&skill.bundle) else {
        return Ok(None);
    };
    let size = content.len();
    let mut response = public_response(kind, body_with_permit(content, permit));
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    Ok(Some(response))
}
