//! One message and its answer.

use axum::Json;
use axum::body::Body;
use axum::extract::ws::Utf8Bytes;
use axum::http::{Method, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use prowess_provider::Task;
use prowess_wire::Client;

use super::super::{Failure, Wanted, forward};
use super::Session;
use super::connection::{Connection, Gone};
use super::events;
use super::message::Create;
use crate::auth::{Caller, Need};
use crate::context::Exchange;
use crate::error::ApiError;
use crate::limits::Refusal;

/// What the requests of sockets are called in the log.
const ROUTE: &str = "/v1/responses";

/// What to send for a message.
enum Outcome {
    /// The message could not be read; what is remembered stays.
    Unreadable(serde_json::Value),
    /// It was refused before it was looked at; what is remembered stays.
    Refused(Response),
    Answered(Response),
}

impl Session {
    /// Answers one message.
    pub(super) async fn turn(
        &mut self,
        connection: &mut Connection,
        text: Utf8Bytes,
    ) -> Result<(), Gone> {
        match connection.during(self.answer(text)).await? {
            Outcome::Unreadable(error) => {
                let event = events::error(StatusCode::BAD_REQUEST, error);
                connection.send(event).await
            }
            Outcome::Refused(response) => {
                events::send_all(connection, response).await?;
                Ok(())
            }
            Outcome::Answered(response) => {
                let whole = events::send_all(connection, response).await?;
                self.memory.finish(whole.as_ref());
                Ok(())
            }
        }
    }

    async fn answer(&mut self, text: Utf8Bytes) -> Outcome {
        let (app, tenant) = (self.app.clone(), self.tenant.clone());
        // The message and what it becomes are counted until there is a request, which counts
        // its own body. Nothing of the message is kept after that but what is remembered.
        let mut reserved = app.bodies().reserve(&tenant);
        let bytes = text.len().saturating_add(self.memory.bytes());
        if let Err(error) = reserved.grow(bytes).await {
            let exchange = Exchange::begin(&self.request(Body::empty()), ROUTE);
            return Outcome::Refused(exchange.end(error.into_response()));
        }
        let create = match Create::read(&text) {
            Ok(create) => self.memory.resume(create),
            Err(error) => return Outcome::Unreadable(error),
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
        Outcome::Answered(self.ask(request).await)
    }

    /// Remembers a message that wants no answer yet, if its sender might ask now.
    async fn warm_up(&mut self, create: &Create) -> Outcome {
        let request = self.request(Body::empty());
        let exchange = Exchange::begin(&request, ROUTE);
        let checked = exchange.scope(self.check(request, create)).await;
        let refused = match checked {
            Ok(()) => None,
            Err(failure) => Some(failure.tell(Client::Responses, exchange.id())),
        };
        if let Some(refused) = refused {
            let refused = refused.unwrap_or_else(ApiError::into_response);
            return Outcome::Refused(exchange.end(refused));
        }
        self.memory.begin(create);
        Outcome::Answered(exchange.end(Json(create.warmed_up()).into_response()))
    }

    /// Checks key and rate as for a request to a model.
    async fn check(&self, request: Request<Body>, create: &Create) -> Result<(), Failure> {
        let (parts, _) = request.into_parts();
        let caller = Caller::of(&parts, &self.app).await?;
        caller.may(Need::UseModels)?;
        let Some(key) = caller.key() else {
            return Ok(());
        };
        self.app.limits().knock(key)?;
        match create.model() {
            Some(model) if !key.limits.allows_model(model) => {
                Err(Refusal::model(key, model).into())
            }
            _ => Ok(()),
        }
    }

    fn request(&self, body: Body) -> Request<Body> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static(ROUTE);
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// Asks as over HTTP.
    async fn ask(&self, request: Request<Body>) -> Response {
        let exchange = Exchange::begin(&request, ROUTE);
        let wanted = Wanted::new(Client::Responses, Task::Generate);
        let answer = forward(&self.app, wanted, request, exchange.id());
        let answer = exchange.scope(answer).await;
        exchange.end(answer.unwrap_or_else(IntoResponse::into_response))
    }
}
