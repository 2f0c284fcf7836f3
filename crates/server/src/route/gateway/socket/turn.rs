//! One message and its response.

use axum::Json;
use axum::body::Body;
use axum::extract::ws::Utf8Bytes;
use axum::http::{Method, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use prowess_provider::ModelTask;
use prowess_wire::ClientDialect;

use super::super::{Endpoint, GatewayError, forward};
use super::SocketHandler;
use super::connection::{ClientGone, SocketConnection};
use super::message::CreateMessage;
use super::{error_events, events};
use crate::auth::{Permission, Principal};
use crate::context::Exchange;
use crate::error::HttpError;
use crate::limits::RequestRefusal;
use crate::read_body::checked_excess;

/// The route of socket requests in the log.
const LOG_ROUTE: &str = "/v1/responses";

/// What to send for a message.
enum TurnOutcome {
    /// The message could not be parsed; the memory is unchanged.
    Unreadable(serde_json::Value),
    /// Refused before it was parsed; the memory is unchanged.
    Refused(Response),
    Answered(Response),
}

impl SocketHandler {
    /// Handles one message.
    pub(super) async fn turn(
        &mut self,
        connection: &mut SocketConnection,
        text: Utf8Bytes,
    ) -> Result<(), ClientGone> {
        let reserved = connection.reserved();
        match connection
            .run_while_open(self.process_message(text, reserved))
            .await?
        {
            TurnOutcome::Unreadable(error) => {
                let event = error_events::error_event(StatusCode::BAD_REQUEST, error);
                connection.send(event).await
            }
            TurnOutcome::Refused(response) => {
                events::send_all(connection, response).await?;
                Ok(())
            }
            TurnOutcome::Answered(response) => {
                let response_object = events::send_all(connection, response).await?;
                self.memory.finish(response_object.as_ref());
                Ok(())
            }
        }
    }

    /// `counted` bytes of the message are counted already, by its connection.
    async fn process_message(&mut self, text: Utf8Bytes, counted: usize) -> TurnOutcome {
        // Each message is a request of its own, which begins now.
        self.app = self.app.current();
        let (app, tenant) = (self.app.clone(), self.tenant.clone());
        // The message and its parsed form are counted until the request exists, which counts
        // its own body. After that nothing of the message is kept except in memory.
        let mut reserved = app.body_budget().reserve(&tenant);
        let more = text.len().saturating_sub(counted);
        let bytes = more.saturating_add(self.memory.bytes());
        let counted = match checked_excess(&[text.as_bytes()]) {
            Ok(excess) => reserved.grow(bytes.saturating_add(excess)).await,
            Err(error) => Err(error),
        };
        if let Err(error) = counted {
            let exchange = Exchange::begin(&self.request(Body::empty()), LOG_ROUTE);
            return TurnOutcome::Refused(exchange.end(error.into_response()));
        }
        let create = match CreateMessage::parse(&text) {
            Ok(create) => self.memory.resume(create),
            Err(error) => return TurnOutcome::Unreadable(error),
        };
        drop(text);
        if !create.generate {
            return self.warm_up(&create).await;
        }
        self.memory.begin(&create);
        let body = create.body();
        drop(create);
        let request = self.request(Body::from(body));
        drop(reserved);
        TurnOutcome::Answered(self.forward_request(request).await)
    }

    /// Records a message without generating a response, if its sender may call models.
    async fn warm_up(&mut self, create: &CreateMessage) -> TurnOutcome {
        let request = self.request(Body::empty());
        let exchange = Exchange::begin(&request, LOG_ROUTE);
        let checked = exchange.scope(self.check(request, create)).await;
        let refused = match checked {
            Ok(()) => None,
            Err(failure) => Some(failure.render(ClientDialect::Responses, exchange.id())),
        };
        if let Some(refused) = refused {
            let refused = refused.unwrap_or_else(HttpError::into_response);
            return TurnOutcome::Refused(exchange.end(refused));
        }
        self.memory.begin(create);
        TurnOutcome::Answered(exchange.end(Json(create.warm_up_response()).into_response()))
    }

    /// Checks key and rate as for a call to a model.
    async fn check(
        &self,
        request: Request<Body>,
        create: &CreateMessage,
    ) -> Result<(), GatewayError> {
        let (parts, _) = request.into_parts();
        let principal = Principal::authenticate(&parts, &self.app).await?;
        principal.require(Permission::UseModels)?;
        let Some(key) = principal.key() else {
            return Ok(());
        };
        self.app.limits().count_request(key)?;
        match create.model() {
            Some(model) if !key.limits.allows_model(model) => {
                Err(RequestRefusal::model_not_allowed(key, model).into())
            }
            _ => Ok(()),
        }
    }

    fn request(&self, body: Body) -> Request<Body> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static(LOG_ROUTE);
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// Handles the request as over HTTP.
    async fn forward_request(&self, request: Request<Body>) -> Response {
        let exchange = Exchange::begin(&request, LOG_ROUTE);
        let endpoint = Endpoint::new(ClientDialect::Responses, ModelTask::Generate);
        let response = forward(&self.app, endpoint, request, exchange.id());
        let response = exchange.scope(response).await;
        exchange.end(response.unwrap_or_else(IntoResponse::into_response))
    }
}
