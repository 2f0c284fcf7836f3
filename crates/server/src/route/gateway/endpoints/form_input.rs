//! A form: read until its model is known, then sent on as it arrives. All of it is scanned: a
//! second model behind the first one ends the request.

use axum::body::Body;
use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use http_body_util::BodyExt;
use prowess_provider::EndpointBody;
use prowess_store::TenantId;
use prowess_wire::WireError;
use prowess_wire::form::{FormError, FormScanner};

use super::body_problem::BodyProblem;
use super::input::EndpointInput;
use crate::app::App;
use crate::bodies::{BodyPace, paced_body};
use crate::error::HttpError;
use crate::limits::Estimate;
use crate::route::gateway::error::GatewayError;

/// A form of up to this many bytes is read completely, so that it can be sent again.
const WHOLE_FORM_BYTES: usize = 1 << 20;

/// Reads a form of this content type, of this length if it is known, and with this estimate.
pub(super) async fn read_form<'a>(
    app: &'a App,
    tenant: &'a TenantId,
    content_type: &str,
    length: Option<u64>,
    estimate: Estimate,
    mut body: Body,
) -> Result<EndpointInput<'a>, GatewayError> {
    let mut scanner = FormScanner::new(content_type).map_err(form_error)?;
    let mut pace = BodyPace::new(app.settings());
    let mut reservation = app.body_budget().reserve(tenant);
    let limit = app.settings().request_bytes;
    let mut head = BytesMut::new();
    let mut has_more = true;
    while has_more && (scanner.model().is_none() || head.len() < WHOLE_FORM_BYTES) {
        let frame = pace.wait(body.frame(), || head.len() as u64).await?;
        let Some(frame) = frame else {
            scanner.finish().map_err(form_error)?;
            has_more = false;
            continue;
        };
        let Ok(data) = frame.map_err(broken_error)?.into_data() else {
            continue;
        };
        if head.len() + data.len() > limit {
            return Err(late_model_error(limit).into());
        }
        reservation.grow(data.len()).await?;
        scanner.push(&data).map_err(form_error)?;
        head.extend_from_slice(&data);
    }
    let (model, place) = scanner.model().ok_or_else(|| WireError::Missing {
        field: "model".to_owned(),
    })?;
    let model = model.to_owned();
    let received = head.len() as u64;
    let form = EndpointBody::form(head.freeze(), place);
    let problem = BodyProblem::default();
    let form = match has_more {
        false => form,
        true => {
            let rest = scanned_rest(app, body, scanner, received, problem.clone());
            let length = length.map(|length| length.saturating_sub(received));
            form.followed_by(Body::from_stream(rest), length)
        }
    };
    Ok(EndpointInput {
        model,
        body: form,
        bytes: usize::try_from(received).unwrap_or(usize::MAX),
        stream: false,
        estimate,
        problem,
        reservation,
    })
}

/// What follows, as it arrives, up to the size of an uploaded file.
fn scanned_rest(
    app: &App,
    body: Body,
    scanner: FormScanner,
    received: u64,
    problem: BodyProblem,
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send + use<> {
    let limit = app.settings().file_bytes;
    let chunks = paced_body(body, app.settings()).boxed();
    let state = Some((chunks, scanner, received));
    stream::unfold(state, move |state| {
        let problem = problem.clone();
        async move {
            let (mut chunks, mut scanner, received) = state?;
            let checked = match chunks.next().await {
                None => match scanner.finish() {
                    Ok(()) => return None,
                    Err(error) => Err(form_error(error)),
                },
                Some(Err(error)) => return Some((Err(error), None)),
                Some(Ok(chunk)) if received + chunk.len() as u64 > limit => {
                    Err(too_large_error(limit))
                }
                Some(Ok(chunk)) => scanner.push(&chunk).map(|()| chunk).map_err(form_error),
            };
            Some(match checked {
                Ok(chunk) => {
                    let received = received + chunk.len() as u64;
                    (Ok(chunk), Some((chunks, scanner, received)))
                }
                Err(error) => (Err(problem.note(error)), None),
            })
        }
    })
}

fn form_error(error: FormError) -> HttpError {
    HttpError::bad_request("form-invalid", error.to_string())
}

fn broken_error(error: axum::Error) -> HttpError {
    let message = format!("the request body ended unexpectedly: {error}");
    HttpError::bad_request("body-broken", message)
}

fn late_model_error(limit: usize) -> HttpError {
    let message = format!(
        "the first {limit} bytes of the form do not name its model; put the field `model` before \
         the file"
    );
    HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", message)
}

pub(super) fn too_large_error(limit: u64) -> HttpError {
    let message = format!("the body has more than {limit} bytes; send less in one request");
    HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", message)
}
