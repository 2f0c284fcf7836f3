//! Calls of the server's own HTTP API in this process, as one principal.
//!
//! Paths are those of the API (`/v1/skills`). The server checks scopes and limits and writes the
//! audit log as for any other request. This module knows no page.

mod error;

use axum::body::Body;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use prowess_server::{InProcessApi, InProcessCaller, PageForm, UploadPermit};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use error::PageError;

/// Bytes of an answer that is read as a whole.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// Bytes of an error that is read.
const MAX_ERROR_BYTES: usize = 1 << 20;

/// Calls of the server's own HTTP API in this process, as one principal.
#[derive(Clone)]
pub(crate) struct Api {
    server: InProcessApi,
    caller: InProcessCaller,
    /// Of the browser, for the audit log.
    user_agent: Option<HeaderValue>,
}

impl Api {
    pub(crate) fn new(
        server: InProcessApi,
        caller: InProcessCaller,
        user_agent: Option<HeaderValue>,
    ) -> Api {
        Api {
            server,
            caller,
            user_agent,
        }
    }

    /// `GET`, with the answer read as JSON.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, PageError> {
        let request = build(Method::GET, path, None)?;
        read_json(self.send(request).await?).await
    }

    /// `POST` of a JSON body, with the answer read as JSON.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, PageError> {
        let request = build(Method::POST, path, Some(body))?;
        read_json(self.send(request).await?).await
    }

    /// `PATCH` of a JSON body, with the answer read as JSON.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, PageError> {
        let request = build(Method::PATCH, path, Some(body))?;
        read_json(self.send(request).await?).await
    }

    /// `DELETE`.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), PageError> {
        let request = build(Method::DELETE, path, None)?;
        self.send(request).await.map(drop)
    }

    /// The raw exchange, for streams, forms and files. `request`'s uri is a path of the API. An
    /// answer that is not a success is an error.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Body>, PageError> {
        let response = self.exchange(request).await;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(read_error(response).await)
    }

    /// Waits for the right to read and check an upload, in the share of the caller's tenant.
    pub(crate) async fn acquire_upload(&self) -> Result<UploadPermit, PageError> {
        let permit = self.server.acquire_upload(&self.caller).await;
        permit.map_err(|error| PageError {
            status: StatusCode::TOO_MANY_REQUESTS,
            message: error.to_string(),
        })
    }

    /// Opens a form with files, whose bytes count for the caller's tenant while it is open.
    pub(crate) async fn open_form(&self, request: Request<Body>) -> Result<PageForm, PageError> {
        Ok(self.server.open_form(&self.caller, request).await?)
    }

    /// Reads the body of a form without files.
    pub(crate) async fn read_form(&self, body: Body, limit: usize) -> Result<Bytes, PageError> {
        let read = self.server.read_form(Some(&self.caller), body, limit);
        Ok(read.await?)
    }

    /// Like [`Api::send`], but with any answer: for pages that show more of an error than its
    /// message.
    pub(crate) async fn exchange(&self, mut request: Request<Body>) -> Response<Body> {
        if let Some(agent) = &self.user_agent {
            request.headers_mut().insert(USER_AGENT, agent.clone());
        }
        self.server.call(&self.caller, request).await
    }
}

fn build(method: Method, path: &str, body: Option<&Value>) -> Result<Request<Body>, PageError> {
    let request = Request::builder().method(method).uri(path);
    let request = request.header(ACCEPT, "application/json");
    let request = match body {
        Some(body) => request
            .header(CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string())),
        None => request.body(Body::empty()),
    };
    // Ids in a path are encoded, so only what a browser sent can be at fault.
    request.map_err(|_| PageError::bad_request("this address has characters that no path has"))
}

async fn read_json<T: DeserializeOwned>(response: Response<Body>) -> Result<T, PageError> {
    let body = axum::body::to_bytes(response.into_body(), MAX_ANSWER_BYTES).await;
    let body = body.map_err(|error| {
        PageError::internal("the response of the API could not be read", &error)
    })?;
    serde_json::from_slice(&body).map_err(|error| {
        PageError::internal("the response of the API has an unexpected form", &error)
    })
}

/// The API's own message, in whichever dialect it is.
async fn read_error(response: Response<Body>) -> PageError {
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), MAX_ERROR_BYTES).await;
    let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    PageError {
        status,
        message: error_message(&body).unwrap_or_else(|| status.to_string()),
    }
}

/// The message in the body of an error.
pub(crate) fn error_message(body: &Value) -> Option<String> {
    let message = body.pointer("/error/message")?.as_str()?;
    Some(message.to_owned())
}
