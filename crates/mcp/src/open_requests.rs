//! The requests of one session that are not answered yet.

use crate::request_permit::RequestPermit;
use rmcp::model::RequestId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// The open requests of a session.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    requests: Mutex<HashMap<RequestId, OpenRequest>>,
    ended: Notify,
}

#[derive(Debug)]
struct OpenRequest {
    state: RequestState,
    _permit: Option<RequestPermit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    /// On its way to the session. What cancels it now is ignored.
    Starting,
    Running,
    /// Its response is on its way to the client. What cancels it now is ignored.
    Answering,
    /// Its response is dropped.
    Cancelling,
}

/// Whether a request may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartOutcome {
    Started,
    /// Another one with its id is open.
    InUse,
    /// Another one with its id is about to end.
    Ending,
}

impl OpenRequests {
    /// Begins to start a request.
    pub(crate) fn start(&self, id: &RequestId, permit: Option<RequestPermit>) -> StartOutcome {
        match self.lock().entry(id.clone()) {
            Entry::Vacant(place) => {
                place.insert(OpenRequest {
                    state: RequestState::Starting,
                    _permit: permit,
                });
                StartOutcome::Started
            }
            Entry::Occupied(open) => match open.get().state {
                RequestState::Starting | RequestState::Running => StartOutcome::InUse,
                RequestState::Answering | RequestState::Cancelling => StartOutcome::Ending,
            },
        }
    }

    /// Notes whether the session has got the request.
    pub(crate) fn end_start(&self, id: &RequestId, is_started: bool) {
        if !is_started {
            return self.end(id, RequestState::Starting);
        }
        self.change(id, &[RequestState::Starting], RequestState::Running);
    }

    /// Whether the session is to learn that a request is cancelled.
    pub(crate) fn cancel(&self, id: &RequestId) -> bool {
        self.change(id, &[RequestState::Running], RequestState::Cancelling)
    }

    /// Notes that the session has learned it, and sends no response from now on.
    pub(crate) fn end_cancel(&self, id: &RequestId) {
        self.end(id, RequestState::Cancelling);
    }

    /// Whether a request may be answered.
    pub(crate) fn answer(&self, id: &RequestId) -> bool {
        let before = [RequestState::Starting, RequestState::Running];
        self.change(id, &before, RequestState::Answering)
    }

    /// Notes that the response was sent.
    pub(crate) fn end_answer(&self, id: &RequestId) {
        self.end(id, RequestState::Answering);
    }

    /// Waits until a request ends after this was called.
    pub(crate) fn wait_for_end(&self) -> Notified<'_> {
        self.ended.notified()
    }

    /// Ends all requests.
    pub(crate) fn clear(&self) {
        self.lock().clear();
        self.ended.notify_waiters();
    }

    fn end(&self, id: &RequestId, state: RequestState) {
        let mut requests = self.lock();
        if requests.get(id).is_some_and(|open| open.state == state) {
            requests.remove(id);
        }
        drop(requests);
        self.ended.notify_waiters();
    }

    /// Whether a request was in one of the states before.
    fn change(&self, id: &RequestId, before: &[RequestState], after: RequestState) -> bool {
        let mut requests = self.lock();
        let open = requests.get_mut(id);
        let Some(open) = open.filter(|open| before.contains(&open.state)) else {
            return false;
        };
        open.state = after;
        true
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, OpenRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_or_cancelled_and_never_both() {
        let open = OpenRequests::default();
        let id = RequestId::Number(1);
        assert!(!open.cancel(&id), "it does not exist");
        assert!(!open.answer(&id));
        assert_eq!(open.start(&id, None), StartOutcome::Started);
        assert!(!open.cancel(&id), "the session does not have it yet");
        open.end_start(&id, true);
        assert_eq!(open.start(&id, None), StartOutcome::InUse);
        assert!(open.cancel(&id));
        assert!(!open.answer(&id));
        assert_eq!(open.start(&id, None), StartOutcome::Ending);
        open.end_cancel(&id);
        assert_eq!(open.start(&id, None), StartOutcome::Started);
        // A response may be faster than the end of the start.
        assert!(open.answer(&id));
        open.end_start(&id, true);
        assert!(!open.cancel(&id));
        assert_eq!(open.start(&id, None), StartOutcome::Ending);
        open.end_answer(&id);
        assert_eq!(open.start(&id, None), StartOutcome::Started);
        open.end_start(&id, false);
        assert_eq!(open.start(&id, None), StartOutcome::Started);
    }
}
