//! HTTP sessions that keep no response that nobody will get.
//!
//! `rmcp` sends a response to the stream of its request. If the request is cancelled at that
//! moment, it keeps the response for another stream until the session ends; and of two requests
//! with the same id, the first one never ends. So a second request with the id of an open one is
//! refused here, and the response of a cancelled request is dropped.

use crate::open_requests::{OpenRequests, StartOutcome};
use crate::request_permit::RequestPermit;
use futures_util::future::{self, FutureExt};
use futures_util::stream::{self, Stream};
use http::request::Parts;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker, LocalSessionWorkerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use rmcp::transport::{Transport, WorkerTransport};
use rmcp::{ErrorData, RoleServer};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The events of one response.
type ResponseEvents = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// All sessions over HTTP, with their open requests.
pub(crate) struct HttpSessions {
    local: Arc<LocalSessionManager>,
    open: Mutex<HashMap<SessionId, Arc<OpenRequests>>>,
}

impl HttpSessions {
    pub(crate) fn new(local: LocalSessionManager) -> Self {
        HttpSessions {
            local: Arc::new(local),
            open: Mutex::default(),
        }
    }

    /// The sessions themselves.
    pub(crate) fn local(&self) -> &LocalSessionManager {
        &self.local
    }

    fn open_requests(&self, id: &SessionId) -> Result<Arc<OpenRequests>, LocalSessionManagerError> {
        let open = self.lock().get(id).cloned();
        open.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<OpenRequests>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionManager for HttpSessions {
    type Error = LocalSessionManagerError;
    type Transport = HttpSessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, inner) = self.local.create_session().await?;
        let open = Arc::new(OpenRequests::default());
        self.lock().insert(id.clone(), Arc::clone(&open));
        Ok((id, HttpSessionTransport { inner, open }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let open = self.open_requests(id)?;
        if let Some((request, permit)) = request_of(&message) {
            open.start(&request, permit);
            open.end_start(&request, true);
        }
        self.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let open = self.lock().remove(id);
        if let Some(open) = open {
            open.clear();
        }
        self.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open = self.open_requests(id)?;
        let not_found = LocalSessionManagerError::SessionNotFound(id.clone());
        let Some((request, permit)) = request_of(&message) else {
            return Err(not_found);
        };
        loop {
            let ended = open.wait_for_end();
            match open.start(&request, permit.clone()) {
                StartOutcome::Started => break,
                StartOutcome::InUse => return Ok(in_use(request)),
                StartOutcome::Ending => ended.await,
            }
        }
        // A client that leaves now must not leave the request between the two.
        let (local, id) = (Arc::clone(&self.local), id.clone());
        let starting = tokio::spawn(async move {
            let started = local.create_stream(&id, message).await;
            open.end_start(&request, started.is_ok());
            started.map(|events| Box::pin(events) as ResponseEvents)
        });
        starting.await.unwrap_or(Err(not_found))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        if let Some(request) = cancelled_request(&message)
            && !self.open_requests(id)?.cancel(&request)
        {
            return Ok(());
        }
        let not_found = LocalSessionManagerError::SessionNotFound(id.clone());
        let (local, id) = (Arc::clone(&self.local), id.clone());
        let accepting = tokio::spawn(async move { local.accept_message(&id, message).await });
        accepting.await.unwrap_or(Err(not_found))
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.local.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.local.resume(id, last_event_id).await
    }
}

/// The messages of one session.
pub(crate) struct HttpSessionTransport {
    inner: WorkerTransport<LocalSessionWorker>,
    open: Arc<OpenRequests>,
}

impl Transport<RoleServer> for HttpSessionTransport {
    type Error = LocalSessionWorkerError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let is_expected = answered.as_ref().is_none_or(|id| self.open.answer(id));
        let sending = if is_expected {
            Some(self.inner.send(item).boxed())
        } else {
            None
        };
        let open = Arc::clone(&self.open);
        async move {
            let Some(sending) = sending else {
                return Ok(());
            };
            let sent = sending.await;
            if let Some(id) = answered {
                open.end_answer(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inner.receive().await?;
        if let Some(id) = cancelled_request(&message) {
            self.open.end_cancel(&id);
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// The id of a request, and what it holds.
fn request_of(message: &ClientJsonRpcMessage) -> Option<(RequestId, Option<RequestPermit>)> {
    let JsonRpcMessage::Request(request) = message else {
        return None;
    };
    let parts = request.request.extensions().get::<Parts>();
    let permit = parts.and_then(|parts| parts.extensions.get::<RequestPermit>());
    Some((request.id.clone(), permit.cloned()))
}

/// The id of the request that a message cancels.
fn cancelled_request(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    let JsonRpcMessage::Notification(message) = message else {
        return None;
    };
    let ClientNotification::CancelledNotification(cancelled) = &message.notification else {
        return None;
    };
    cancelled.params.request_id.clone()
}

fn in_use(request: RequestId) -> ResponseEvents {
    let message = "another request with this id is open; use an id only once";
    let error = ErrorData::invalid_request(message, None);
    let error = ServerJsonRpcMessage::error(error, Some(request));
    let event = ServerSseMessage::from_message(error);
    Box::pin(stream::once(future::ready(event)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use serde_json::{Value, json};

    fn from_client(message: Value) -> ClientJsonRpcMessage {
        serde_json::from_value(message).unwrap()
    }

    fn ping() -> ClientJsonRpcMessage {
        from_client(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
    }

    fn cancel() -> ClientJsonRpcMessage {
        from_client(json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 1},
        }))
    }

    fn answer(request: Option<RequestId>, text: &'static str) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::error(ErrorData::internal_error(text, None), request)
    }

    fn text(event: &ServerSseMessage) -> String {
        match event.message.as_deref() {
            Some(JsonRpcMessage::Error(error)) => error.error.message.to_string(),
            other => format!("{other:?}"),
        }
    }

    async fn texts(events: impl Stream<Item = ServerSseMessage>) -> Vec<String> {
        events.map(|event| text(&event)).collect().await
    }

    /// Without empty events, as in a server.
    fn new_sessions() -> HttpSessions {
        let mut local = LocalSessionManager::default();
        local.session_config.sse_retry = None;
        HttpSessions::new(local)
    }

    async fn begin(sessions: &HttpSessions) -> (SessionId, HttpSessionTransport) {
        let (id, mut transport) = sessions.create_session().await.unwrap();
        let client = json!({"name": "test", "version": "1"});
        let message = from_client(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}}));
        let serve = async {
            transport.receive().await.unwrap();
            let response = answer(Some(RequestId::Number(0)), "initialized");
            transport.send(response).await.unwrap();
        };
        let (response, ()) = tokio::join!(sessions.initialize_session(&id, message), serve);
        response.unwrap();
        (id, transport)
    }

    #[tokio::test]
    async fn the_response_of_a_cancelled_request_is_not_kept() {
        let sessions = new_sessions();
        let (id, mut transport) = begin(&sessions).await;
        let one = Some(RequestId::Number(1));
        let events = sessions.create_stream(&id, ping()).await.unwrap();
        transport.receive().await.unwrap();
        sessions.accept_message(&id, cancel()).await.unwrap();
        let late = transport.send(answer(one.clone(), "late"));
        late.await.unwrap();
        transport.receive().await.unwrap();
        assert!(texts(events).await.is_empty());

        let events = sessions.create_stream(&id, ping()).await.unwrap();
        transport.receive().await.unwrap();
        transport.send(answer(one, "in time")).await.unwrap();
        // It is too late for this.
        sessions.accept_message(&id, cancel()).await.unwrap();
        assert_eq!(texts(events).await, ["in time"]);

        transport.send(answer(None, "for all")).await.unwrap();
        let kept = sessions.create_standalone_stream(&id).await.unwrap();
        let first = Box::pin(kept).next().await.unwrap();
        assert_eq!(text(&first), "for all");
    }

    #[tokio::test]
    async fn an_id_is_in_use_once_and_a_request_has_its_permit_until_it_is_answered() {
        let sessions = new_sessions();
        let (id, mut transport) = begin(&sessions).await;
        let held = Arc::new(());
        let (mut parts, ()) = http::Request::new(()).into_parts();
        parts
            .extensions
            .insert(RequestPermit::new(Arc::clone(&held)));
        let mut message = ping();
        if let JsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(parts);
        }
        let events = sessions.create_stream(&id, message).await.unwrap();
        let refused = sessions.create_stream(&id, ping()).await.unwrap();
        let refused = texts(refused).await;
        assert_eq!(
            refused,
            ["another request with this id is open; use an id only once"]
        );
        drop(events);
        drop(transport.receive().await);
        assert_eq!(Arc::strong_count(&held), 2);
        let response = answer(Some(RequestId::Number(1)), "done");
        transport.send(response).await.unwrap();
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
