//! `POST /console/playground`: starts a kept run, and shows it while it goes on.

use axum::body::Body;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderName, Request};
use serde_json::Value;

use super::form::PlaygroundForm;
use super::request::{MAX_TURNS_HEADER, RunRequestForm};
use super::show::playground_page;
use super::upload::upload;
use crate::api::{Api, PageError};
use crate::query::{segment, with_query};
use crate::visitor::Visitor;

const KEEP: HeaderName = HeaderName::from_static("prowess-keep");
const RUN: HeaderName = HeaderName::from_static("prowess-run");

pub(crate) async fn start(visitor: Visitor, request: Request<Body>) -> Result<Response, PageError> {
    let mut sent = visitor.api.open_form(request).await?;
    let mut form = PlaygroundForm::read(&mut sent).await?;
    match start_runs(&visitor.api, &mut form).await {
        Ok(page) => Ok(Redirect::to(&page).into_response()),
        Err(error) => Ok(playground_page(&visitor, form, Some(error)).await),
    }
}

/// Starts one run or two, and returns the address that shows them.
async fn start_runs(api: &Api, form: &mut PlaygroundForm) -> Result<String, PageError> {
    form.check()?;
    for file in std::mem::take(&mut form.files) {
        let id = upload(api, &file).await?;
        form.request.files.push(id);
    }
    let first = start_run(api, &form.request, &form.model).await?;
    let page = format!("/console/runs/{}", segment(&first));
    if form.second_model.is_empty() {
        return Ok(page);
    }
    match start_run(api, &form.request, &form.second_model).await {
        Ok(second) => Ok(with_query(&page, &[("beside", Some(&second))])),
        Err(error) => Err(PageError {
            status: error.status,
            message: format!(
                "{}: {}; the run of {} goes on, as {first}",
                form.second_model, error.message, form.model
            ),
        }),
    }
}

/// Starts a run that goes on without us, and returns its id.
async fn start_run(api: &Api, request: &RunRequestForm, model: &str) -> Result<String, PageError> {
    let body = Value::Object(request.body(model)).to_string();
    let mut sent = Request::post(request.dialect.path())
        .header(CONTENT_TYPE, "application/json")
        .header(KEEP, "background");
    if let Some(turns) = request.max_turns {
        sent = sent.header(MAX_TURNS_HEADER, turns);
    }
    let request = sent.body(Body::from(body));
    let request = request.map_err(|error| PageError::internal("a run cannot be made", &error))?;
    let response = api.send(request).await?;
    let run = response.headers().get(RUN);
    let run = run.and_then(|run| run.to_str().ok()).map(str::to_owned);
    run.ok_or_else(|| PageError::internal("a run has no id", &response.status()))
}
